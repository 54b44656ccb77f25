/** The retries of SDKs, and what an SDK makes of a refusal: how often each asks admission, and how often the server. */
import { CountingGate, ElasticWindow, createAdmission, type Admission } from 'rx-admission';
import { admittedFetch, type AdmittedFetchOptions } from 'rx-admission/llm';
import { VirtualTimeScheduler } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { callers, type Caller } from '../callers.js';
import { refuse, startModelServer, type Asked, type ModelServer } from '../fetch/model-server.js';
import { answerInKind } from '../fetch/protocols.js';

let server: ModelServer;
let serve: (asked: Asked, nth: number) => void;
let admission: Admission;
let places: CountingGate;
beforeEach(async () => {
  server = await startModelServer((asked, nth) => {
    serve(asked, nth);
  });
  admission = createAdmission({ scheduler: new VirtualTimeScheduler() });
  places = new CountingGate({ name: 'places', capacity: 1 });
});
afterEach(async () => {
  await server.close();
});

/** Puts admission in front of whatever the SDK sends, and counts what it was asked, one by one. */
function admitted(name: string, maxRetries: number, options: Partial<AdmittedFetchOptions> = {}): { readonly caller: Caller; readonly asks: () => number } {
  const acquire = vi.spyOn(admission, 'acquire');
  const made = callers[name];
  if (made === undefined) throw new Error(`no caller ${name}`);
  const fetch = admittedFetch(admission, { permits: [places], ...options });
  return { caller: made(server.url, maxRetries, fetch), asks: () => acquire.mock.calls.length };
}

type First = 'dies' | 408 | 409 | 429 | 500 | 503;

function failingAtFirst(first: First, calls: number): typeof serve {
  return (asked, nth) => {
    if (nth > calls) answerInKind(asked);
    else if (first === 'dies') asked.answer.destroy();
    else refuse(asked, first, { message: 'no', type: 'no' }, { 'retry-after-ms': '1', 'retry-after': '0' });
  };
}

const OF_STAINLESS: readonly First[] = [408, 409, 429, 500, 503, 'dies'];
/** What each retries by itself. */
const RETRIED: Readonly<Record<string, readonly First[]>> = {
  openai: OF_STAINLESS,
  '@anthropic-ai/sdk': OF_STAINLESS,
  'groq-sdk': OF_STAINLESS,
  '@google/genai': [408, 429, 500, 503],
  '@mistralai/mistralai': [429, 500, 503, 'dies'],
  '@aws-sdk/client-bedrock-runtime': [429, 500, 503],
  'ai of openai': OF_STAINLESS,
  'ai of anthropic': OF_STAINLESS,
  langchain: [429, 500],
};
const EACH = Object.entries(RETRIED).flatMap(([name, statuses]) => statuses.map((first) => [name, first] as const));

describe('a retry by an SDK', () => {
  it.each(EACH)('is an admission of its own: %s after %s', async (name, first) => {
    serve = failingAtFirst(first, 2);
    const { caller, asks } = admitted(name, 1);
    await Promise.all([caller.call(), caller.call()]);
    expect([asks(), server.asked.length, server.peak]).toEqual([4, 4, 1]);
    expect([places.inUse(), admission.queueSize]).toEqual([0, 0]);
  });
});

describe('a refusal of admission', () => {
  const RETRIES = 2;
  /** Refuses all, and says until when. */
  const shut = (): ElasticWindow => {
    const window = new ElasticWindow({ name: 'window', maxRequests: 9, baseWindow: 1_000, maxThrottle: 0.5, failuresAtMaxToBlock: 1, log: QUIET });
    while (window.statusIndicator() !== 'blocked') window.recordPressure(0);
    return window;
  };
  const QUIET = { warn: () => undefined, info: () => undefined };

  it.each(['openai', '@anthropic-ai/sdk', 'groq-sdk', 'langchain', '@aws-sdk/client-bedrock-runtime'])('is made once, though it knows when it is worth asking again: %s', async (name) => {
    const { caller, asks } = admitted(name, RETRIES, { permits: [shut()] });
    await expect(caller.call()).rejects.toThrow('window');
    expect([asks(), server.asked.length]).toEqual([1, 0]);
  });

  it.each(['ai of openai', '@google/genai'])('is a 429 like any to an SDK that knows no other, and made anew with each retry: %s', async (name) => {
    const { caller, asks } = admitted(name, 1, { permits: [shut()] });
    await expect(caller.call()).rejects.toThrow('window');
    expect([asks(), server.asked.length]).toEqual([2, 0]);
  });

  it.each(['ai of openai', 'ai of anthropic', '@mistralai/mistralai'])('that is thrown is made once: %s', async (name) => {
    const { caller, asks } = admitted(name, RETRIES, { permits: [shut()], onRefused: 'throw' });
    await expect(caller.call()).rejects.toThrow('window');
    expect([asks(), server.asked.length]).toEqual([1, 0]);
  });

  it.each(['openai', '@anthropic-ai/sdk', 'groq-sdk'])('that is thrown is taken for a broken connection, and made anew with each retry: %s', async (name) => {
    const { caller, asks } = admitted(name, 1, { permits: [shut()], onRefused: 'throw' });
    await expect(caller.call()).rejects.toThrow('Connection error.');
    expect([asks(), server.asked.length]).toEqual([2, 0]);
  });
});

describe('a quota that is used up', () => {
  const USED_UP = { message: 'You exceeded your current quota', type: 'insufficient_quota', code: 'insufficient_quota' };

  it.each([['openai'], ['groq-sdk'], ['langchain']])('is asked for once through admission: %s', async (name) => {
    serve = (asked) => {
      refuse(asked, 429, USED_UP, { 'retry-after-ms': '1' });
    };
    const { caller, asks } = admitted(name, 2);
    await expect(caller.call()).rejects.toThrow('quota');
    expect([asks(), server.asked.length]).toEqual([1, 1]);
  });

  it('is asked for again and again by the SDK alone', async () => {
    serve = (asked) => {
      refuse(asked, 429, USED_UP, { 'retry-after-ms': '1' });
    };
    await expect(callers.openai?.(server.url, 2).call()).rejects.toThrow('quota');
    expect(server.asked.length).toBe(3);
  });
});
