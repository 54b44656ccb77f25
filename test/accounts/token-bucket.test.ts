/** The token bucket: two dimensions on the clock, slowed by pressure, corrected afterwards. */
import * as fc from 'fast-check';
import {
  RefusedError,
  TokenBucket,
  UpstreamFailure,
  createAdmission,
  demand,
  type TokenBucketOptions,
} from 'rx-admission';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../conformance/virtual-clock.js';
import { RecordedLog, Wakes, thrownBy } from './recorded-log.js';

const MINUTES = 60_000;
const log = new RecordedLog();
const bucket = (options: Partial<TokenBucketOptions> = {}): TokenBucket =>
  new TokenBucket({ name: 'gpt', tokensPerMinute: 600, log, ...options });
const failure = (weight?: number): UpstreamFailure =>
  new UpstreamFailure({
    status: 429,
    service: 'test-service',
    detail: 'slow down',
    retryAfter: 7,
    ...(weight !== undefined && { weight }),
  });

describe('the options of a TokenBucket', () => {
  it.each([0, -1, NaN, Infinity])('refuses %s tokens per minute', (tokensPerMinute) => {
    expect(thrownBy(() => bucket({ tokensPerMinute }))).toEqual(
      new RangeError(`gpt: tokensPerMinute must be a positive number, not ${tokensPerMinute}`),
    );
  });

  it.each([0, -1, NaN, -Infinity])('refuses %s requests per minute', (requestsPerMinute) => {
    expect(thrownBy(() => bucket({ requestsPerMinute }))).toEqual(
      new RangeError(`gpt: requestsPerMinute must be a positive number, not ${requestsPerMinute}`),
    );
  });

  it.each([-0.1, 1, NaN])('refuses a headroom of %s', (headroom) => {
    expect(thrownBy(() => bucket({ headroom }))).toEqual(
      new RangeError(`gpt: headroom must be a share from 0 to below 1, not ${headroom}`),
    );
  });

  it.each([-1, NaN, Infinity])('refuses an amount of %s tokens where the demand is made', (amount) => {
    expect(thrownBy(() => demand([bucket(), amount]))).toEqual(
      new RangeError(`gpt: an amount of tokens must be zero or a positive number, not ${amount}`),
    );
  });

  it('takes zero and fractions for amounts', () => {
    expect(demand([bucket(), 0, 0.5]).entries[0]?.amounts).toEqual([0, 0.5]);
  });

  it('is named after the model, of category token_bucket, and its capacity is the token budget', () => {
    expect(bucket()).toMatchObject({ name: 'gpt', category: 'token_bucket', capacity: 600, throttle: 0 });
  });

  it('leaves the headroom of both limits unused', () => {
    const m = bucket({ tokensPerMinute: 1_000, requestsPerMinute: 10, headroom: 0.25 });
    expect(m.capacity).toBe(750);
    expect(m.status(0)).toMatchObject({ maxTokens: 750, maxRequests: 7, availableTokens: 750, availableRequests: 7 });
    m.tryTake([750], [], 0);
    expect(m.tokens(MINUTES)).toBe(750);
    expect(m.tokens(MINUTES / 2)).toBe(375);
    m.setConfig({ tokensPerMinute: 2_000, requestsPerMinute: 20 });
    expect(m.status(0)).toMatchObject({ maxTokens: 1_500, maxRequests: 15 });
  });

  it('starts full at the instant it was made, where its clock is known', () => {
    const m = bucket({ scheduler: new VirtualClock(10 * MINUTES) });
    m.tryTake([600], [], 10 * MINUTES);
    expect(m.tokens()).toBe(0);
  });
});

describe('what fits', () => {
  it('needs a request a piece beside the tokens', () => {
    const m = bucket({ requestsPerMinute: 2 });
    expect(m.fits([1, 1], [], 0)).toBe(true);
    expect(m.fits([1], [1, 1], 0)).toBe(false);
    expect(m.tryTake([1, 1], [], 0)).toBe(true);
    expect(m.tryTake([0], [], 0)).toBe(false);
    expect(m.earliestFit([0], [], 0)).toBe(30_000);
  });

  it('needs no requests without a request limit', () => {
    const m = bucket();
    for (let n = 0; n < 500; n += 1) expect(m.tryTake([1], [], 0)).toBe(true);
    expect(m.fits(Array<number>(100).fill(1), [], 0)).toBe(true);
    expect(m.fits(Array<number>(101).fill(1), [], 0)).toBe(false);
    expect(m.earliestFit([100], [100], 0)).toBe(10_000);
    expect(m.status(0)).toMatchObject({ maxRequests: Infinity, availableRequests: Infinity });
  });

  it('bucket-09: refuses more requests than the minute allows, and says that they exceed the budget', () => {
    const two = bucket({ name: 'two', requestsPerMinute: 2 });
    for (const ask of [() => two.fits([1, 1, 1], [], 0), () => two.tryTake([1, 1, 1], [], 0)]) {
      const error = thrownBy(ask);
      expect(error).toBeInstanceOf(RefusedError);
      expect(error.message).toBe('two: 3 requests exceed the budget of 2 requests per minute; ask for fewer at once');
      expect(error).toMatchObject({ account: 'two', readable: true });
    }
  });

  it('refuses more tokens than the budget, and says so', () => {
    const error = thrownBy(() => bucket().fits([400, 201], [], 0));
    expect(error).toBeInstanceOf(RefusedError);
    expect(error.message).toBe('gpt: 601 tokens exceed the budget of 600 tokens per minute; send less at once');
  });

  it('answers a clash with the reservation with a plain no, and no instant where it can never be', () => {
    expect(bucket().fits([300], [301], 0)).toBe(false);
    expect(bucket().earliestFit([300], [301], 0)).toBeNull();
    expect(bucket({ requestsPerMinute: 2 }).earliestFit([1], [1, 1], 0)).toBeNull();
  });

  it('notices a cap that was lowered between the check and the take', () => {
    const m = bucket();
    expect(m.fits([500], [], 0)).toBe(true);
    m.setConfig({ tokensPerMinute: 400 });
    expect(() => m.tryTake([500], [], 0)).toThrow(RefusedError);
    expect(m.tokens(0)).toBe(400);
  });

  it('account-12: what is not short fits now', () => {
    expect(bucket({ tokensPerMinute: 1_000, requestsPerMinute: 600 }).earliestFit([500], [], 77)).toBe(77);
  });

  it('fits at the instant it reports, and takes there without a debt, at any rate, throttle and time (W8)', () => {
    const tenths = fc.integer({ min: 0, max: 90 });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5_000_000 }),
        fc.integer({ min: 1, max: 10_000 }),
        tenths,
        fc.array(fc.record({ share: fc.double({ min: 0.001, max: 1, noNaN: true }), idle: fc.nat(20_000) }), {
          minLength: 1,
          maxLength: 12,
        }),
        fc.constantFrom(0, 0.123_456_789, 1_764_500_000_000),
        (tokensPerMinute, requestsPerMinute, increments, takes, start) => {
          const m = bucket({ tokensPerMinute, requestsPerMinute });
          let at: number = start;
          m.tryTake([tokensPerMinute], [], at);
          m.recordBackpressure(increments / 5, at);
          for (const { share, idle } of takes) {
            at += idle;
            const amount = tokensPerMinute * share;
            const instant = m.earliestFit([amount], [], at);
            if (instant === null || instant < at) throw new Error(`it reports ${String(instant)} at ${at}`);
            if (instant > at && m.fits([amount], [], at)) throw new Error('it fits before');
            if (!m.tryTake([amount], [], instant)) throw new Error(`it does not fit at ${instant}`);
            at = instant;
            if (m.tokens(at) < 0) throw new Error('a take left a debt');
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

describe('the room of a bucket', () => {
  it('is the tokens beside the reservation, and none where the requests are spent', () => {
    const m = bucket({ requestsPerMinute: 3 });
    expect(m.room([], 0)).toBeCloseTo(600, 6);
    expect(m.room([100, 50], 0)).toBeCloseTo(450, 6);
    expect(m.room([1, 1, 1], 0)).toBe(-Infinity);
    m.tryTake([1, 1, 1], [], 0);
    expect(m.room([], 0)).toBe(-Infinity);
    expect(m.room([], 20_000)).toBeGreaterThan(597);
  });

  it('is refused where a minute allows not even one request', () => {
    expect(() => bucket({ requestsPerMinute: 0.5 }).room([], 0)).toThrow(RefusedError);
  });
});

describe('what comes back', () => {
  it('gives tokens and requests back at once, never above either cap, and wakes the line', () => {
    const m = bucket({ requestsPerMinute: 10 });
    const wakes = new Wakes(m);
    m.tryTake([100, 100], [], 0);
    expect(m.status(0)).toMatchObject({ availableTokens: 400, availableRequests: 8 });
    expect(wakes.take()).toBe(0);
    m.give([100, 100], 0);
    expect(m.status(0)).toMatchObject({ availableTokens: 600, availableRequests: 10 });
    m.give([100], 0);
    expect(m.status(0)).toMatchObject({ availableTokens: 600, availableRequests: 10 });
    expect(wakes.take()).toBe(2);
  });

  it('counts as in use what is missing, floored, and reads its status from the clock at that instant', () => {
    const clock = new VirtualClock(0);
    const m = bucket({ scheduler: clock });
    m.tryTake([600], [], 0);
    clock.advanceTo(149);
    expect(m.tokens()).toBeCloseTo(1.49, 12);
    expect(m.inUse()).toBe(598);
    expect(m.status()).toMatchObject({ instant: 149, availableTokens: 1, maxTokens: 600 });
  });

  it('refills over months to the cap and no further, and over a microsecond by a hair', () => {
    const m = bucket();
    m.tryTake([600], [], 0);
    expect(m.tokens(0.001)).toBeCloseTo(0.000_01, 12);
    expect(m.tokens(90 * 24 * 60 * MINUTES)).toBe(600);
  });
});

describe('what was really used', () => {
  it('may leave a debt, which takes never do, and the clock pays it', () => {
    const m = bucket();
    m.tryTake([500], [], 0);
    m.adjust(300, 0);
    expect(m.tokens(0)).toBe(-200);
    expect(m.inUse(0)).toBe(800);
    expect(m.tryTake([0], [], 0)).toBe(false);
    expect(m.earliestFit([100], [], 0)).toBe(30_000);
    expect(m.status(0).availableTokens).toBe(-200);
  });

  it('keeps a debt of requests apart: a take on a debt of tokens is refused, a give pays it back', () => {
    const m = bucket();
    m.tryTake([500], [], 0);
    m.adjust(300, 0);
    m.give([500], 0);
    expect(m.tokens(0)).toBe(300);
  });

  it('wakes the line when less was used, and not when more was', () => {
    const m = bucket();
    const wakes = new Wakes(m);
    m.tryTake([500], [], 0);
    m.adjust(50, 0);
    expect(wakes.take()).toBe(0);
    m.adjust(-100, 0);
    expect([m.tokens(0), wakes.take()]).toEqual([150, 1]);
    m.adjust(-9_000, 0);
    expect(m.tokens(0)).toBe(600);
  });

  it('moves the debit of a grant by charge, and a rollback undoes the correction too', async () => {
    const clock = new VirtualClock(0);
    const admission = createAdmission({ scheduler: clock });
    const m = bucket({ scheduler: clock });
    const grant = await admission.acquire(demand([m, 200, 100]));
    grant.charge(m, 700);
    expect(m.tokens()).toBe(-100);
    grant.charge(m, 250);
    expect(m.tokens()).toBe(350);
    grant.rollback();
    expect(m.tokens()).toBe(600);
    expect(() => {
      grant.charge(m, -1);
    }).toThrow(new RangeError('gpt: the amount really used must be zero or a positive number, not -1'));
  });
});

describe('pressure', () => {
  it('adds a half for a 429, n halves for backpressure of n, nothing above 9', () => {
    const m = bucket();
    m.record429(0);
    expect([m.throttle, m.statusIndicator()]).toEqual([0.5, 'throttle:1.5x']);
    m.recordBackpressure(3, 0);
    expect(m.throttle).toBe(2);
    m.recordBackpressure(400, 0);
    expect([m.throttle, m.statusIndicator()]).toEqual([9, 'throttle:10.0x']);
  });

  it('slows the refill of both dimensions from then on, at the old pace until then', () => {
    const m = bucket({ requestsPerMinute: 60 });
    m.tryTake(Array<number>(60).fill(10), [], 0);
    m.recordBackpressure(2, 1_000);
    expect(m.tokens(1_000)).toBeCloseTo(10, 12);
    expect(m.tokens(3_000)).toBeCloseTo(20, 12);
    expect(m.status(3_000).availableRequests).toBe(2);
    expect(m.earliestFit([30], [], 3_000)).toBe(5_000);
  });

  it('wakes nobody when it tightens, however often', () => {
    const m = bucket();
    const wakes = new Wakes(m);
    m.record429(0);
    m.recordBackpressure(5, 0);
    m.onRateLimitError(failure(), 0);
    expect(wakes.take()).toBe(0);
  });

  it.each([-1, NaN, Infinity])('refuses %s increments', (increments) => {
    expect(() => {
      bucket().recordBackpressure(increments, 0);
    }).toThrow(new RangeError(`gpt: increments must be zero or a positive number, not ${increments}`));
  });

  it('is none at a weight of zero: neither slower nor less quiet', () => {
    const m = bucket();
    m.recordBackpressure(2, 0);
    m.recordBackpressure(0, 200_000);
    m.onRateLimitError(failure(0), 250_000);
    m.onSuccess(300_000);
    expect(m.throttle).toBe(0.5);
  });

  it('bucket-15: an upstream error is one line at warn with its summary, and counts as one 429', () => {
    const lines = new RecordedLog();
    const m = bucket({ name: 'test-model', log: lines });
    m.onRateLimitError(
      new UpstreamFailure({ status: 429, service: 'test-service', detail: 'HTTP 429: slow down', retryAfter: 7 }),
      0,
    );
    expect(lines.lines).toEqual([
      'warn: test-model: upstream failure: HTTP 429 from test-service: HTTP 429: slow down, retry after 7s',
    ]);
    expect(m.throttle).toBe(0.5);
  });

  it('weighs an upstream error by its weight', () => {
    const m = bucket();
    m.onRateLimitError(failure(3), 0);
    expect(m.throttle).toBe(1.5);
  });
});

describe('success', () => {
  it('takes 0.2 off at every third, and wakes the line just then', () => {
    const m = bucket();
    const wakes = new Wakes(m);
    m.recordBackpressure(2, 0);
    const seen = [1, 2, 3, 4, 5, 6].map((at) => {
      m.onSuccess(at);
      return [m.throttle, wakes.take()];
    });
    expect(seen).toEqual([
      [1, 0],
      [1, 0],
      [0.8, 1],
      [0.8, 0],
      [0.8, 0],
      [0.6, 1],
    ]);
  });

  it('takes 0.5 off each, once five minutes were quiet', () => {
    const m = bucket();
    m.recordBackpressure(2, 0);
    m.onSuccess(299_999);
    expect(m.throttle).toBe(1);
    m.onSuccess(300_000);
    m.onSuccess(300_001);
    expect(m.throttle).toBe(0);
  });

  it('is a no-op on a healthy bucket', () => {
    const m = bucket();
    const wakes = new Wakes(m);
    for (let at = 0; at < 9; at += 1) m.onSuccess(at);
    m.recordBackpressure(2, 10);
    m.onSuccess(11);
    expect([m.throttle, wakes.take()]).toEqual([1, 0]);
  });
});

describe('setConfig', () => {
  it('keeps the throttle, adds nothing to the level, and wakes the line when a limit grows', () => {
    const clock = new VirtualClock(0);
    const m = bucket({ requestsPerMinute: 10, scheduler: clock });
    m.tryTake([600], [], 0);
    m.record429();
    const wakes = new Wakes(m);
    m.setConfig({ tokensPerMinute: 1_200, requestsPerMinute: 10 });
    expect([m.throttle, m.tokens(), m.capacity, wakes.take()]).toEqual([0.5, 0, 1_200, 1]);
    clock.advanceTo(1_500);
    expect(m.tokens()).toBeCloseTo(20, 12);
  });

  it('clamps the levels down when both limits shrink, and wakes nobody', () => {
    const m = bucket({ requestsPerMinute: 10 });
    const wakes = new Wakes(m);
    m.setConfig({ tokensPerMinute: 200, requestsPerMinute: 4 });
    expect(m.status(0)).toMatchObject({ availableTokens: 200, maxTokens: 200, availableRequests: 4, maxRequests: 4 });
    expect(wakes.take()).toBe(0);
  });

  it('wakes when either grows though the other shrinks', () => {
    const m = bucket({ requestsPerMinute: 10 });
    const wakes = new Wakes(m);
    m.setConfig({ tokensPerMinute: 500, requestsPerMinute: 11 });
    m.setConfig({ tokensPerMinute: 501, requestsPerMinute: 10 });
    expect(wakes.take()).toBe(2);
  });

  it('is silent and does nothing when the pair is unchanged', () => {
    const m = bucket({ requestsPerMinute: 10 });
    m.tryTake([100], [], 500);
    const wakes = new Wakes(m);
    m.setConfig({ tokensPerMinute: 600, requestsPerMinute: 10 });
    expect([m.tokens(500), wakes.take()]).toEqual([500, 0]);
  });

  it('drops the limit of requests, and sets one where there was none', () => {
    const m = bucket({ requestsPerMinute: 2 });
    const wakes = new Wakes(m);
    m.setConfig({ tokensPerMinute: 600 });
    expect([m.fits([1, 1, 1], [], 0), wakes.take()]).toEqual([true, 1]);
    expect(m.status(0)).toMatchObject({ maxRequests: Infinity, availableRequests: Infinity });
    m.setConfig({ tokensPerMinute: 600, requestsPerMinute: 5 });
    expect(m.status(0)).toMatchObject({ maxRequests: 5, availableRequests: 5 });
    expect(wakes.take()).toBe(0);
  });

  it('refuses what is no limit, and keeps those it has', () => {
    const m = bucket();
    expect(() => {
      m.setConfig({ tokensPerMinute: -5 });
    }).toThrow(new RangeError('gpt: tokensPerMinute must be a positive number, not -5'));
    expect(m.capacity).toBe(600);
  });
});
