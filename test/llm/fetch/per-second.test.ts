/** A provider that enforces its minute second by second: OpenAI's SDK in front of the quota proxy, by the real clock. */
import OpenAI, { RateLimitError } from 'openai';
import { ElasticWindow, TokenBucket, createAdmission } from 'rx-admission';
import { admittedFetch } from 'rx-admission/llm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openaiDoor } from '../../../examples/provider/openai-door.js';
import { startQuotaProxy, type QuotaProxy } from '../../../examples/provider/quota-proxy.js';
import { Quota } from '../../../examples/provider/quota.js';
import { answerChat, startModelServer, type ModelServer } from './model-server.js';

const CALLS = 12;
const minute = { tokensPerMinute: 100_000, requestsPerMinute: 240 };
const quiet = { warn: () => undefined, info: () => undefined };

let model: ModelServer;
let quota: Quota;
let proxy: QuotaProxy;
beforeEach(async () => {
  model = await startModelServer(answerChat);
  quota = new Quota({ ...minute, requestsPerSecond: 4, concurrency: 100 });
  proxy = await startQuotaProxy({ upstream: model.url, door: openaiDoor(quota) });
});
afterEach(async () => {
  await proxy.close();
  await model.close();
});

/** How many of the calls were refused, all asked for at once. */
async function refusalsOf(fetch: ReturnType<typeof admittedFetch>): Promise<number> {
  const client = new OpenAI({ apiKey: 'none', baseURL: `${proxy.url}/v1`, maxRetries: 0, fetch });
  const ask = (): Promise<unknown> =>
    client.chat.completions.create({ model: 'gpt', messages: [{ role: 'user', content: 'hello' }], max_completion_tokens: 9 });
  const ended = await Promise.allSettled(Array.from({ length: CALLS }, ask));
  return ended.filter((end) => end.status === 'rejected' && end.reason instanceof RateLimitError).length;
}

describe('requests that are enforced by the second', () => {
  it('are more than a bucket of the minute knows of', async () => {
    const gpt = new TokenBucket({ name: 'gpt', ...minute, log: quiet });
    expect(await refusalsOf(admittedFetch(createAdmission(), { tokens: gpt }))).toBeGreaterThan(0);
  });

  it('are kept by a window of a second beside it: no call is refused', async () => {
    const gpt = new TokenBucket({ name: 'gpt', ...minute, log: quiet });
    // Half a second longer than theirs, for what the network and this machine delay.
    const second = new ElasticWindow({ name: 'second', maxRequests: 4, baseWindow: 1_500 });
    expect(await refusalsOf(admittedFetch(createAdmission(), { tokens: gpt, permits: [second] }))).toBe(0);
    expect([quota.log.length, quota.log.filter(({ refused }) => refused !== null)]).toEqual([CALLS, []]);
  });
});
