/** What the SDK sees of an admitted answer, and what the accounts make of one that was left, or that failed within a 200. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { RateLimitError } from 'openai';
import { CountingGate, TokenBucket, createAdmission } from 'rx-admission';
import { admittedFetch, type ChargePolicy, type Fetch } from 'rx-admission/llm';
import { VirtualTimeScheduler } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { answerChat, refuse, startModelServer, streamOpened, word, type Asked, type ModelServer } from './model-server.js';

const BUDGET = 100_000;
const RESERVED = 500;
const AS_USED: ChargePolicy = {
  name: 'as used',
  reserve: () => ({ tokens: RESERVED, input: RESERVED, output: 0 }),
  settle: ({ input, output }) => ({ tokens: input + output, input, output }),
  refused: () => ({ tokens: 0, input: 0, output: 0 }),
  clamps: [],
};
const messages = [{ role: 'user' as const, content: 'hello' }];
const question = { model: 'm', messages };

let server: ModelServer;
let serve: (asked: Asked) => void;
let places: CountingGate;
let bucket: TokenBucket;
let fetch: Fetch;
let openai: OpenAI;
beforeEach(async () => {
  server = await startModelServer((asked) => {
    serve(asked);
  });
  const log = { warn: () => undefined, info: () => undefined };
  places = new CountingGate({ name: 'places', capacity: 1 });
  bucket = new TokenBucket({ name: 'm', tokensPerMinute: BUDGET, log });
  const admission = createAdmission({ scheduler: new VirtualTimeScheduler() });
  fetch = admittedFetch(admission, { tokens: bucket, permits: [places], charge: AS_USED, log });
  openai = new OpenAI({ apiKey: 'none', baseURL: `${server.url}/v1`, maxRetries: 0, fetch });
});
afterEach(() => server.close());

const allBack = (): Promise<void> =>
  vi.waitFor(() => {
    expect(places.inUse()).toBe(0);
  });
const spent = (): number => BUDGET - bucket.tokens();

describe('an admitted answer', () => {
  const told = ({ url, redirected, type, status, statusText, headers }: Response): unknown =>
    ({ url, redirected, type, status, statusText, headers: [...headers].filter(([name]) => name !== 'date') });

  it('comes from where the real one came, moved or not, and with its headers', async () => {
    serve = (asked) => {
      if (asked.path.includes('/v1/')) asked.answer.writeHead(307, { location: '/moved/chat/completions' }).end();
      else answerChat(asked);
    };
    const plain = new OpenAI({ apiKey: 'none', baseURL: `${server.url}/v1` });
    const [ours, theirs] = [await openai.chat.completions.create(question).asResponse(), await plain.chat.completions.create(question).asResponse()];
    expect(told(ours)).toEqual(told(theirs));
    expect([ours.url, ours.redirected]).toEqual([`${server.url}/moved/chat/completions`, true]);
  });

  it('keeps the id of its request, in success and in failure', async () => {
    serve = (asked) => {
      asked.answer.setHeader('x-request-id', 'req_7');
      answerChat(asked);
    };
    const { request_id, response } = await openai.chat.completions.create(question).withResponse();
    expect([request_id, response.status]).toEqual(['req_7', 200]);
    serve = (asked) => {
      refuse(asked, 429, { message: 'slow', type: 'tokens', code: 'rate_limit_exceeded' }, { 'x-request-id': 'req_8', 'retry-after': '7' });
    };
    const error: unknown = await openai.chat.completions.create(question).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RateLimitError);
    const { requestID, headers, code } = error as RateLimitError;
    expect([requestID, headers.get('retry-after'), code]).toEqual(['req_8', '7', 'rate_limit_exceeded']);
  });
});

describe('a stream that is left before it said what it used', () => {
  it('costs what was set aside for it: of OpenAI’s, whose usage comes last', async () => {
    serve = (asked) => void streamOpened(asked).write(word('on and on'));
    for await (const _chunk of await openai.chat.completions.create({ ...question, stream: true })) break;
    await allBack();
    expect(spent()).toBe(RESERVED);
  });

  it('costs what was set aside for it: of Anthropic’s, whose start counts an answer that has only begun', async () => {
    const usage = { input_tokens: 40, output_tokens: 1 };
    const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, usage };
    serve = (asked) => void streamOpened(asked).write(`event: message_start\ndata: ${JSON.stringify({ type: 'message_start', message })}\n\n`);
    const anthropic = new Anthropic({ apiKey: 'none', baseURL: server.url, maxRetries: 0, fetch });
    for await (const _event of await anthropic.messages.create({ ...question, max_tokens: 9, stream: true })) break;
    await allBack();
    expect(spent()).toBe(RESERVED);
  });
});

describe('an answer of 200 that failed at somebody behind the provider', () => {
  const failed = { id: 'c', error: { code: 429, message: 'Rate limited', metadata: { provider_code: 429 } } };

  it.each<[string, (asked: Asked) => void]>([
    ['as a body', ({ answer }) => void answer.setHeader('content-type', 'application/json').end(JSON.stringify({ ...failed, choices: [{ finish_reason: 'error' }] }))],
    ['as an event', (asked) => void streamOpened(asked).end(`data: ${JSON.stringify({ ...failed, choices: [{ delta: {}, finish_reason: 'error' }] })}\n\n`)],
  ])('is no success to the bucket: %s', async (_how, served) => {
    serve = served;
    await fetch(`${server.url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(question) }).then((response) => response.text());
    await allBack();
    expect(bucket.throttle).toBe(0.5);
  });
});
