/** Where the calls go: a model server behind a fresh quota on loopback, or a real provider. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { Admission } from 'rx-admission';
import { anthropicDoor } from '../provider/anthropic-door.js';
import { seeded } from '../provider/calls.js';
import { openaiDoor } from '../provider/openai-door.js';
import { startQuotaProxy, type KeptDoor } from '../provider/quota-proxy.js';
import { Quota, type Books } from '../provider/quota.js';
import { startModelServer } from '../provider/server.js';
import { anthropicEntry, openaiFetch, type Accounts } from './burst.js';
import { anthropicAsk, openaiAsk, wire, type Ask } from './chat.js';
import type { Options, ProviderName } from './options.js';

/** What lets calls in. */
export interface Entry {
  readonly admission: Admission;
  readonly accounts: Accounts;
}

export interface Provider {
  /** Its client, through an entry or as it comes. */
  readonly ask: (entry?: Entry) => Ask;
  /** The quota's own books, null where they are out of sight. */
  readonly books: Books | null;
  close(): Promise<void>;
}

export async function openProvider(options: Options): Promise<Provider> {
  const { remote, provider: name, seed } = options;
  const askAt = ASKS[name];
  if (remote !== null) {
    return { ask: (entry) => askAt(remote.baseUrl, remote.apiKey, options.model, entry), books: null, close: () => Promise.resolve() };
  }
  const model = await startModelServer(seed);
  const door = DOORS[name](options);
  const random = seeded(seed);
  // Calls take between 5 and 105 ms to arrive, so that they are counted in another order than they were sent.
  const proxy = await startQuotaProxy({ upstream: model.url, door, latency: () => 5 + random() * 100 });
  return {
    ask: (entry) => askAt(name === 'openai' ? `${proxy.url}/v1` : proxy.url, 'none', options.model, entry),
    books: door.books,
    close: async () => {
      await proxy.close();
      await model.close();
    },
  };
}

const DOORS: Readonly<Record<ProviderName, (options: Options) => KeptDoor>> = {
  openai: (options) => openaiDoor(new Quota(options)),
  // As much output as input, which short answers come nowhere near.
  anthropic: ({ tokensPerMinute, ...limits }) => {
    return anthropicDoor({ ...limits, inputTokensPerMinute: tokensPerMinute, outputTokensPerMinute: tokensPerMinute });
  },
};

/** Without the SDKs' own retries, so that each run makes every call once. */
const ASKS: Readonly<Record<ProviderName, (baseURL: string, apiKey: string, model: string, entry?: Entry) => Ask>> = {
  openai: (baseURL, apiKey, model, entry) => {
    const fetch = entry === undefined ? wire : openaiFetch(entry.admission, entry.accounts);
    return openaiAsk(new OpenAI({ baseURL, apiKey, maxRetries: 0, fetch }), model);
  },
  anthropic: (baseURL, apiKey, model, entry) => {
    const middleware = entry === undefined ? [] : [anthropicEntry(entry.admission, entry.accounts)];
    return anthropicAsk(new Anthropic({ baseURL, apiKey, maxRetries: 0, fetch: wire, middleware }), model);
  },
};
