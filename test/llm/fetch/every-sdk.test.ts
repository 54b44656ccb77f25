/** The fetch that admits under every SDK, by the SDK's own option: each request is let in, held to its end, and charged what it used. */
import { GoogleGenAI } from '@google/genai';
import { CountingGate, TokenBucket, createAdmission, type Admission } from 'rx-admission';
import { admittedFetch, type ChargePolicy } from 'rx-admission/llm';
import { VirtualTimeScheduler } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { callers, type Caller } from '../callers.js';
import { startModelServer, type ModelServer } from './model-server.js';
import { INPUT, OUTPUT, answerInKind } from './protocols.js';

const BUDGET = 100_000;
/** Exactly what was used, so that the charge tells what was read. */
const AS_USED: ChargePolicy = {
  name: 'as used',
  reserve: () => ({ tokens: 500, input: 500, output: 0 }),
  settle: ({ input, output }) => ({ tokens: input + output, input, output }),
  refused: (reserved) => reserved,
  clamps: [],
};

let server: ModelServer;
let admission: Admission;
let places: CountingGate;
let bucket: TokenBucket;
let admitted: typeof fetch;
beforeEach(async () => {
  server = await startModelServer(answerInKind);
  admission = createAdmission({ scheduler: new VirtualTimeScheduler() });
  places = new CountingGate({ name: 'places', capacity: 1 });
  bucket = new TokenBucket({ name: 'm', tokensPerMinute: BUDGET });
  admitted = admittedFetch(admission, { tokens: bucket, permits: [places], charge: AS_USED });
});
afterEach(async () => {
  await server.close();
});

const OF_SDKS = Object.entries(callers).filter(([name]) => name !== 'fetch');

describe.each(OF_SDKS)('%s', (_name, caller) => {
  const sdk = (): Caller => caller(server.url, 0, admitted);

  it('is let in one by one, and charged what its answers used', async () => {
    const client = sdk();
    await Promise.all([client.call(), client.call(), client.call()]);
    expect([server.asked.length, server.peak, places.inUse(), admission.queueSize]).toEqual([3, 1, 0, 0]);
    expect(BUDGET - bucket.tokens()).toBe(3 * (INPUT + OUTPUT));
  });

  it('is held to the end of a stream, and charged what that used', async () => {
    await sdk().stream();
    expect([server.asked.length, places.inUse()]).toEqual([1, 0]);
    expect(BUDGET - bucket.tokens()).toBe(INPUT + OUTPUT);
  });

  it('leaves the line when it is aborted there, charged nothing', async () => {
    expect(places.tryTake([1], [], 0)).toBe(true);
    const controller = new AbortController();
    const waiting = sdk().call(controller.signal);
    await vi.waitFor(() => {
      expect(admission.queueSize).toBe(1);
    });
    controller.abort();
    await expect(waiting).rejects.toThrow();
    expect([admission.queueSize, server.asked.length, bucket.tokens()]).toEqual([0, 0, BUDGET]);
  });
});

describe('an admitted fetch that becomes the global one', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  it('asks once for each call, and sends by the one it replaced', async () => {
    vi.stubGlobal('fetch', admitted);
    const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: server.url } });
    await client.models.generateContent({ model: 'm', contents: 'hello' });
    expect([server.asked.length, BUDGET - bucket.tokens(), places.inUse()]).toEqual([1, INPUT + OUTPUT, 0]);
  });
});
