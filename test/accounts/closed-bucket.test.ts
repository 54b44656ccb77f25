/** A token bucket that is closed until an instant, and one that hears what its provider has left. */
import * as fc from 'fast-check';
import { TokenBucket, createAdmission, demand, type TokenBucketOptions } from 'rx-admission';
import { accountContract } from 'rx-admission/testing';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../conformance/virtual-clock.js';
import { RecordedLog, Wakes, thrownBy } from './recorded-log.js';

const log = new RecordedLog();
const bucket = (options: Partial<TokenBucketOptions> = {}): TokenBucket => new TokenBucket({ name: 'gpt', tokensPerMinute: 600, log, ...options });
const closedBucket = (until: number, options: Partial<TokenBucketOptions> = {}, at = 0): TokenBucket => {
  const m = bucket(options);
  m.closeUntil(until, at);
  return m;
};

describe('a bucket that is closed', () => {
  for (const { title, run } of accountContract({
    make: () => closedBucket(3_000.5, { requestsPerMinute: 40 }),
    amounts: [0, 10, 200],
    invalid: [-1, NaN],
    less: (gpt, at) => {
      gpt.closeUntil(at + 9_000, at);
      gpt.lowerTo({ tokens: 3 }, at, at);
    },
    more: (gpt) => {
      gpt.setConfig({ tokensPerMinute: 700, requestsPerMinute: 40 });
    },
  })) {
    it(title, run);
  }

  it('takes nothing in until then, however little is asked, and names that instant or a later one', () => {
    const m = closedBucket(1_000.2);
    for (const at of [0, 500, 1_000]) {
      expect([m.fits([0], [], at), m.tryTake([0], [], at), m.room([], at)]).toEqual([false, false, -Infinity]);
    }
    // A whole instant, from where it refills.
    expect([m.earliestFit([0], [], 0), m.earliestFit([10], [], 0), m.earliestFit([600], [], 500)]).toEqual([1_001, 2_001, 61_001]);
    expect([m.fits([0], [], 1_001), m.room([], 1_001)]).toEqual([true, expect.closeTo(0, 6)]);
  });

  it('opens empty, tokens and requests, and refills from then on', () => {
    const m = closedBucket(1_000, { requestsPerMinute: 60 });
    expect([m.tokens(0), m.inUse(0), m.tokens(1_000), m.tokens(2_000)]).toEqual([0, 600, 0, 10]);
    expect([m.earliestFit([1], [], 0), m.earliestFit([1, 1], [], 0)]).toEqual([2_000, 3_000]);
    // Where there is no limit of requests, there is none to be empty.
    expect(closedBucket(1_000).status(1_000).availableRequests).toBe(Infinity);
  });

  it('is extended by a later instant, and not shortened by an earlier one or one that has passed', () => {
    const m = closedBucket(1_000);
    m.closeUntil(3_000, 500);
    m.closeUntil(2_000, 600);
    m.closeUntil(600, 700);
    expect([m.earliestFit([10], [], 700), m.status(700).closedUntil]).toEqual([4_000, 3_000]);
    const open = bucket();
    open.closeUntil(999, 1_000);
    expect([open.tokens(1_000), open.status(1_000).closedUntil]).toEqual([600, null]);
  });

  it('closes anew once it was open, and forgets what had come in', () => {
    const m = closedBucket(1_000);
    m.closeUntil(9_000, 6_000);
    expect([m.tokens(6_000), m.tokens(9_000), m.tokens(10_000)]).toEqual([0, 0, 10]);
  });

  it('lets debts be paid while it is closed, and adds nothing of what is given back', () => {
    const m = bucket();
    m.tryTake([500], [], 0);
    m.adjust(300, 0);
    // 200 are owed, of which 10 s pay 100.
    m.closeUntil(10_000, 0);
    expect(m.tokens(0)).toBe(-100);
    m.adjust(-60, 1_000);
    expect(m.tokens(1_000)).toBe(-40);
    m.give([500], 2_000);
    expect([m.tokens(2_000), m.tokens(11_000)]).toEqual([0, 10]);
  });

  it('keeps its throttle, and refills at its pace', () => {
    const m = bucket();
    m.recordBackpressure(2, 0);
    m.closeUntil(1_000, 0);
    expect(m.earliestFit([10], [], 0)).toBe(3_000);
    m.recordBackpressure(2, 500);
    expect(m.earliestFit([10], [], 500)).toBe(4_000);
  });

  it('opens empty under new limits too, also where there was none of requests', () => {
    const clock = new VirtualClock(0);
    const m = closedBucket(1_000, { scheduler: clock });
    m.setConfig({ tokensPerMinute: 1_200, requestsPerMinute: 60 });
    expect(m.status(1_000)).toMatchObject({ availableTokens: 0, availableRequests: 0 });
    expect(m.earliestFit([20], [], 0)).toBe(2_000);
  });

  it('is blocked for a status, and says for how long', () => {
    const clock = new VirtualClock(500);
    const m = closedBucket(1_500, { requestsPerMinute: 10, scheduler: clock }, 500);
    m.record429();
    expect(m.statusIndicator()).toBe('blocked');
    expect(m.status().summary()).toBe('0/600 tokens, 0/10 requests available, closed for 1000ms more');
    expect(m.status().hasCapacity(0)).toBe(false);
    clock.advanceTo(1_500);
    expect([m.statusIndicator(), m.status().closedUntil]).toEqual(['throttle:1.5x', null]);
  });

  it('wakes nobody by closing, and asks for an instant', () => {
    const m = bucket();
    const wakes = new Wakes(m);
    m.closeUntil(1_000, 0);
    expect(wakes.take()).toBe(0);
    expect(thrownBy(() => { m.closeUntil(NaN, 0); })).toEqual(
      new RangeError('gpt: the instant until which it closes must be an instant of the clock in ms, not NaN'),
    );
  });

  it('lets a line in again at the pace of the refill, by one timer and no poll', () => {
    const clock = new VirtualClock(0);
    let timers = 0;
    const schedule = clock.schedule.bind(clock) as (...call: unknown[]) => unknown;
    Object.assign(clock, { schedule: (...call: unknown[]) => ((timers += 1), schedule(...call)) });
    const admission = createAdmission({ scheduler: clock });
    const m = bucket({ scheduler: clock });
    m.closeUntil(20_000);
    const began: number[] = [];
    for (let n = 0; n < 40; n += 1) admission.defer(demand([m, 100]), () => [began.push(clock.now())]).subscribe();
    expect([admission.queueSize, admission.nextDeadline, timers]).toEqual([40, 30_000, 1]);
    clock.advanceTo(500_000);
    expect(began).toEqual(Array.from({ length: 40 }, (_, n) => 30_000 + n * 10_000));
    expect(timers).toBe(40);
  });

  it('holds up those who name it, and nobody else', () => {
    const clock = new VirtualClock(0);
    const admission = createAdmission({ scheduler: clock });
    const [closed, other] = [bucket({ scheduler: clock }), bucket({ name: 'other' })];
    closed.closeUntil(1_000);
    const begun: string[] = [];
    for (const [name, account] of [['closed', closed], ['other', other]] as const) {
      void admission.defer(demand([account, 10]), () => [begun.push(`${name} at ${clock.now()}`)]).subscribe();
    }
    // What was known of the instant before it was closed for longer is found to be too early, and asked anew.
    closed.closeUntil(5_000);
    clock.advanceTo(10_000);
    expect(begun).toEqual(['other at 0', 'closed at 6000']);
  });
});

describe('the limits of a bucket', () => {
  it('are those that were given, before the headroom', () => {
    const m = bucket({ requestsPerMinute: 10, headroom: 0.5 });
    expect([m.limits, m.capacity]).toEqual([{ tokensPerMinute: 600, requestsPerMinute: 10 }, 300]);
    const given = { tokensPerMinute: 800 };
    m.setConfig(given);
    given.tokensPerMinute = 1;
    expect(m.limits).toEqual({ tokensPerMinute: 800, requestsPerMinute: undefined });
    expect(thrownBy(() => { m.setConfig({ tokensPerMinute: 0 }); })).toBeInstanceOf(RangeError);
    expect(m.limits.tokensPerMinute).toBe(800);
  });
});

describe('lowerTo', () => {
  it('drops what the provider has not, and adds nothing', () => {
    const m = bucket({ requestsPerMinute: 60 });
    const wakes = new Wakes(m);
    m.lowerTo({ tokens: 250, requests: 7 }, 0, 0);
    expect(m.status(0)).toMatchObject({ availableTokens: 250, availableRequests: 7 });
    m.lowerTo({ tokens: 300 }, 0, 0);
    m.lowerTo({ requests: 30 }, 0, 0);
    expect(m.status(0)).toMatchObject({ availableTokens: 250, availableRequests: 7 });
    m.adjust(300, 0);
    m.lowerTo({ tokens: 0 }, 0, 0);
    expect([m.tokens(0), wakes.take()]).toEqual([-50, 0]);
  });

  it('allows for what has come since the provider said so, at the nominal pace', () => {
    const m = bucket({ requestsPerMinute: 60 });
    m.recordBackpressure(2, 0);
    m.lowerTo({ tokens: 250, requests: 5 }, 0, 10_000);
    expect(m.status(10_000)).toMatchObject({ availableTokens: 350, availableRequests: 15 });
    // Nothing is subtracted where it is said to have been so later than now.
    m.lowerTo({ tokens: 100 }, 99_000, 10_000);
    expect(m.tokens(10_000)).toBe(100);
  });

  it('says nothing of what has no limit, and reads its clock where no instant is given', () => {
    const clock = new VirtualClock(1_000);
    const m = bucket({ scheduler: clock });
    m.lowerTo({ tokens: 0, requests: 0 }, 500);
    expect(m.status()).toMatchObject({ availableTokens: 5, availableRequests: Infinity });
  });

  it.each([
    [{ tokens: -1 }, 0, 'gpt: the tokens left must be zero or a positive number, not -1'],
    [{ requests: NaN }, 0, 'gpt: the requests left must be zero or a positive number, not NaN'],
    [{ tokens: 1 }, NaN, 'gpt: the instant of what is left must be an instant of the clock in ms, not NaN'],
  ])('refuses %o as of %s', (left, asOf, message) => {
    expect(thrownBy(() => { bucket().lowerTo(left, asOf, 0); })).toEqual(new RangeError(message));
  });
});

describe('a bucket to which anything happens', () => {
  const tokens = fc.integer({ min: 0, max: 600 });
  const happening = fc.oneof(
    fc.record({ what: fc.constant('take' as const), by: tokens }),
    fc.record({ what: fc.constant('adjust' as const), by: fc.integer({ min: -300, max: 300 }) }),
    fc.record({ what: fc.constant('close' as const), by: fc.integer({ min: 0, max: 360_000 }).map((quarters) => quarters / 4) }),
    fc.record({ what: fc.constant('lower' as const), by: tokens }),
    fc.record({ what: fc.constant('press' as const), by: fc.integer({ min: 0, max: 4 }) }),
    fc.record({ what: fc.constant('limit' as const), by: fc.integer({ min: 600, max: 900 }) }),
    fc.record({ what: fc.constant('wait' as const), by: fc.nat(40_000) }),
  );

  it('fits at just the instant that it names, has the room that it says, and nothing while it is closed', () => {
    fc.assert(
      fc.property(fc.array(happening, { minLength: 1, maxLength: 25 }), tokens, fc.constantFrom(0, 0.25, 1_764_500_000_000), (all, asked, start) => {
        const clock = new VirtualClock(start);
        const m = bucket({ requestsPerMinute: 30, scheduler: clock });
        let closedUntil = -Infinity;
        for (const { what, by } of all) {
          const at = clock.now();
          if (what === 'take') m.tryTake([by], [], at);
          else if (what === 'adjust') m.adjust(by, at);
          else if (what === 'close') {
            m.closeUntil(at + by);
            if (by > 0) closedUntil = Math.max(closedUntil, Math.ceil(at + by));
          } else if (what === 'lower') m.lowerTo({ tokens: by, requests: by }, at - 10);
          else if (what === 'press') m.recordBackpressure(by);
          else if (what === 'limit') m.setConfig({ tokensPerMinute: by, requestsPerMinute: by / 20 });
          else clock.advanceTo(at + by);
          const now = clock.now();
          const room = m.room([], now);
          expect([m.fits([asked], [], now), m.tokens() <= m.capacity]).toEqual([asked <= room, true]);
          if (now < closedUntil) expect([room, m.tokens() <= 0, m.statusIndicator()]).toEqual([-Infinity, true, 'blocked']);
          const instant = m.earliestFit([asked], [], now) ?? NaN;
          expect(instant).toBeGreaterThanOrEqual(Math.max(now, now < closedUntil ? closedUntil : now));
          expect(m.fits([asked], [], instant)).toBe(true);
          if (instant - 1 > now) expect(m.fits([asked], [], instant - 1)).toBe(false);
        }
      }),
      { numRuns: 300 },
    );
  });
});
