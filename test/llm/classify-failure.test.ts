/** What a failure means: the errors that real SDKs make of recorded answers, and those that never were an answer. */
import { CancelledError, QueueFullError, RefusedError } from 'rx-admission';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { classifyFailure, classifyResponse, type ClassifiedFailure, type ClassifyOptions } from '../../src/llm/index.js';
import { callers, type Caller } from './callers.js';
import {
  anthropic,
  anthropicStreams,
  azure,
  bedrock,
  bedrockStreams,
  gemini,
  geminiStreams,
  groq,
  mistral,
  openai,
  openaiStreams,
  openrouterStreams,
  others,
  type Recorded,
} from './recorded.js';
import { replay, type Replay } from './replay.js';

let server: Replay;
beforeAll(async () => {
  server = await replay();
});
afterAll(() => server.close());

/** What a call that fails throws. */
const thrown = async (work: Promise<unknown>): Promise<unknown> => {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('the call did not fail');
};
const callerOf = (name: string): Caller => {
  const caller = callers[name];
  if (caller === undefined) throw new Error(`no caller ${name}`);
  return caller(server.url);
};
const plain = ({ kind, reason, weight, status, retryAfter, provider }: ClassifiedFailure): object => ({ kind, reason, weight, status, retryAfter, provider });

const CALLS: readonly (readonly [sdk: string, table: readonly Recorded[]])[] = [
  ['openai', [...openai, ...azure]],
  ['ai of openai', [...openai, ...azure]],
  ['langchain', openai],
  ['@anthropic-ai/sdk', anthropic],
  ['ai of anthropic', anthropic],
  ['@google/genai', gemini],
  ['groq-sdk', groq],
  ['@mistralai/mistralai', mistral],
  ['@aws-sdk/client-bedrock-runtime', bedrock],
  ['fetch', [...openai, ...azure, ...anthropic, ...gemini, ...groq, ...mistral, ...bedrock, ...others]],
];

const STREAMS: readonly (readonly [sdk: string, table: readonly Recorded[]])[] = [
  ['openai', [...openaiStreams, ...openrouterStreams]],
  ['ai of openai', openaiStreams],
  ['langchain', [...openaiStreams, ...openrouterStreams]],
  ['groq-sdk', [...openaiStreams, ...openrouterStreams]],
  ['@anthropic-ai/sdk', anthropicStreams],
  ['ai of anthropic', anthropicStreams],
  ['@google/genai', geminiStreams],
  ['@aws-sdk/client-bedrock-runtime', bedrockStreams],
  ['fetch', [...openaiStreams, ...openrouterStreams, ...anthropicStreams, ...geminiStreams]],
];

describe.each(CALLS)('an error of %s', (sdk, table) => {
  it.each(table)('is read: $what', async ({ answer, means }) => {
    server.answer(answer);
    const failure = classifyFailure(await thrown(callerOf(sdk).call()), { now: () => 1_000 });
    expect(plain(failure)).toMatchObject(means);
    const { retryAfter } = failure;
    expect(failure.retryAt).toBe(retryAfter === 0 ? null : 1_000 + retryAfter * 1_000);
  });
});

describe.each(STREAMS)('an error of %s', (sdk, table) => {
  it.each(table)('is read: $what', async ({ answer, means }) => {
    server.answer(answer);
    expect(plain(classifyFailure(await thrown(callerOf(sdk).stream())))).toMatchObject(means);
  });
});

describe.each(Object.keys(callers))('of %s', (sdk) => {
  it('a server that dies is transient', async () => {
    server.answer('dies');
    const failure = classifyFailure(await thrown(callerOf(sdk).call()));
    expect(plain(failure)).toMatchObject({ kind: 'transient', weight: 0, status: 0 });
  });

  it('a call that its caller aborts is no failure of anybody', async () => {
    const failure = classifyFailure(await thrown(callerOf(sdk).call(AbortSignal.abort())));
    expect(plain(failure)).toMatchObject({ kind: 'unrelated', weight: 0 });
  });
});

describe.each(['openai', '@anthropic-ai/sdk', 'groq-sdk'])('a stream of %s', (sdk) => {
  it('that breaks is transient, though its error is none that the SDK made', async () => {
    server.answer({ status: 200, headers: { 'content-type': 'text/event-stream' }, body: 'data: {"choices":[]}\n\n', breaksAfterIt: 'yes' });
    const error = await thrown(callerOf(sdk).stream());
    expect(plain(classifyFailure(error))).toMatchObject({ kind: 'transient', status: 0 });
  });
});

describe('a request that is larger than the limit', () => {
  it.each(['Request too large for gpt-5 on tokens per min (TPM)', '429 Request too large for gpt-5 on tokens per min (TPM)'])('is a stop: %s', (message) => {
    expect(classifyFailure({ status: 429, code: 'rate_limit_exceeded', message })).toMatchObject({ kind: 'stop', reason: 'larger than the limit' });
  });

  it('is none where the text only speaks of one', () => {
    const message = 'Rate limit reached. See "Request too large"';
    expect(classifyFailure({ status: 429, code: 'rate_limit_exceeded', message }).kind).toBe('wait');
  });
});

describe('an error of the AI SDK that was retried', () => {
  it('is what the last attempt was told', () => {
    const lastError = Object.assign(new Error('Rate limit reached'), { statusCode: 429, responseHeaders: { 'retry-after': '2' } });
    const error = Object.assign(new Error('Failed after 2 attempts'), { name: 'AI_RetryError', reason: 'maxRetriesExceeded', lastError });
    expect(plain(classifyFailure(error))).toMatchObject({ kind: 'wait', retryAfter: 2, status: 429 });
  });
});

describe('an exception of AWS', () => {
  it.each([
    ['throttlingException', 'wait'],
    ['modelStreamErrorException', 'transient'],
    ['serviceUnavailableException', 'capacity'],
  ])('is read when it is a member of a stream: %s', (name, kind) => {
    expect(classifyFailure({ [name]: { message: 'no' } })).toMatchObject({ kind, status: 0, detail: 'no' });
  });
});

describe('an event that is an error', () => {
  it.each([
    ['of the responses API', { type: 'error', code: 'rate_limit_exceeded', message: 'slow', sequence_number: 3 }, 'wait'],
    ['of a response that failed', { type: 'response.failed', response: { error: { code: 'server_error', message: 'no' } } }, 'transient'],
    ['of OpenRouter', { id: 'a', error: { code: 502, message: 'no' }, choices: [{ finish_reason: 'error' }] }, 'transient'],
  ])('%s needs no status', (_whose, event, kind) => {
    expect(classifyFailure(event).kind).toBe(kind);
  });
});

describe('what never was an answer', () => {
  it.each<[string, unknown]>([
    ['a bug', new TypeError('x is not a function')],
    ['a text', 'no'],
    ['nothing', undefined],
    ['null', null],
    ['a limit of time of the caller', new DOMException('The operation was aborted due to timeout', 'TimeoutError')],
    ['an abort', new DOMException('This operation was aborted', 'AbortError')],
    ['an object of no prototype', Object.create(null)],
  ])('is unrelated: %s', (_what, error) => {
    expect(classifyFailure(error)).toMatchObject({ kind: 'unrelated', weight: 0, status: 0, retryAt: null });
  });

  it.each([new RefusedError('no'), new CancelledError(), new QueueFullError(3)])('is unrelated where admission said it: %s', (refusal) => {
    expect(classifyFailure(refusal)).toMatchObject({ kind: 'unrelated', reason: 'refused by admission' });
    // As SDKs do with whatever a fetch throws.
    const wrapped = new Error('Connection error.', { cause: refusal });
    expect(classifyFailure(wrapped)).toMatchObject({ kind: 'unrelated', detail: refusal.message });
  });

  it('is unrelated where admittedFetch answered for it, in the words of the provider', () => {
    const headers = { 'x-rx-admission': 'circuit_blocked', 'x-should-retry': 'false', 'retry-after': '7' };
    const failure = classifyFailure({ status: 429, headers, error: { type: 'tokens', code: 'rate_limit_exceeded' } });
    expect(failure).toMatchObject({ kind: 'unrelated', reason: 'refused by admission', weight: 0, retryAt: null });
  });

  it('stays unrelated, whoever asks not to retry it', () => {
    expect(classifyFailure({ headers: { 'x-should-retry': 'false' } })).toMatchObject({ kind: 'unrelated', reason: 'no answer of an upstream' });
  });

  it('is read as it stands where its text only looks like JSON', () => {
    expect(classifyFailure({ status: 429, message: '429 {"error": cut off' })).toMatchObject({ kind: 'wait', detail: '429 {"error": cut off' });
  });

  it('is read to a bounded depth, and once where it goes in circles', () => {
    const circle: { cause?: unknown; message: string } = { message: 'a' };
    circle.cause = { message: 'b', cause: circle };
    expect(classifyFailure(circle).detail).toBe('b');
    let deep: object = { status: 429 };
    for (let level = 0; level < 20; level += 1) deep = { cause: deep };
    expect(classifyFailure(deep).kind).toBe('unrelated');
  });
});

describe('a classified failure', () => {
  const options: ClassifyOptions = { now: () => 50, service: 'gpt-5', longestWait: 5_000 };
  const error = (seconds: number): object => ({ status: 429, headers: { 'retry-after': String(seconds) }, message: 'slow' });

  it('says in one line what came, from whom', () => {
    expect(classifyFailure(error(2), options).summary).toBe('HTTP 429 from gpt-5: slow, retry after 2s');
    expect(classifyFailure({ status: 500 }).summary).toBe('HTTP 500 from upstream: server error');
  });

  it('stops where the wait is longer than the longest, and says until when', () => {
    expect(classifyFailure(error(5), options)).toMatchObject({ kind: 'wait', retryAt: 5_050 });
    expect(classifyFailure(error(6), options)).toMatchObject({ kind: 'stop', retryAt: 6_050, weight: 1 });
    expect(classifyFailure(error(60)).kind).toBe('wait');
    expect(classifyFailure(error(61)).kind).toBe('stop');
  });

  it('is not classified again', () => {
    const failure = classifyFailure(error(2), options);
    expect(classifyFailure(failure)).toBe(failure);
  });

  it('has dates compared with the clock of the server, or else the wall clock', () => {
    const headers = { 'retry-after': 'Fri, 20 Nov 2026 12:00:30 GMT' };
    const wallNow = (): number => Date.parse('2026-11-20T12:00:10Z');
    expect(classifyFailure({ status: 429, headers }, { wallNow }).retryAfter).toBe(20);
    expect(classifyFailure({ status: 429, headers: { ...headers, date: 'Fri, 20 Nov 2026 12:00:29 GMT' } }, { wallNow }).retryAfter).toBe(1);
  });

  it('is of the provider that the caller names', () => {
    expect(classifyFailure({ status: 503 }, { provider: 'together' })).toMatchObject({ kind: 'capacity', service: 'together' });
    expect(classifyFailure({ status: 503 }).kind).toBe('transient');
  });
});

describe('a response', () => {
  it('stays readable after it was classified', async () => {
    const response = new Response(openai[0]?.answer.body ?? '', { status: 429 });
    expect((await classifyResponse(response)).kind).toBe('wait');
    expect(await response.text()).toContain('rate_limit_exceeded');
  });

  it('whose body was read is judged by its status and headers', async () => {
    const response = new Response('{}', { status: 429, headers: { 'retry-after': '2' } });
    await response.text();
    expect(await classifyResponse(response)).toMatchObject({ kind: 'wait', retryAfter: 2 });
    expect(classifyFailure(response)).toMatchObject({ kind: 'wait', retryAfter: 2 });
  });

  it('whose body breaks is judged by its status', async () => {
    const clone = () => ({ text: () => Promise.reject(new TypeError('terminated')) });
    const broken = { status: 529, headers: new Headers(), clone };
    expect(await classifyResponse(broken)).toMatchObject({ kind: 'capacity', weight: 3 });
  });
});
