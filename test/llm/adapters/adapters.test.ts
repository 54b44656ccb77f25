/** The middlewares, in the SDKs that they are for, against a real server: order, counts and outcomes. */
import Anthropic from '@anthropic-ai/sdk';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, jsonSchema, streamText, wrapLanguageModel, type LanguageModel } from 'ai';
import { CountingGate, RefusedError, TokenBucket, createAdmission, type Admission } from 'rx-admission';
import { aiMiddleware, anthropicMiddleware, type AdmittedOptions, type ChargePolicy } from 'rx-admission/llm';
import { VirtualTimeScheduler } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { refuse, startModelServer, streamOpened, word, type Asked, type ModelServer } from '../fetch/model-server.js';
import { INPUT, OUTPUT, answerInKind } from '../fetch/protocols.js';

const BUDGET = 100_000;
const AS_USED: ChargePolicy = {
  name: 'as used',
  reserve: () => ({ tokens: 500, input: 500, output: 0 }),
  settle: ({ input, output }) => ({ tokens: input + output, input, output }),
  refused: () => ({ tokens: 0, input: 0, output: 0 }),
  clamps: [],
};

let server: ModelServer;
let serve: (asked: Asked, nth: number) => void;
let admission: Admission;
let places: CountingGate;
let bucket: TokenBucket;
let lines: string[];
let options: AdmittedOptions;
beforeEach(async () => {
  serve = answerInKind;
  server = await startModelServer((asked, nth) => {
    serve(asked, nth);
  });
  admission = createAdmission({ scheduler: new VirtualTimeScheduler() });
  places = new CountingGate({ name: 'places', capacity: 1 });
  lines = [];
  const log = { info: () => undefined, warn: (line: string) => void lines.push(line) };
  bucket = new TokenBucket({ name: 'm', tokensPerMinute: BUDGET, log });
  options = { tokens: bucket, permits: [places], charge: AS_USED, log };
});
afterEach(async () => {
  await server.close();
  await vi.waitFor(() => {
    expect([places.inUse(), admission.queueSize, admission.status().grants]).toEqual([0, 0, []]);
  });
});

const spent = (): number => BUDGET - bucket.tokens();
/** Until who is asked is inside, or waits. */
const until = (holds: () => boolean): Promise<void> =>
  vi.waitFor(() => {
    expect(holds()).toBe(true);
  });

describe('anthropicMiddleware', () => {
  const client = (maxRetries = 0): Anthropic =>
    new Anthropic({ apiKey: 'none', baseURL: server.url, maxRetries, middleware: [anthropicMiddleware(admission, options)] });
  const asked = { model: 'm', max_tokens: 9, messages: [{ role: 'user' as const, content: 'hello' }] };

  it('lets calls in one by one, and charges what they used', async () => {
    const { messages } = client();
    await Promise.all([1, 2, 3].map(() => messages.create(asked)));
    expect([server.asked.length, server.peak, spent()]).toEqual([3, 1, 3 * (INPUT + OUTPUT)]);
  });

  it('holds the permit to the end of a stream, and charges what that used', async () => {
    const seen: string[] = [];
    for await (const event of await client().messages.create({ ...asked, stream: true })) {
      seen.push(`${event.type} ${String(places.inUse())}`);
    }
    expect(seen[0]).toBe('message_start 1');
    expect([seen.length, spent()]).toEqual([6, INPUT + OUTPUT]);
  });

  it('admits each attempt of the SDK’s retry by itself', async () => {
    // A bucket would be closed until the Retry-After, and time stands still here.
    options = { permits: [places] };
    serve = (call, nth) => {
      if (nth > 1) answerInKind(call);
      else refuse(call, 529, { type: 'overloaded_error', message: 'Overloaded' }, { 'retry-after-ms': '1' });
    };
    await client(1).messages.create(asked);
    expect([server.asked.length, server.peak]).toEqual([2, 1]);
  });

  it('answers a refusal once, in the provider’s words', async () => {
    bucket.setConfig({ tokensPerMinute: 100 });
    await expect(client(3).messages.create(asked)).rejects.toThrow(/500 tokens exceed the budget of 100/);
    expect(server.asked).toEqual([]);
  });

  it('leaves the line when it is aborted there', async () => {
    expect(places.tryTake([1], [], 0)).toBe(true);
    const controller = new AbortController();
    const waiting = client().messages.create(asked, { signal: controller.signal });
    await until(() => admission.queueSize === 1);
    controller.abort();
    await expect(waiting).rejects.toThrow(/abort/i);
    places.give([1], 0);
    expect(server.asked).toEqual([]);
  });

  it('needs an account, and says so', () => {
    expect(() => anthropicMiddleware(admission, {})).toThrow(/^anthropicMiddleware names no account/);
  });
});

const MODELS: Readonly<Record<string, () => Exclude<LanguageModel, string>>> = {
  openai: () => createOpenAI({ baseURL: server.url, apiKey: 'none' }).chat('m'),
  anthropic: () => createAnthropic({ baseURL: server.url, apiKey: 'none' })('m'),
};

describe.each(Object.keys(MODELS))('aiMiddleware on a model of %s', (name) => {
  const model = (): LanguageModel => {
    const bare = MODELS[name]?.();
    if (bare?.specificationVersion !== 'v3') throw new Error('not a model of this version');
    return wrapLanguageModel({ model: bare, middleware: aiMiddleware(admission, options) });
  };
  const prompt = 'hello';

  it('lets calls in one by one, and charges what they used', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => generateText({ model: model(), prompt })));
    expect(answers.map(({ text }) => text)).toEqual(Array(3).fill('hello'));
    expect([server.asked.length, server.peak, spent()]).toEqual([3, 1, 3 * (INPUT + OUTPUT)]);
  });

  it('holds the permit to the end of a stream, and charges what that used', async () => {
    const { textStream } = streamText({ model: model(), prompt });
    const seen: unknown[] = [];
    for await (const text of textStream) seen.push([text, places.inUse()]);
    expect(seen[0]).toEqual(['hello', 1]);
    await until(() => places.inUse() === 0);
    expect(spent()).toBe(INPUT + OUTPUT);
  });

  it('leaves the line when it is aborted there', async () => {
    expect(places.tryTake([1], [], 0)).toBe(true);
    const controller = new AbortController();
    const waiting = generateText({ model: model(), prompt, abortSignal: controller.signal });
    await until(() => admission.queueSize === 1);
    controller.abort();
    await expect(waiting).rejects.toThrow();
    places.give([1], 0);
    expect([server.asked.length, spent()]).toEqual([0, 0]);
  });

  it('throws a refusal as it is, once', async () => {
    bucket.setConfig({ tokensPerMinute: 100 });
    await expect(generateText({ model: model(), prompt, maxRetries: 3 })).rejects.toThrow(RefusedError);
    expect(server.asked).toEqual([]);
  });
});

describe('aiMiddleware', () => {
  const model = (more: AdmittedOptions = {}): LanguageModel =>
    wrapLanguageModel({
      model: createOpenAI({ baseURL: server.url, apiKey: 'none' }).chat('m'),
      middleware: aiMiddleware(admission, { ...options, ...more }),
    });
  const prompt = 'hello';
  const silent = { onError: () => undefined, maxRetries: 0 };

  it('admits each attempt of a retry by itself', async () => {
    serve = (asked, nth) => {
      if (nth > 1) answerInKind(asked);
      else refuse(asked, 429, { message: 'slow down', code: 'rate_limit_exceeded' }, { 'retry-after-ms': '1' });
    };
    // A bucket would be closed until the Retry-After, and time stands still here.
    await generateText({ model: model({ tokens: undefined }), prompt, maxRetries: 1 });
    expect([server.asked.length, server.peak]).toEqual([2, 1]);
  });

  it('slows the bucket down for a 429, which costs nothing', async () => {
    serve = (asked) => {
      refuse(asked, 429, { message: 'slow down', code: 'rate_limit_exceeded' });
    };
    await expect(generateText({ model: model(), prompt, maxRetries: 0 })).rejects.toThrow('slow down');
    expect([bucket.throttle, spent()]).toEqual([0.5, 0]);
  });

  it('gives the permit back when a stream is left, breaks, or fails inside', async () => {
    serve = (asked) => void streamOpened(asked).write(word('on and on'));
    const controller = new AbortController();
    for await (const _text of streamText({ model: model(), prompt, abortSignal: controller.signal, ...silent }).textStream) controller.abort();
    await until(() => places.inUse() === 0);
    serve = (asked) => void streamOpened(asked).write(word('half'), () => setTimeout(() => asked.answer.destroy(), 5));
    await streamText({ model: model(), prompt, ...silent }).consumeStream();
    await until(() => places.inUse() === 0);
    serve = (asked) => void streamOpened(asked).end(`data: ${JSON.stringify({ error: { message: 'too fast', code: 'rate_limit_exceeded', type: 'tokens' } })}\n\n`);
    const before = bucket.throttle;
    await streamText({ model: model(), prompt, ...silent }).consumeStream();
    await until(() => places.inUse() === 0);
    expect(bucket.throttle).toBeGreaterThan(before);
  });

  it('gives the permit back when the server dies before it answers, or while the caller has left', async () => {
    serve = ({ answer }) => void answer.destroy();
    await expect(generateText({ model: model(), prompt, maxRetries: 0 })).rejects.toThrow();
    const controller = new AbortController();
    serve = () => {
      controller.abort();
    };
    await expect(generateText({ model: model(), prompt, abortSignal: controller.signal })).rejects.toThrow();
    expect(bucket.throttle).toBe(0);
  });

  it('cuts a stream that nobody reads, and says whose', async () => {
    serve = (asked) => void streamOpened(asked).write(word('unread'));
    const bare = createOpenAI({ baseURL: server.url, apiKey: 'none' }).chat('m');
    const { wrapStream } = aiMiddleware(admission, { ...options, maxHold: 20 });
    const asked = { prompt: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'hello' }] }] };
    await wrapStream({ model: bare, params: asked, doStream: () => bare.doStream(asked) });
    await until(() => places.inUse() === 0);
    expect(lines).toEqual([expect.stringMatching(/^m · stream: nobody read this answer for 20 ms/)]);
  });

  it('counts tools and the most asked for into what it reserves', async () => {
    const reserved: unknown[] = [];
    const charge: ChargePolicy = {
      ...AS_USED,
      reserve: ({ counted, maxOutput }) => {
        reserved.push([counted > 40, maxOutput]);
        return { tokens: 1, input: 1, output: 0 };
      },
    };
    const inputSchema = jsonSchema<{ what: string }>({ type: 'object', properties: { what: { type: 'string' } } });
    const tools = { look: { description: 'Looks a thing up, wherever it may be found', inputSchema } };
    await generateText({ model: model({ charge }), prompt, tools, maxOutputTokens: 77 });
    await generateText({ model: model({ charge }), prompt });
    expect(reserved).toEqual([
      [true, 77],
      [false, 4_096],
    ]);
  });

  it.each<[string, unknown, number]>([
    ['numbers of version 5', { inputTokens: 40, outputTokens: 10, cachedInputTokens: 5 }, 50],
    ['parts of later versions', { inputTokens: { total: 40, cacheRead: 90, cacheWrite: 3 }, outputTokens: { total: 10 } }, 50],
    ['nothing', { inputTokens: undefined, outputTokens: {} }, 500],
    ['no usage at all', undefined, 500],
  ])('reads a usage of %s', async (_what, usage, cost) => {
    const { wrapGenerate, specificationVersion } = aiMiddleware(admission, options);
    const model = { modelId: 'gemini', provider: 'google.vertex' };
    const result = await wrapGenerate({ model, params: { prompt: [] }, doGenerate: () => Promise.resolve({ usage, response: {} }) });
    expect([result, specificationVersion, spent()]).toEqual([{ usage, response: {} }, 'v3', cost]);
  });

  it('gives the permit back where what a model answers is none', async () => {
    const { wrapGenerate, wrapStream } = aiMiddleware(admission, options);
    const model = { modelId: 'm', provider: 'openai' };
    await expect(wrapGenerate({ model, params: { prompt: [] }, doGenerate: () => Promise.resolve(undefined as never) })).rejects.toThrow(TypeError);
    const stream = new ReadableStream();
    stream.getReader();
    await expect(wrapStream({ model, params: { prompt: [] }, doStream: () => Promise.resolve({ stream }) })).rejects.toThrow(TypeError);
    const odd = new ReadableStream({ start: (controller) => { controller.enqueue(null); } });
    const { stream: held } = await wrapStream({ model, params: { prompt: [] }, doStream: () => Promise.resolve({ stream: odd }) });
    await expect(held.getReader().read()).rejects.toThrow(TypeError);
  });

  it('hears the limits that the answer’s headers state', async () => {
    const heard: unknown[] = [];
    serve = (asked) => {
      asked.answer.setHeader('x-ratelimit-limit-requests', '500');
      answerInKind(asked);
    };
    await generateText({ model: model({ onLimits: ({ limits }, { operation }) => heard.push([limits.length, operation]) }), prompt });
    expect(heard).toEqual([[1, 'generate']]);
  });
});
