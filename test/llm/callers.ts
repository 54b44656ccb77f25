/**
 * The SDKs, each with one plain call and one stream that is read to its end. Of its own retries each makes as many as it is
 * told, none unless told, and each asks through the fetch that its own option for one was given.
 */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import Anthropic from '@anthropic-ai/sdk';
import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand, type Message as BedrockMessage } from '@aws-sdk/client-bedrock-runtime';
import { GoogleGenAI } from '@google/genai';
import { ChatOpenAI } from '@langchain/openai';
import { HTTPClient, Mistral } from '@mistralai/mistralai';
import { FetchHttpHandler } from '@smithy/fetch-http-handler';
import { generateText, streamText, type LanguageModel } from 'ai';
import Groq from 'groq-sdk';
import OpenAI from 'openai';

export interface Caller {
  call(signal?: AbortSignal): Promise<unknown>;
  stream(signal?: AbortSignal): Promise<unknown>;
}

interface Message {
  role: 'user';
  content: string;
}

const messages: Message[] = [{ role: 'user', content: 'hello' }];
const chat = { model: 'm', messages };
const apiKey = 'k';

/** Reads what an SDK streams. */
async function drained(stream: AsyncIterable<unknown> | readonly unknown[] | PromiseLike<AsyncIterable<unknown>>): Promise<void> {
  for await (const _chunk of await stream);
}

export const callers: Readonly<Record<string, (baseURL: string, maxRetries?: number, fetch?: typeof globalThis.fetch) => Caller>> = {
  openai: (baseURL, maxRetries = 0, fetch = globalThis.fetch) => {
    const { completions } = new OpenAI({ baseURL, apiKey, maxRetries, fetch }).chat;
    return {
      call: (signal) => completions.create(chat, { signal }),
      stream: (signal) => drained(completions.create({ ...chat, stream: true }, { signal })),
    };
  },
  '@anthropic-ai/sdk': (baseURL, maxRetries = 0, fetch = globalThis.fetch) => {
    const client = new Anthropic({ baseURL, apiKey, maxRetries, fetch });
    return {
      call: (signal) => client.messages.create({ ...chat, max_tokens: 9 }, { signal: signal ?? null }),
      stream: (signal) => drained(client.messages.create({ ...chat, max_tokens: 9, stream: true }, { signal: signal ?? null })),
    };
  },
  'groq-sdk': (baseURL, maxRetries = 0, fetch = globalThis.fetch) => {
    const { completions } = new Groq({ baseURL, apiKey, maxRetries, fetch }).chat;
    return {
      call: (signal) => completions.create(chat, { signal }),
      stream: (signal) => drained(completions.create({ ...chat, stream: true }, { signal })),
    };
  },
  '@google/genai': (baseUrl, maxRetries = 0, fetch = globalThis.fetch) => {
    const retryOptions = { attempts: maxRetries + 1, initialDelay: 0.001, jitter: 0 };
    const { models } = new GoogleGenAI({ apiKey, httpOptions: { baseUrl, fetch, ...(maxRetries === 0 ? {} : { retryOptions }) } });
    const asked = (abortSignal?: AbortSignal) => ({ model: 'm', contents: 'hello', config: abortSignal ? { abortSignal } : {} });
    return {
      call: (signal) => models.generateContent(asked(signal)),
      stream: (signal) => drained(models.generateContentStream(asked(signal))),
    };
  },
  '@mistralai/mistralai': (serverURL, maxRetries = 0, fetch = globalThis.fetch) => {
    // It counts no attempts, but a minute.
    const backoff = { initialInterval: 1, maxInterval: 1, exponent: 1, maxElapsedTime: 60_000 };
    const retryConfig = maxRetries === 0 ? { strategy: 'none' as const } : { strategy: 'backoff' as const, backoff, retryConnectionErrors: true };
    const client = new Mistral({ serverURL, apiKey, retryConfig, httpClient: new HTTPClient({ fetcher: fetch }) });
    const options = (signal?: AbortSignal) => ({ fetchOptions: { signal: signal ?? null } });
    return {
      call: (signal) => client.chat.complete(chat, options(signal)),
      stream: (signal) => drained(client.chat.stream(chat, options(signal))),
    };
  },
  '@aws-sdk/client-bedrock-runtime': (endpoint, maxRetries = 0, fetch = globalThis.fetch) => {
    const credentials = { accessKeyId: apiKey, secretAccessKey: apiKey };
    const maxAttempts = maxRetries + 1;
    const client = new BedrockRuntimeClient({ region: 'eu-west-1', endpoint, credentials, maxAttempts, requestHandler: new FetchHttpHandler({ customFetch: fetch }) });
    const asked: { modelId: string; messages: BedrockMessage[] } = { modelId: 'm', messages: [{ role: 'user', content: [{ text: 'hello' }] }] };
    const options = (abortSignal?: AbortSignal) => (abortSignal ? { abortSignal } : {});
    return {
      call: (signal) => client.send(new ConverseCommand(asked), options(signal)),
      stream: async (signal) => drained((await client.send(new ConverseStreamCommand(asked), options(signal))).stream ?? []),
    };
  },
  'ai of openai': (baseURL, maxRetries = 0, fetch = globalThis.fetch) => ofAiSdk(createOpenAI({ baseURL, apiKey, fetch }).chat('m'), maxRetries),
  'ai of anthropic': (baseURL, maxRetries = 0, fetch = globalThis.fetch) => ofAiSdk(createAnthropic({ baseURL, apiKey, fetch })('m'), maxRetries),
  langchain: (baseURL, maxRetries = 0, fetch = globalThis.fetch) => {
    const model = new ChatOpenAI({ model: 'm', apiKey, maxRetries, configuration: { baseURL, fetch } });
    return {
      call: (signal) => model.invoke('hello', { ...(signal ? { signal } : {}) }),
      stream: (signal) => drained(model.stream('hello', { ...(signal ? { signal } : {}) })),
    };
  },
  fetch: (url, _maxRetries = 0, fetch = globalThis.fetch) => ({
    call: async (signal) => {
      const response = await fetch(url, { method: 'POST', signal: signal ?? null });
      const { status, headers } = response;
      throw Object.assign(new Error('the call failed'), { status, headers, body: await response.text() });
    },
    stream: async (signal) => {
      const response = await fetch(url, { method: 'POST', signal: signal ?? null });
      // As a reader of events may have it: the data of the one that is an error.
      const data: unknown = JSON.parse(/^data: (.*)$/m.exec(await response.text())?.[1] ?? '{}');
      throw new Error('the stream failed', { cause: data });
    },
  }),
};

function ofAiSdk(model: LanguageModel, maxRetries: number): Caller {
  const asked = (abortSignal?: AbortSignal) => ({ model, prompt: 'hello', maxRetries, ...(abortSignal ? { abortSignal } : {}) });
  return {
    call: (signal) => generateText(asked(signal)),
    stream: async (signal) => {
      // It prints every error unless somebody takes them, and hands them over as parts.
      for await (const part of streamText({ ...asked(signal), onError: () => undefined }).fullStream) {
        if (part.type === 'error') throw part.error;
      }
    },
  };
}
