/** The timers of SDKs, which run while a call waits in line: real SDKs, a real server, and the admission's clock in our hands. */
import Anthropic from '@anthropic-ai/sdk';
import Groq from 'groq-sdk';
import OpenAI from 'openai';
import { CountingGate, createAdmission, type Admission } from 'rx-admission';
import { admittedFetch, anthropicMiddleware, type AdmittedFetchOptions } from 'rx-admission/llm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { VirtualClock } from '../../conformance/virtual-clock.js';
import { startModelServer, type Asked, type ModelServer } from './model-server.js';
import { answerInKind } from './protocols.js';

const TEN_MINUTES = 600_000;
const messages = [{ role: 'user' as const, content: 'hello' }];
const question = { model: 'm', max_tokens: 9, messages };

let server: ModelServer;
let asked: Asked[];
let clock: VirtualClock;
let admission: Admission;
let places: CountingGate;

beforeEach(async () => {
  asked = [];
  server = await startModelServer((request) => void asked.push(request));
  clock = new VirtualClock(0);
  admission = createAdmission({ scheduler: clock });
  places = new CountingGate({ name: 'places', capacity: 1 });
});
afterEach(async () => {
  await server.close();
});

const until = (holds: () => boolean): Promise<void> =>
  vi.waitFor(() => {
    expect(holds()).toBe(true);
  });

/** One call in flight, another in line behind it, and what becomes of that one. */
async function behindAnother(call: () => Promise<unknown>): Promise<{ readonly first: Promise<unknown>; readonly second: Promise<unknown> }> {
  const first = call();
  await until(() => asked.length === 1);
  const second = call().catch((error: unknown) => error);
  await until(() => admission.queueSize === 1);
  return { first, second };
}

const fetchOf = (options: Partial<AdmittedFetchOptions> = {}): ReturnType<typeof admittedFetch> =>
  admittedFetch(admission, { permits: [places], ...options });

type Fetch = ReturnType<typeof admittedFetch>;
type ClientOf = (fetch: Fetch, timeout: number) => () => Promise<unknown>;

/** OpenAI's and Groq's state the timeout of a call, Anthropic's that of its client too. */
const SDKS: readonly (readonly [string, ClientOf])[] = [
  ['openai', (fetch, timeout) => {
    const client = new OpenAI({ apiKey: 'none', baseURL: `${server.url}/v1`, fetch });
    return () => client.chat.completions.create(question, { timeout });
  }],
  ['groq-sdk', (fetch, timeout) => {
    const client = new Groq({ apiKey: 'none', baseURL: server.url, fetch });
    return () => client.chat.completions.create(question, { timeout });
  }],
  ['@anthropic-ai/sdk', (fetch, timeout) => {
    const client = new Anthropic({ apiKey: 'none', baseURL: server.url, fetch, timeout });
    return () => client.messages.create(question);
  }],
];

describe.each(SDKS)('a call of %s in line', (name, clientOf) => {
  it('is refused once, before its SDK gives it up and queues for another attempt', async () => {
    const { first, second } = await behindAnother(clientOf(fetchOf(), TEN_MINUTES));
    clock.advanceTo(0.9 * TEN_MINUTES - 1);
    expect(admission.queueSize).toBe(1);
    clock.advanceTo(0.9 * TEN_MINUTES);
    expect(await second).toMatchObject({ status: 429 });
    expect([admission.queueSize, asked.length], name).toEqual([0, 1]);
    asked.forEach(answerInKind);
    await first;
  });

  it('is refused after its maxWait where that is shorter', async () => {
    const { first, second } = await behindAnother(clientOf(fetchOf({ maxWait: 5_000 }), TEN_MINUTES));
    clock.advanceTo(5_000);
    expect(await second).toMatchObject({ status: 429 });
    asked.forEach(answerInKind);
    await first;
  });
});

describe('a timeout that is not stated', () => {
  it.each([
    ['of the client', { timeout: 30, maxRetries: 1 }, {}],
    ['of a call, below a second', { maxRetries: 1 }, { timeout: 30 }],
  ])('ends every attempt in line, with nothing sent and nothing held: %s', async (_, ofClient, ofCall) => {
    const client = new OpenAI({ apiKey: 'none', baseURL: `${server.url}/v1`, fetch: fetchOf(), ...ofClient });
    const waited = vi.spyOn(admission, 'acquire');
    const first = client.chat.completions.create(question, { timeout: TEN_MINUTES });
    await until(() => asked.length === 1);
    await expect(client.chat.completions.create(question, ofCall)).rejects.toThrow(OpenAI.APIConnectionTimeoutError);
    expect([waited.mock.calls.length, admission.queueSize, asked.length]).toEqual([3, 0, 1]);
    asked.forEach(answerInKind);
    await first;
    expect(places.inUse()).toBe(0);
  });
});

describe('anthropicMiddleware', () => {
  it('waits before the timer of the SDK starts, as long as it takes', async () => {
    const middleware = [anthropicMiddleware(admission, { permits: [places] })];
    const client = new Anthropic({ apiKey: 'none', baseURL: server.url, middleware, maxRetries: 0 });
    const first = client.messages.create(question);
    await until(() => asked.length === 1);
    const second = client.messages.create(question, { timeout: 1_000 });
    await until(() => admission.queueSize === 1);
    clock.advanceTo(TEN_MINUTES);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(admission.queueSize).toBe(1);
    asked.forEach(answerInKind);
    await first;
    await until(() => asked.length === 2);
    asked.slice(1).forEach(answerInKind);
    expect(await second).toMatchObject({ type: 'message' });
  });
});
