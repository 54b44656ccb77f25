/** LangChain's client over the fetch that admits: a stream holds its place to its end, which its own caller lets go at the first byte. */
import { ChatOpenAI } from '@langchain/openai';
import { CountingGate, createAdmission } from 'rx-admission';
import { admittedFetch, type Fetch } from 'rx-admission/llm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { endOfStream, startModelServer, streamOpened, word, type Asked, type ModelServer } from '../fetch/model-server.js';

let server: ModelServer;
/** Streams that have begun. */
let open: Asked[];
let ended: boolean;
const end = (asked: Asked): void => void asked.answer.end(endOfStream(asked));

beforeEach(async () => {
  open = [];
  ended = false;
  server = await startModelServer((asked) => {
    streamOpened(asked).write(word('first'), () => {
      open.push(asked);
      if (ended) end(asked);
    });
  });
});
afterEach(() => server.close());

/** Reads two streams of a client whose own caller allows one at once, and lets them end when `isThere` says so. */
async function readTwo(fetch: Fetch, isThere: () => boolean): Promise<void> {
  const model = new ChatOpenAI({ model: 'm', apiKey: 'none', maxConcurrency: 1, configuration: { baseURL: server.url, fetch } });
  const read = async (): Promise<void> => {
    for await (const _chunk of await model.stream('hello'));
  };
  const reading = Promise.all([read(), read()]);
  await vi.waitFor(() => {
    expect(isThere()).toBe(true);
  });
  ended = true;
  open.forEach(end);
  await reading;
}

describe('two streams of LangChain, which allows one call at once', () => {
  it('are open at the same time through its own caller', async () => {
    await readTwo(globalThis.fetch, () => open.length === 2);
    expect(server.peak).toBe(2);
  });

  it('are open one after the other through a gate of one', async () => {
    const places = new CountingGate({ name: 'places', capacity: 1 });
    const admission = createAdmission();
    await readTwo(admittedFetch(admission, { permits: [places] }), () => open.length === 1 && admission.queueSize === 1);
    expect([server.asked.length, server.peak, places.inUse()]).toEqual([2, 1, 0]);
  });
});
