/** Admits the calls of Vercel's AI SDK, as a middleware of a language model, whatever provider the model is of. */
import type { Admission } from '../../index.js';
import { callOf, type LlmCall, type Protocol } from '../call.js';
import { settingsOf, type AdmittedOptions } from '../fetch/admitted-options.js';
import { heldStream } from '../fetch/held-stream.js';
import type { Passage } from '../fetch/passage.js';
import { Turnstile } from '../fetch/turnstile.js';
import { assertAdmission } from '../known-options.js';
import { inner, isJson, type Json, type Usage } from '../usage.js';

/** What is read of a call, by shape; the same from version 5 of the SDK on. */
interface Wrapped {
  readonly params: {
    readonly prompt: unknown;
    readonly maxOutputTokens?: number | undefined;
    readonly tools?: unknown;
    readonly abortSignal?: AbortSignal | undefined;
  };
  readonly model: { readonly modelId: string; readonly provider: string };
}

interface Generating<R> extends Wrapped {
  readonly doGenerate: () => PromiseLike<R>;
}

interface Streaming<R> extends Wrapped {
  readonly doStream: () => PromiseLike<R>;
}

/** A `LanguageModelMiddleware` of `ai`, by shape. */
export interface AiMiddleware {
  readonly specificationVersion: 'v3';
  readonly wrapGenerate: <R extends object>(wrapped: Generating<R>) => Promise<R>;
  readonly wrapStream: <R extends { stream: ReadableStream }>(wrapped: Streaming<R>) => Promise<R>;
}

/**
 * Each call of the model waits for what it needs, and holds it until it has answered: until the last part of a stream was
 * read, or the stream failed, was cancelled or was dropped. It is charged what the SDK says it used.
 *
 * The SDK's own retries come through here, so each attempt is admitted by itself. A refusal is the `AdmissionError`, which
 * the SDK does not retry.
 *
 * @throws TypeError when no account is named.
 *
 * @example
 * ```ts
 * const gpt = new TokenBucket({ name: 'gpt-5', tokensPerMinute: 200_000, requestsPerMinute: 500 });
 * const model = wrapLanguageModel({ model: openai('gpt-5'), middleware: aiMiddleware(createAdmission(), { tokens: gpt }) });
 * const { text } = await generateText({ model, prompt });
 * ```
 */
export function aiMiddleware(admission: Admission, options: AdmittedOptions): AiMiddleware {
  assertAdmission('aiMiddleware', admission);
  const settings = settingsOf('aiMiddleware', options);
  const turnstile = new Turnstile(admission, settings);
  const enter = (wrapped: Wrapped, operation: string): Promise<Passage> =>
    turnstile.enter(calledBy(wrapped, operation), wrapped.params.abortSignal ?? null);
  return {
    specificationVersion: 'v3',
    wrapGenerate: async (wrapped) => {
      const passage = await enter(wrapped, 'generate');
      return attempted(passage, async () => {
        const result = await wrapped.doGenerate();
        told(passage, result);
        passage.end({ kind: 'answered', usage: usageIn(result as Json) });
        return result;
      });
    },
    wrapStream: async (wrapped) => {
      const passage = await enter(wrapped, 'stream');
      return attempted(passage, async () => {
        const result = await wrapped.doStream();
        told(passage, result);
        return { ...result, stream: watched(result.stream, passage, settings.maxHold) };
      });
    },
  };
}

/** @throws what the model throws, once the attempt has ended with it. */
async function attempted<R>(passage: Passage, work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    if (isAnswered(error)) passage.end({ kind: 'refused', error });
    else passage.broke(error);
    throw error;
  }
}

/** The provider said no, before it did anything: an `APICallError` with the status of its answer. */
const isAnswered = (error: unknown): boolean => Number((error as { readonly statusCode?: unknown } | null)?.statusCode) >= 400;

/** The headers of the answer, where the model tells them. */
function told(passage: Passage, result: object): void {
  const { headers } = inner(result as Json, 'response');
  if (isJson(headers)) passage.heard(headers as Record<string, string>, true);
}

function watched(stream: ReadableStream, passage: Passage, maxHold: number): ReadableStream {
  let usage: Usage | null = null;
  let failure: unknown = null;
  const source = stream as ReadableStream<unknown>;
  return heldStream(
    source,
    {
      pass: (part) => {
        const { type, error } = part as Json;
        if (type === 'finish') usage = usageIn(part as Json);
        if (type === 'error') failure = error;
        return [part];
      },
      rest: () => [],
      whole: () => {
        passage.end(failure === null ? { kind: 'answered', usage } : { kind: 'failed', error: failure, usage });
      },
      broke: (error) => {
        passage.broke(error, usage);
      },
      left: (why) => {
        passage.left(usage, why);
      },
    },
    maxHold,
  );
}

const PROTOCOLS: readonly (readonly [provider: RegExp, Protocol])[] = [
  [/anthropic/, 'anthropic'],
  [/google|vertex/, 'gemini'],
  [/bedrock/, 'bedrock'],
];

/** The provider's name says how it counts; most speak OpenAI's protocol. */
function calledBy({ params, model }: Wrapped, operation: string): LlmCall {
  const { prompt, tools, maxOutputTokens } = params;
  const protocol = PROTOCOLS.find(([provider]) => provider.test(model.provider))?.[1] ?? 'openai';
  const body = { messages: prompt, ...(tools === undefined ? {} : { tools }), ...(maxOutputTokens === undefined ? {} : { max_tokens: maxOutputTokens }) };
  return callOf(body, { protocol, operation, model: model.modelId });
}

/** Version 5 counts in numbers, later ones in parts of them. */
function usageIn(result: Json): Usage | null {
  const usage = inner(result, 'usage');
  const of = (key: string, part: string): number | null => count(isJson(usage[key]) ? usage[key][part] : usage[key]);
  const input = of('inputTokens', 'total');
  const output = of('outputTokens', 'total');
  if (input === null || output === null) return null;
  const cached: Json = inner(usage, 'inputTokens');
  const cacheRead = count(cached.cacheRead ?? usage.cachedInputTokens) ?? 0;
  return { input, output, cacheRead: Math.min(cacheRead, input), cacheWrite: count(cached.cacheWrite) ?? 0 };
}

const count = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null);

