/** Limits that follow what answers state: both ways, by the newest knowledge, and never from what is not said. */
import { TokenBucket, type TokenBucketOptions } from 'rx-admission';
import { followLimits, readRateLimits, type FollowOptions, type RateLimitsRead } from 'rx-admission/llm';
import { describe, expect, it } from 'vitest';
import { forgetStale } from '../../src/llm/follow-limits.js';
import { VirtualClock } from '../conformance/virtual-clock.js';

const UNBOUNDED = { tokensPerMinute: Infinity, requestsPerMinute: Infinity };
const openai = (figures: Readonly<Record<string, number>>): RateLimitsRead =>
  readRateLimits(Object.fromEntries(Object.entries(figures).map(([name, value]) => [`x-ratelimit-${name}`, value])), { provider: 'openai' });
const anthropic = (figures: Readonly<Record<string, number>>): RateLimitsRead =>
  readRateLimits(Object.fromEntries(Object.entries(figures).map(([name, value]) => [`anthropic-ratelimit-${name}`, value])));

function scene(options: Partial<TokenBucketOptions> = {}): {
  readonly clock: VirtualClock;
  readonly bucket: TokenBucket;
  /** What an answer states that was asked for at `sentAt`. */
  readonly hears: (read: RateLimitsRead, sentAt?: number, more?: Partial<FollowOptions>) => readonly (number | undefined)[];
} {
  const clock = new VirtualClock(0);
  const bucket = new TokenBucket({ name: 'gpt', tokensPerMinute: 60_000, requestsPerMinute: 60, scheduler: clock, ...options });
  const hears = (read: RateLimitsRead, sentAt = 0, more: Partial<FollowOptions> = {}): readonly (number | undefined)[] => {
    followLimits(bucket, read, { sentAt, ...more });
    return [bucket.limits.tokensPerMinute, bucket.limits.requestsPerMinute];
  };
  return { clock, bucket, hears };
}

describe('limits that are followed', () => {
  it('go down, and up again to what was configured, and keep the throttle', () => {
    const { bucket, hears } = scene();
    bucket.record429();
    expect(hears(openai({ 'limit-tokens': 20_000, 'limit-requests': 30 }))).toEqual([20_000, 30]);
    expect(hears(openai({ 'limit-tokens': 200_000, 'limit-requests': 500 }))).toEqual([60_000, 60]);
    expect(bucket.throttle).toBe(0.5);
  });

  it('go up as far as is allowed, where that is said', () => {
    const { hears } = scene();
    const more = openai({ 'limit-tokens': 200_000, 'limit-requests': 500 });
    expect(hears(more, 0, { most: { tokensPerMinute: 100_000 } })).toEqual([100_000, 60]);
    expect(hears(more, 0, { most: { requestsPerMinute: 100 } })).toEqual([60_000, 100]);
    expect(hears(more, 0, { most: UNBOUNDED })).toEqual([200_000, 500]);
  });

  it('are none where they are below what the answer serves', () => {
    const { bucket, hears } = scene();
    const one = openai({ 'limit-tokens': 1, 'remaining-tokens': 0 });
    expect(hears(one, 0, { served: 2 })).toEqual([60_000, 60]);
    expect(bucket.tokens()).toBe(60_000);
    expect(hears(one, 0, { served: 1 })).toEqual([1, 60]);
  });

  it('are forgotten after five minutes without news, and only where they are lower than what was configured', () => {
    const { bucket, clock, hears } = scene({ requestsPerMinute: undefined });
    const limitsAt = (at: number): readonly (number | undefined)[] => {
      clock.advanceTo(at);
      forgetStale(bucket, at);
      return [bucket.limits.tokensPerMinute, bucket.limits.requestsPerMinute];
    };
    expect(limitsAt(0)).toEqual([60_000, undefined]);
    hears(openai({ 'limit-tokens': 200_000, 'limit-requests': 1 }), 0, { most: UNBOUNDED });
    expect(limitsAt(299_999)).toEqual([200_000, 1]);
    expect(limitsAt(300_000)).toEqual([200_000, undefined]);
  });

  it('that their owner has changed since stay as they are', () => {
    const { bucket, clock, hears } = scene();
    hears(openai({ 'limit-tokens': 20_000 }));
    bucket.setConfig({ tokensPerMinute: 30_000 });
    clock.advanceTo(300_000);
    forgetStale(bucket, 300_000);
    expect(bucket.limits.tokensPerMinute).toBe(30_000);
  });

  it('keep to what their owner sets later', () => {
    const { bucket, hears } = scene();
    expect(hears(openai({ 'limit-tokens': 20_000 }))).toEqual([20_000, 60]);
    bucket.setConfig({ tokensPerMinute: 90_000, requestsPerMinute: 90 });
    expect(hears(openai({ 'limit-tokens': 80_000 }))).toEqual([80_000, 90]);
    expect(hears(openai({ 'limit-tokens': 200_000 }))).toEqual([90_000, 90]);
  });

  it('limit the requests of a bucket that had no limit of them', () => {
    const { hears } = scene({ requestsPerMinute: undefined });
    expect(hears(openai({ 'limit-requests': 500 }))).toEqual([60_000, 500]);
    expect(hears(openai({ 'limit-requests': 700 }))).toEqual([60_000, 700]);
  });

  it('leave the headroom to the bucket', () => {
    const { bucket, hears } = scene({ headroom: 0.1 });
    hears(openai({ 'limit-tokens': 20_000 }));
    expect(bucket.capacity).toBe(18_000);
  });

  it.each<[string, RateLimitsRead]>([
    ['nothing is stated', openai({})],
    ['what is stated is no limit', openai({ 'limit-tokens': -1, 'remaining-tokens': -1, 'limit-requests': 0, 'remaining-requests': 0 })],
    ['it counts by the day', readRateLimits({ 'x-groq-region': 'a', 'x-ratelimit-limit-requests': '5', 'x-ratelimit-remaining-requests': '0' })],
    ['it counts by the second', readRateLimits({ 'x-tokenlimit-limit': '5', 'x-tokenlimit-remaining': '0' })],
    ['it is the legacy limit that is based on usage', openai({ 'limit-tokens_usage_based': 5, 'remaining-tokens_usage_based': 0 })],
    ['it is of a pool that is billed apart', readRateLimits({ 'anthropic-organization-id': 'a', 'anthropic-priority-input-tokens-limit': '5' })],
  ])('stay where %s', (_where, read) => {
    const { bucket, hears } = scene();
    expect(hears(read, 0, { budget: 'tokens' })).toEqual([60_000, 60]);
    expect(hears(read, 0, { budget: 'input' })).toEqual([60_000, 60]);
    expect(bucket.tokens()).toBe(60_000);
  });

  it('are those of the project where it is the tighter one', () => {
    const { bucket, hears } = scene();
    const read = openai({ 'limit-tokens': 50_000, 'remaining-tokens': 40_000, 'limit-project-tokens': 30_000, 'remaining-project-tokens': 7_000 });
    expect([hears(read), bucket.tokens()]).toEqual([[30_000, 60], 7_000]);
  });

  it('are of input and output where these have buckets of their own', () => {
    const read = anthropic({ 'requests-limit': 50, 'tokens-limit': 8_000, 'input-tokens-limit': 30_000, 'output-tokens-limit': 8_000 });
    expect(scene().hears(read, 0, { budget: 'input' })).toEqual([30_000, 50]);
    expect(scene().hears(read, 0, { budget: 'output' })).toEqual([8_000, 50]);
    // The tightest of both limits is none of their sum.
    expect(scene().hears(read, 0, { budget: 'tokens' })).toEqual([60_000, 50]);
  });
});

describe('what remains', () => {
  it('is the most that the level may be, and never raises it', () => {
    const { bucket, hears } = scene();
    hears(openai({ 'remaining-tokens': 9_000, 'remaining-requests': 7 }));
    expect(bucket.status()).toMatchObject({ availableTokens: 9_000, availableRequests: 7 });
    hears(openai({ 'remaining-tokens': 50_000, 'remaining-requests': 50 }));
    expect(bucket.status()).toMatchObject({ availableTokens: 9_000, availableRequests: 7 });
  });

  it('is that of the instant at which the request was sent, at the earliest', () => {
    const { clock, bucket, hears } = scene();
    clock.advanceTo(5_000);
    // A server that thinks for long may have counted before it thought.
    hears(openai({ 'remaining-tokens': 9_000 }), 2_000);
    expect(bucket.tokens()).toBe(12_000);
  });

  it('does not count twice what is on its way', () => {
    const { bucket, hears } = scene();
    bucket.tryTake([50_000], [], 0);
    // The provider has seen one call of five yet.
    hears(openai({ 'remaining-tokens': 50_000 }));
    expect(bucket.tokens()).toBe(10_000);
  });

  it('refills all the time: a reset is when it is full again, and nobody waits for that', () => {
    const { clock, bucket, hears } = scene();
    hears(readRateLimits({ 'x-ratelimit-limit-tokens': '60000', 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '1m0s' }));
    expect([bucket.tokens(), bucket.status().closedUntil]).toEqual([0, null]);
    clock.advanceTo(2_000);
    expect(bucket.tokens()).toBe(2_000);
  });

  it('is rounded by the provider, and could be half a step more', () => {
    const { bucket, hears } = scene();
    hears(anthropic({ 'input-tokens-limit': 60_000, 'input-tokens-remaining': 7_000 }), 0, { budget: 'input' });
    expect(bucket.tokens()).toBe(7_500);
  });
});

describe('an answer that comes late', () => {
  it('cannot undo what is known from a call that was sent later', () => {
    const { bucket, hears } = scene();
    expect(hears(openai({ 'limit-tokens': 20_000 }), 100)).toEqual([20_000, 60]);
    expect(hears(openai({ 'limit-tokens': 50_000, 'remaining-tokens': 3 }), 99)).toEqual([20_000, 60]);
    expect(bucket.tokens()).toBe(20_000);
    expect(hears(openai({ 'limit-tokens': 50_000 }), 100)).toEqual([50_000, 60]);
  });

  it('makes nothing old by saying nothing', () => {
    const { hears } = scene();
    hears(openai({}), 100);
    expect(hears(openai({ 'limit-tokens': 20_000 }), 50)).toEqual([20_000, 60]);
  });
});
