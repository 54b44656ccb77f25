/** Anthropic's door over real HTTP, in front of the model server, asked through the real SDK. */
import Anthropic, { type APIError, RateLimitError } from '@anthropic-ai/sdk';
import { readRateLimits } from 'rx-admission/llm';
import { afterEach, describe, expect, it } from 'vitest';
import { anthropicDoor, inputOf, type AnthropicLimits } from '../../examples/provider/anthropic-door.js';
import { startQuotaProxy, type KeptDoor, type QuotaProxy } from '../../examples/provider/quota-proxy.js';
import { startModelServer, type ModelServer } from '../../examples/provider/server.js';

const LIMITS: AnthropicLimits = { requestsPerMinute: 60, inputTokensPerMinute: 6_000, outputTokensPerMinute: 3_000 };
const messages = [{ role: 'user' as const, content: 'hello' }];
/** Of any prompt of `bytes` bytes. */
const long = (bytes: number) => [{ role: 'user' as const, content: 'x'.repeat(bytes) }];

let model: ModelServer;
let proxy: QuotaProxy;
let door: KeptDoor;

async function clientOf(limits: Partial<AnthropicLimits> = {}): Promise<Anthropic['messages']> {
  model = await startModelServer(1);
  door = anthropicDoor({ ...LIMITS, ...limits });
  proxy = await startQuotaProxy({ upstream: model.url, door });
  return new Anthropic({ baseURL: proxy.url, apiKey: 'none', maxRetries: 0 }).messages;
}

afterEach(async () => {
  await proxy.close();
  await model.close();
});

const ask = { model: 'claude', max_tokens: 1_000 };

describe('the door of Anthropic', () => {
  it('lets a call in as JSON and as a stream, with its usage, and states the limits as Anthropic does', async () => {
    const client = await clientOf();
    const { data, response } = await client.create({ ...ask, messages }).withResponse();
    expect(data.content).toEqual([{ type: 'text', text: expect.stringMatching(/^wait holding nothing/) as string }]);
    expect(data.usage.input_tokens).toBe(inputOf({ messages }));
    const stated = Object.fromEntries([...response.headers].filter(([name]) => name.startsWith('anthropic-ratelimit-')));
    const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as string;
    const of = (what: string, limit: string, remaining: string): [string, string][] => [
      [`anthropic-ratelimit-${what}-limit`, limit],
      [`anthropic-ratelimit-${what}-remaining`, remaining],
      [`anthropic-ratelimit-${what}-reset`, instant],
    ];
    expect(stated).toEqual(
      Object.fromEntries([
        ...of('requests', '60', '59'),
        ...of('input-tokens', '6000', '6000'),
        ...of('output-tokens', '3000', '3000'),
        ...of('tokens', '6000', '6000'),
      ]),
    );
    expect(readRateLimits(response.headers).provider).toBe('anthropic');
    const types = new Set<string>();
    for await (const { type } of await client.create({ ...ask, messages, stream: true })) types.add(type);
    expect([...types]).toEqual(['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop', 'message_delta', 'message_stop']);
    expect(door.books.log.map(({ refused, tokens }) => [refused, tokens])).toEqual(Array(2).fill([null, inputOf({ messages })]));
  });

  it('counts no output that was only allowed, and refuses once what was produced has passed the minute’s', async () => {
    const client = await clientOf({ outputTokensPerMinute: 5 });
    // A hundred minutes' worth may be asked for.
    await client.create({ ...ask, messages });
    await expect(client.create({ ...ask, messages })).rejects.toThrow(/rate limit of 5 output tokens per minute/);
  });

  it('answers what is over the limit with a 429 as Anthropic shapes it', async () => {
    const client = await clientOf();
    await client.create({ ...ask, messages: long(20_000) });
    const error: unknown = await client.create({ ...ask, messages: long(20_000) }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RateLimitError);
    const { type, status, headers, message } = error as RateLimitError;
    expect([type, status, Number(headers.get('retry-after')) > 0]).toEqual(['rate_limit_error', 429, true]);
    expect(message).toContain('rate limit of 6,000 input tokens per minute');
    expect(headers.get('anthropic-ratelimit-tokens-remaining')).toBe('1000');
  });

  it('counts requests that it refuses, and calls at once', async () => {
    const client = await clientOf({ requestsPerMinute: 3, concurrency: 1 });
    const ends = await Promise.allSettled([1, 2, 3, 4].map(() => client.create({ ...ask, messages })));
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect([door.books.log.map(({ refused }) => refused), door.books.peak]).toEqual([[null, 'concurrency', 'concurrency', 'requests'], 1]);
  });

  it('says that it is overloaded without a word of when', async () => {
    const client = await clientOf({ overloadedFrom: 0 });
    const error: unknown = await client.create({ ...ask, messages }).catch((reason: unknown) => reason);
    const { type, status, headers } = error as APIError;
    expect([type, status, (headers!).get('retry-after')]).toEqual(['overloaded_error', 529, null]);
  });
});
