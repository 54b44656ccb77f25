/** The SDKs through their adapters, each kind of call that they make; and what our code was given to listen to. */
import Anthropic from '@anthropic-ai/sdk';
import { createOpenAI } from '@ai-sdk/openai';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, streamText, wrapLanguageModel, type LanguageModel } from 'ai';
import OpenAI from 'openai';
import type { Admission } from 'rx-admission';
import { admittedFetch, aiMiddleware, anthropicMiddleware, type AdmittedOptions, type Fetch } from 'rx-admission/llm';

/** One call, to the end of its answer. */
export type Route = (signal: AbortSignal) => Promise<unknown>;

export interface Scene {
  readonly admission: Admission;
  readonly options: AdmittedOptions;
  readonly url: string;
  readonly maxRetries: number;
  /** Whatever signal our code was given. */
  readonly signals: AbortSignal[];
}

const apiKey = 'none';
const messages = [{ role: 'user' as const, content: 'hello' }];
const chat = { model: 'm', messages };
const tools = [{ type: 'function' as const, function: { name: 'look', parameters: { type: 'object', properties: {} } } }];

export const routes: Readonly<Record<string, (scene: Scene) => Route>> = {
  'openai chat': (scene) => (signal) => openai(scene).chat.completions.create(chat, { signal }),
  'openai chat stream': (scene) => (signal) => drained(openai(scene).chat.completions.create({ ...chat, stream: true }, { signal })),
  'openai tool calls': (scene) => (signal) => openai(scene).chat.completions.create({ ...chat, tools }, { signal }),
  'openai tool calls stream': (scene) => (signal) => drained(openai(scene).chat.completions.create({ ...chat, tools, stream: true }, { signal })),
  'openai embeddings': (scene) => (signal) => openai(scene).embeddings.create({ model: 'm', input: 'hello', encoding_format: 'float' }, { signal }),
  'openai responses': (scene) => (signal) => openai(scene).responses.create({ model: 'm', input: 'hello' }, { signal }),
  'openai responses stream': (scene) => (signal) => drained(openai(scene).responses.create({ model: 'm', input: 'hello', stream: true }, { signal })),
  'anthropic messages': (scene) => (signal) => anthropic(scene).messages.create({ ...chat, max_tokens: 9 }, { signal }),
  'anthropic messages stream': (scene) => (signal) => drained(anthropic(scene).messages.create({ ...chat, max_tokens: 9, stream: true }, { signal })),
  'ai generateText': (scene) => (abortSignal) => generateText({ model: ai(scene), prompt: 'hello', maxRetries: scene.maxRetries, abortSignal }),
  'ai streamText': (scene) => async (abortSignal) => {
    const { maxRetries } = scene;
    for await (const part of streamText({ model: ai(scene), prompt: 'hello', maxRetries, abortSignal, onError: () => undefined }).fullStream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'abort') throw new Error('aborted');
    }
  },
  'langchain invoke': (scene) => (signal) => langchain(scene).invoke('hello', { signal }),
  'langchain stream': (scene) => (signal) => drained(langchain(scene).stream('hello', { signal })),
};

async function drained(stream: PromiseLike<AsyncIterable<unknown>>): Promise<void> {
  for await (const _event of await stream);
}

/** The fetch that admits, with an eye on what it is given. */
function fetchOf({ admission, options, signals }: Scene): Fetch {
  const fetch = admittedFetch(admission, options);
  return (input, init) => {
    if (init?.signal) signals.push(init.signal);
    return fetch(input, init);
  };
}

const openai = (scene: Scene): OpenAI => new OpenAI({ apiKey, baseURL: scene.url, maxRetries: scene.maxRetries, fetch: fetchOf(scene) });

const langchain = (scene: Scene): ChatOpenAI =>
  new ChatOpenAI({ model: 'm', apiKey, maxRetries: scene.maxRetries, configuration: { baseURL: scene.url, fetch: fetchOf(scene) } });

function anthropic({ admission, options, url: baseURL, maxRetries, signals }: Scene): Anthropic {
  const through = anthropicMiddleware(admission, options);
  return new Anthropic({
    apiKey,
    baseURL,
    maxRetries,
    middleware: [
      (request, next) => {
        if (request.signal) signals.push(request.signal);
        return through(request, next);
      },
    ],
  });
}

/** The SDK hands one signal to the middleware and to the model; here ours gets one of its own, to tell who listens. */
function ai({ admission, options, url: baseURL, signals }: Scene): LanguageModel {
  const { specificationVersion, wrapGenerate, wrapStream } = aiMiddleware(admission, options);
  const own = <P extends { readonly abortSignal?: AbortSignal | undefined }>(params: P): P => {
    const controller = new AbortController();
    params.abortSignal?.addEventListener('abort', () => {
      controller.abort(params.abortSignal?.reason);
    });
    signals.push(controller.signal);
    return { ...params, abortSignal: controller.signal };
  };
  return wrapLanguageModel({
    model: createOpenAI({ apiKey, baseURL }).chat('m'),
    middleware: {
      specificationVersion,
      wrapGenerate: (wrapped) => wrapGenerate({ ...wrapped, params: own(wrapped.params) }),
      wrapStream: (wrapped) => wrapStream({ ...wrapped, params: own(wrapped.params) }),
    },
  });
}
