/** The quota proxy over real HTTP, in front of the model server, asked through the real SDK. */
import OpenAI, { RateLimitError } from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Quota } from '../../examples/provider/quota.js';
import { openaiDoor } from '../../examples/provider/openai-door.js';
import { startQuotaProxy } from '../../examples/provider/quota-proxy.js';
import type { QuotaProxy } from '../../examples/provider/quota-proxy.js';
import { startModelServer } from '../../examples/provider/server.js';
import type { ModelServer } from '../../examples/provider/server.js';

let model: ModelServer;
let proxy: QuotaProxy;
let quota: Quota;
let client: OpenAI;

beforeEach(async () => {
  model = await startModelServer(1);
  quota = new Quota({ requestsPerMinute: 60, tokensPerMinute: 6_000, concurrency: 1 });
  proxy = await startQuotaProxy({ upstream: model.url, door: openaiDoor(quota) });
  client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'none', maxRetries: 0 });
});

afterEach(async () => {
  await proxy.close();
  await model.close();
});

const chat = (maxTokens: number, signal?: AbortSignal) =>
  client.chat.completions.create(
    {
      model: 'gpt-5',
      messages: [{ role: 'user', content: 'hello' }],
      max_completion_tokens: maxTokens,
      stream: true,
      stream_options: { include_usage: true },
    },
    { signal },
  );

async function textOf(stream: Awaited<ReturnType<typeof chat>>): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  return text;
}

describe('the quota proxy', () => {
  it('passes a stream through, with the quota’s headers on it', async () => {
    const { data, response } = await chat(991).withResponse();
    expect(await textOf(data)).toMatch(/^wait holding nothing/);
    expect(response.headers.get('x-ratelimit-limit-tokens')).toBe('6000');
    expect(response.headers.get('x-ratelimit-remaining-tokens')).toBe('5000');
    expect(response.headers.get('x-ratelimit-reset-tokens')).toBe('10s');
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('59');
  });

  it('answers what is over the limit with a 429 as OpenAI shapes it', async () => {
    await textOf(await chat(5_891));
    const error: unknown = await chat(5_891).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RateLimitError);
    const { code, type, message, headers } = error as RateLimitError;
    expect({ code, type }).toEqual({ code: 'rate_limit_exceeded', type: 'tokens' });
    expect(message).toMatch(/tokens per min \(TPM\): Limit 6000, Used \d+, Requested 5900\. Please try again in \d/);
    expect(Number(headers.get('retry-after-ms'))).toBeGreaterThan(0);
    expect(Number(headers.get('retry-after'))).toBe(Math.ceil(Number(headers.get('retry-after-ms')) / 1000));
    expect(headers.get('x-ratelimit-limit-requests')).toBe('60');
  });

  it('gives the place back before the caller knows that its stream has ended', async () => {
    for (let round = 0; round < 5; round += 1) await textOf(await chat(10));
    expect(quota.log.map((arrival) => arrival.refused)).toEqual([null, null, null, null, null]);
    expect(quota.peak).toBe(1);
  });

  it('gives the place back when the caller breaks off', async () => {
    const abort = new AbortController();
    const stream = await chat(10, abort.signal);
    await expect(chat(10)).rejects.toMatchObject({ status: 429, type: 'requests' });
    abort.abort();
    await textOf(stream);
    await expect.poll(() => chat(10).then(textOf, () => 'refused')).toMatch(/^wait/);
  });

  it('counts no request that is not a call', async () => {
    expect((await client.models.list()).data.length).toBeGreaterThan(0);
    expect(quota.log).toEqual([]);
  });
});
