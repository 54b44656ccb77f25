/** Where the calls go: a model server behind a fresh quota on loopback, or a real provider. */
import OpenAI from 'openai';
import { seeded } from '../provider/calls.js';
import type { Options } from './options.js';
import { Quota } from '../provider/quota.js';
import { openaiDoor } from '../provider/openai-door.js';
import { startQuotaProxy } from '../provider/quota-proxy.js';
import { startModelServer } from '../provider/server.js';

export interface Provider {
  readonly client: OpenAI;
  /** The quota's own books, null where they are out of sight. */
  readonly quota: Quota | null;
  close(): Promise<void>;
}

export async function openProvider(options: Options): Promise<Provider> {
  if (options.provider !== null) {
    const { baseUrl, apiKey } = options.provider;
    return { client: clientOf(baseUrl, apiKey), quota: null, close: () => Promise.resolve() };
  }
  const model = await startModelServer(options.seed);
  const quota = new Quota(options);
  const random = seeded(options.seed);
  // Calls take between 5 and 105 ms to arrive, so that they are counted in another order than they were sent.
  const proxy = await startQuotaProxy({ upstream: model.url, door: openaiDoor(quota), latency: () => 5 + random() * 100 });
  return {
    client: clientOf(`${proxy.url}/v1`, 'none'),
    quota,
    close: async () => {
      await proxy.close();
      await model.close();
    },
  };
}

/** Without the SDK's own retries: each attempt has to be an admission of its own. */
function clientOf(baseURL: string, apiKey: string): OpenAI {
  return new OpenAI({ baseURL, apiKey, maxRetries: 0 });
}
