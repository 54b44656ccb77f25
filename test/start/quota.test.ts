/** The provider's quota of the demonstration, at instants of the test's own. */
import { describe, expect, it } from 'vitest';
import { Bucket, Quota, goDuration, reservationOf } from '../../examples/provider/quota.js';

const limits = { requestsPerMinute: 60, tokensPerMinute: 6_000, concurrency: 2 };

describe('Bucket', () => {
  it('starts full and refills continuously, never above a minute’s worth', () => {
    const bucket = new Bucket(6_000);
    expect(bucket.take(6_000, 0)).toBe(true);
    expect(bucket.level(5)).toBe(0.5);
    expect(bucket.level(30_000)).toBe(3_000);
    expect(bucket.level(3_600_000)).toBe(6_000);
  });

  it('takes the whole amount or nothing', () => {
    const bucket = new Bucket(6_000);
    bucket.take(5_000, 0);
    expect(bucket.take(1_001, 0)).toBe(false);
    expect(bucket.take(1_000, 0)).toBe(true);
  });

  it('names the time until an amount fits and until it is full', () => {
    const bucket = new Bucket(6_000);
    bucket.take(6_000, 0);
    expect(bucket.msUntil(0, 100)).toBe(1_000);
    expect(bucket.msUntil(0)).toBe(60_000);
    expect(bucket.msUntil(60_000)).toBe(0);
  });
});

describe('Quota', () => {
  it('refuses the call for which no place is free, and lets the next in after one has left', () => {
    const quota = new Quota(limits);
    expect(quota.arrive(1, 0)).toBeNull();
    expect(quota.arrive(1, 0)).toBeNull();
    expect(quota.arrive(1, 0)).toMatchObject({
      reason: 'concurrency',
      message: 'Rate limit reached on concurrent requests: Limit 2, Running 2. Please try again in 1s.',
    });
    quota.leave();
    expect(quota.arrive(1, 0)).toBeNull();
    expect(quota.peak).toBe(2);
  });

  it('sets the tokens aside on arrival, and says when the missing ones will be there', () => {
    const quota = new Quota(limits);
    quota.arrive(5_500, 0);
    quota.leave();
    expect(quota.arrive(700, 0)).toEqual({
      reason: 'tokens',
      message:
        'Rate limit reached on tokens per min (TPM): Limit 6000, Used 5500, Requested 700. Please try again in 2s.',
      retryAfterMs: 2_000,
    });
    expect(quota.arrive(700, 1_999)?.reason).toBe('tokens');
    expect(quota.arrive(700, 2_000)).toBeNull();
  });

  it('enforces the second where it is told to, and says so in no header', () => {
    const quota = new Quota({ ...limits, concurrency: 9, requestsPerSecond: 2 });
    const refused = [0, 0, 0, 250, 500, 500].map((at) => quota.arrive(1, at)?.message ?? null);
    const message = (wait: string): string => `Rate limit reached on requests. Please try again in ${wait}.`;
    expect(refused).toEqual([null, null, message('500ms'), message('250ms'), null, message('500ms')]);
    expect(quota.headers(500)['x-ratelimit-limit-requests']).toBe('60');
  });

  it('counts unsuccessful requests too', () => {
    const quota = new Quota({ ...limits, requestsPerMinute: 3 });
    quota.arrive(1, 0);
    quota.arrive(1, 0);
    expect(quota.arrive(1, 0)?.reason).toBe('concurrency');
    quota.leave();
    expect(quota.arrive(1, 0)).toMatchObject({ reason: 'requests', retryAfterMs: 20_000 });
    expect(quota.arrive(1, 20_000)).toBeNull();
  });

  it('refuses for good what no minute could hold', () => {
    expect(new Quota(limits).arrive(6_001, 0)).toEqual({
      reason: 'tokens',
      message: 'Request too large on tokens per min (TPM): Limit 6000, Requested 6001.',
      retryAfterMs: null,
    });
  });

  it('reports limit, remaining and the time until full in OpenAI’s headers', () => {
    const quota = new Quota(limits);
    quota.arrive(4_500, 0);
    expect(quota.headers(0)).toEqual({
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-remaining-requests': '59',
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-limit-tokens': '6000',
      'x-ratelimit-remaining-tokens': '1500',
      'x-ratelimit-reset-tokens': '45s',
    });
    expect(quota.headers(44_980)['x-ratelimit-reset-tokens']).toBe('20ms');
  });

  it('logs what it let in and what it refused, with tokens and instants', () => {
    const quota = new Quota(limits);
    quota.arrive(6_000, 10);
    quota.arrive(1_000, 20);
    expect(quota.log).toEqual([
      { at: 10, tokens: 6_000, refused: null },
      { at: 20, tokens: 1_000, refused: 'tokens' },
    ]);
  });
});

describe('reservationOf', () => {
  it('counts a quarter of a token per byte of the messages and the whole answer', () => {
    const messages = [{ role: 'user', content: 'häh' }];
    expect(Buffer.byteLength(JSON.stringify(messages))).toBe(34);
    expect(reservationOf({ messages, max_completion_tokens: 100 })).toBe(109);
    expect(reservationOf({ messages, max_tokens: 50 })).toBe(59);
    expect(reservationOf({ messages })).toBe(9);
  });
});

describe('goDuration', () => {
  it.each([
    [0, '0s'],
    [0.2, '1ms'],
    [20, '20ms'],
    [1_000, '1s'],
    [1_500, '1.5s'],
    [360_000, '6m0s'],
    [977_764, '16m17.764s'],
    [3_600_000, '1h0m0s'],
  ])('writes %d ms as %s', (ms, text) => {
    expect(goDuration(ms)).toBe(text);
  });
});
