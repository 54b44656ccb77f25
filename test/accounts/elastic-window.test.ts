/** The elastic window: stamps on the clock, a width that stretches under pressure, a circuit. */
import * as fc from 'fast-check';
import {
  ElasticWindow,
  RefusedError,
  UpstreamFailure,
  createAdmission,
  demand,
  type ElasticWindowOptions,
} from 'rx-admission';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../conformance/virtual-clock.js';
import { RecordedLog, Wakes, thrownBy } from './recorded-log.js';

const log = new RecordedLog();
const window = (options: Partial<ElasticWindowOptions> = {}): ElasticWindow =>
  new ElasticWindow({ name: 'svc', maxRequests: 10, baseWindow: 1_000, log, ...options });
const pressed = (svc: ElasticWindow, times: number, at = 0): ElasticWindow => {
  for (let n = 0; n < times; n += 1) svc.recordPressure(at);
  return svc;
};
/** Open from 0 to 10,000. */
const blocked = (options: Partial<ElasticWindowOptions> = {}): ElasticWindow =>
  pressed(window({ initialCooldown: 10_000, maxCooldown: 60_000, ...options }), 12);
const failure = (weight = 1): UpstreamFailure =>
  new UpstreamFailure({ status: 503, service: 'search', detail: 'overloaded', weight });

describe('a fresh window', () => {
  it('is HEALTHY at throttle 0, with all of its slots and its base width', () => {
    const svc = window();
    expect(svc).toMatchObject({ throttle: 0, circuit: 'HEALTHY', effectiveWindowMs: 1_000, capacity: 10, name: 'svc' });
    expect([svc.inUse(), svc.cooldownRemainingMs(), svc.statusIndicator()]).toEqual([0, 0, null]);
    expect(svc.status()).toMatchObject({ maxRequests: 10, availablePermits: 10, circuit: 'HEALTHY' });
  });

  it('takes whole requests only', () => {
    expect(() => demand([window(), 0.5])).toThrow(
      new RangeError('svc: an amount of requests must be a positive whole number, not 0.5'),
    );
  });

  it('needs a place in the HTTP pool', () => {
    expect(window().requiresHttpConnection).toBe(true);
  });

  it('drops a RateLimiter suffix from the class name where it is given none', () => {
    class SearchRateLimiter extends ElasticWindow {}
    class RateLimiter extends ElasticWindow {}
    const options = { maxRequests: 1, baseWindow: 1 };
    expect(new SearchRateLimiter(options).name).toBe('Search');
    expect(new RateLimiter(options).name).toBe('RateLimiter');
    expect(new ElasticWindow(options).name).toBe('ElasticWindow');
    expect(new SearchRateLimiter({ ...options, name: 'x' }).name).toBe('x');
  });

  it('leaves the headroom of its requests unused', () => {
    expect(window({ headroom: 0.25 }).capacity).toBe(7);
    expect(window({ maxRequests: 1, headroom: 0.9 }).capacity).toBe(1);
  });
});

describe('the stamps', () => {
  it('hold a slot for exactly the width, then it is free', () => {
    const svc = window({ maxRequests: 2 });
    svc.tryTake([2], [], 500);
    expect(svc.fits([1], [], 1_499)).toBe(false);
    expect(svc.inUse(1_500)).toBe(0);
    expect(svc.fits([2], [], 1_500)).toBe(true);
  });

  it('name the instant at which the k-th oldest leaves, k being what is short', () => {
    const svc = window({ maxRequests: 3 });
    for (const at of [0, 100, 200]) svc.tryTake([1], [], at);
    expect([1, 2, 3].map((slots) => svc.earliestFit([slots], [], 300))).toEqual([1_000, 1_100, 1_200]);
    expect(svc.earliestFit([1], [1], 300)).toBe(1_100);
    expect(svc.earliestFit([2], [2], 300)).toBeNull();
    expect(svc.earliestFit([1], [], 1_000)).toBe(1_000);
  });

  it('give the newest back, so that the oldest, which every deadline reads, stay', () => {
    const svc = window({ maxRequests: 3 });
    for (const at of [0, 100, 200]) svc.tryTake([1], [], at);
    svc.give([1], 300);
    expect(svc.inUse(300)).toBe(2);
    expect(svc.earliestFit([2], [], 300)).toBe(1_000);
  });

  it('window-29: 200 status reads drop no live stamp', () => {
    const svc = window({ maxRequests: 20, baseWindow: 500 });
    for (let n = 0; n < 20; n += 1) svc.tryTake([1], [], 0);
    for (let n = 0; n < 200; n += 1) svc.status(600 + n);
    expect([0, 499, 500, 600].map((at) => svc.status(at).availablePermits)).toEqual([0, 0, 20, 20]);
  });

  it('that have left stay left when the window widens, looked at or not', () => {
    const svc = window({ maxRequests: 1 });
    svc.tryTake([1], [], 0);
    svc.recordPressure(1_000);
    expect(svc.effectiveWindowMs).toBe(2_000);
    expect(svc.inUse(1_001)).toBe(0);
  });

  it('that a narrower window no longer reaches leave at once', () => {
    const svc = pressed(window({ maxRequests: 1, recoveryInterval: 100 }), 1);
    svc.tryTake([1], [], 0);
    expect(svc.earliestFit([1], [], 1_500)).toBe(2_000);
    svc.onSuccess(1_500);
    expect(svc.effectiveWindowMs).toBe(1_500);
    expect(svc.fits([1], [], 1_500)).toBe(true);
    svc.recordPressure(1_501);
    expect(svc.inUse(1_501)).toBe(0);
  });

  it('refuse more than a window holds, naming the numbers and the remedy', () => {
    for (const ask of [
      (svc: ElasticWindow) => svc.fits([11], [], 0),
      (svc: ElasticWindow) => svc.tryTake([6, 5], [], 0),
    ]) {
      const error = thrownBy(() => ask(window()));
      expect(error).toBeInstanceOf(RefusedError);
      expect(error.message).toBe('svc: 11 requests can never fit a window of 10; ask for fewer at once');
    }
    expect(window().fits([10], [1], 0)).toBe(false);
  });

  it('never count more than the window holds, whatever is taken, given back, pressed and relaxed', () => {
    const verb = fc.constantFrom('take', 'give', 'press', 'advise', 'success', 'status');
    fc.assert(
      fc.property(fc.array(fc.tuple(verb, fc.nat(700)), { maxLength: 80 }), (steps) => {
        const svc = window({
          maxRequests: 4,
          initialCooldown: 500,
          maxCooldown: 2_000,
          probeTimeout: 800,
          maxThrottle: 3,
        });
        const receipts: object[] = [];
        let at = 0;
        for (const [what, wait] of steps) {
          at += wait;
          const receipt = {};
          switch (what) {
            case 'take':
              try {
                if (svc.tryTake([1], [], at, receipt)) receipts.push(receipt);
              } catch (error) {
                if (!(error instanceof RefusedError)) throw error;
              }
              break;
            case 'give':
              svc.give([1], at, receipts.pop());
              break;
            case 'press':
              svc.recordPressure(at);
              break;
            case 'advise':
              svc.recordAdvisory(at);
              break;
            case 'success':
              svc.onSuccess(at);
              break;
            case 'status':
              svc.status(at);
          }
          const { availablePermits, throttle } = svc.status(at);
          if (availablePermits < 0 || svc.inUse(at) > 4 || throttle < 0 || throttle > 3)
            throw new Error(svc.status(at).summary());
          if (svc.circuit !== 'BLOCKED' && svc.cooldownRemainingMs(at) !== 0)
            throw new Error('a cooldown without a block');
        }
      }),
    );
  });
});

describe('the throttle', () => {
  it('rises by one a signal, up to 9, and the width with it', () => {
    const svc = window({ failuresAtMaxToBlock: 1_000 });
    expect([pressed(svc, 1).throttle, svc.effectiveWindowMs, svc.statusIndicator()]).toEqual([
      1,
      2_000,
      'throttle:2.0x',
    ]);
    expect([pressed(svc, 20).throttle, svc.effectiveWindowMs]).toEqual([9, 10_000]);
  });

  it('falls by 0.2 at every third success, by 0.5 at each after five quiet minutes, and wakes just then', () => {
    const svc = pressed(window(), 2);
    const wakes = new Wakes(svc);
    for (const at of [1, 2]) svc.onSuccess(at);
    expect([svc.throttle, wakes.take()]).toEqual([2, 0]);
    svc.onSuccess(3);
    expect([svc.throttle, wakes.take()]).toEqual([1.8, 1]);
    svc.onSuccess(300_000);
    expect([svc.throttle, wakes.take()]).toEqual([1.3, 1]);
    for (const at of [300_001, 300_002, 300_003, 300_004]) svc.onSuccess(at);
    expect([svc.throttle, wakes.take()]).toEqual([0, 3]);
  });

  it('tightens without waking anybody', () => {
    const svc = window();
    const wakes = new Wakes(svc);
    pressed(svc, 5);
    svc.recordAdvisory(0);
    svc.onRateLimitError(failure(), 0);
    expect(wakes.take()).toBe(0);
  });

  it('follows the steps it is given', () => {
    const svc = window({
      throttleIncrement: 2,
      throttleDecrement: 0.5,
      recoveryMultiplier: 3,
      recoveryInterval: 50,
      maxThrottle: 3,
      successesPerDecrease: 2,
    });
    expect(pressed(svc, 1).throttle).toBe(2);
    expect(pressed(svc, 1).throttle).toBe(3);
    svc.onSuccess(1);
    svc.onSuccess(2);
    expect(svc.throttle).toBe(2.5);
    svc.onSuccess(50);
    expect(svc.throttle).toBe(1);
  });
});

describe('the circuit', () => {
  it('opens by default at the 11th failure in a row, and says so once, with the last answer of the upstream', () => {
    const lines = new RecordedLog();
    const svc = window({ log: lines });
    for (let n = 0; n < 10; n += 1) svc.onRateLimitError(failure(), 0);
    expect(svc.circuit).toBe('HEALTHY');
    for (let n = 0; n < 9; n += 1) svc.onRateLimitError(failure(), 0);
    expect([svc.circuit, svc.statusIndicator(), svc.cooldownRemainingMs(0)]).toEqual(['BLOCKED', 'blocked', 30_000]);
    expect(lines.lines).toEqual([
      'warn: svc: circuit open for 30000ms: last response HTTP 503 from search: overloaded',
    ]);
  });

  it('says in whole ms how long, and that nothing was recorded where nothing was', () => {
    const lines = new RecordedLog();
    pressed(window({ log: lines, initialCooldown: 1_000 / 3 }), 11);
    expect(lines.lines).toEqual(['warn: svc: circuit open for 333ms: no upstream response was recorded']);
  });

  it('does not open at advice, however much of it', () => {
    const svc = window();
    for (let n = 0; n < 50; n += 1) svc.recordAdvisory(0);
    expect([svc.circuit, svc.throttle]).toEqual(['HEALTHY', 9]);
  });

  it('counts a failure of weight three as one, which stretches three times; one without weight not at all', () => {
    const svc = window({ maxThrottle: 3, failuresAtMaxToBlock: 2 });
    svc.onRateLimitError(failure(0), 0);
    expect(svc.throttle).toBe(0);
    svc.onRateLimitError(failure(3), 0);
    expect([svc.throttle, svc.circuit]).toEqual([3, 'HEALTHY']);
    svc.onRateLimitError(failure(3), 0);
    expect(svc.circuit).toBe('BLOCKED');
  });

  it('window-13: its refusal names the window, its rate, the cooldown and its floored seconds, and the last answer', () => {
    const svc = window({ initialCooldown: 10_000, maxCooldown: 60_000 });
    svc.onRateLimitError(failure(), 0);
    pressed(svc, 11);
    const error = thrownBy(() => svc.fits([1], [], 1));
    expect(error).toBeInstanceOf(RefusedError);
    expect(error.message).toBe(
      'svc (10 requests / 1s) takes no requests: a cooldown is active for 9s more; last response HTTP 503 from search: ' +
        'overloaded. Do not repeat the call: use another approach.',
    );
    expect(error).toMatchObject({ account: 'svc', retryAt: 10_000, reason: 'circuit_blocked', readable: true });
    expect(thrownBy(() => svc.tryTake([1], [], 9_999)).message).toContain('active for 0s more');
    expect(svc.fits([1], [], 10_000)).toBe(true);
    expect(svc.statusIndicator()).toBe('blocked');
  });

  it('lets the head claim the one probe after the cooldown, and turns away who stands behind', () => {
    const svc = blocked();
    const error = thrownBy(() => svc.fits([1], [1], 10_000));
    expect(error.message).toBe(
      'svc (10 requests / 1s) takes no requests: circuit half-open, a single probe in flight decides whether it recovers; ' +
        'no upstream response was recorded. Do not repeat the call: use another approach.',
    );
    expect((error as RefusedError).retryAt).toBeUndefined();
    expect(svc.tryTake([1], [], 10_000, {})).toBe(true);
    expect([svc.circuit, svc.statusIndicator(), svc.cooldownRemainingMs(10_000)]).toEqual(['PROBING', 'probing', 0]);
    expect(() => svc.fits([1], [], 10_001)).toThrow('circuit half-open');
  });

  it('closes at a success and wakes the line, whatever the throttle does', () => {
    const svc = blocked();
    svc.tryTake([1], [], 10_000, {});
    const wakes = new Wakes(svc);
    svc.onSuccess(10_001);
    expect([svc.circuit, svc.throttle, wakes.take()]).toEqual(['HEALTHY', 9, 1]);
  });

  it('re-opens at a failure of the probe for twice as long, up to the cap, and logs it again', () => {
    const lines = new RecordedLog();
    const svc = blocked({ log: lines, maxCooldown: 15_000 });
    svc.tryTake([1], [], 10_000, {});
    svc.recordPressure(10_001);
    expect([svc.circuit, svc.cooldownRemainingMs(10_001)]).toEqual(['BLOCKED', 15_000]);
    expect(lines.lines).toHaveLength(2);
  });

  it('goes back to the old cooldown when the probe is given back, and only by its own receipt', () => {
    const svc = blocked({ maxRequests: 3 });
    const [probe, other] = [{}, {}];
    svc.tryTake([2], [], 10_000, probe);
    svc.give([1], 10_001, other);
    expect([svc.circuit, svc.inUse(10_001)]).toEqual(['PROBING', 2]);
    svc.give([2], 10_002, probe);
    expect([svc.circuit, svc.inUse(10_002), svc.cooldownRemainingMs(10_002)]).toEqual(['BLOCKED', 0, 0]);
    expect(svc.fits([1], [], 10_002)).toBe(true);
  });

  it('takes a give without a receipt for the probe’s own', () => {
    const svc = blocked();
    svc.tryTake([1], [], 10_000, {});
    svc.give([1], 10_001);
    expect(svc.circuit).toBe('BLOCKED');
  });

  it('gives a silent probe up at its timeout, by default the greatest cooldown', () => {
    const svc = blocked();
    svc.tryTake([1], [], 10_000, {});
    expect(() => svc.fits([1], [], 69_999)).toThrow(RefusedError);
    svc.inUse(70_000);
    expect(svc.circuit).toBe('PROBING');
    expect(svc.fits([1], [], 70_000)).toBe(true);
    expect(svc.circuit).toBe('BLOCKED');
  });

  it('does not delay the answer of the stamps: nobody waits for a circuit', () => {
    expect(blocked().earliestFit([1], [], 77)).toBe(77);
  });
});

describe('its clock', () => {
  it('is one for stamps, cooldown and recovery, and serves the verbs that name no instant', () => {
    const clock = new VirtualClock(0);
    const svc = window({
      scheduler: clock,
      maxRequests: 1,
      maxThrottle: 0,
      failuresAtMaxToBlock: 1,
      initialCooldown: 500,
    });
    svc.tryTake([1], [], 0);
    clock.advanceTo(400);
    svc.recordPressure();
    expect([svc.cooldownRemainingMs(), svc.inUse()]).toEqual([500, 1]);
    clock.advanceTo(1_000);
    expect([svc.cooldownRemainingMs(), svc.inUse(), svc.status().availablePermits]).toEqual([0, 0, 1]);
    svc.recordAdvisory();
    svc.onSuccess();
    svc.onRateLimitError(failure());
    expect(svc.throttle).toBe(0);
  });

  it('is the latest instant anyone named, before an admission binds one', () => {
    const svc = window();
    svc.tryTake([1], [], 5_000);
    expect(svc.inUse()).toBe(1);
    svc.fits([1], [], 6_000);
    expect(svc.inUse()).toBe(0);
    const shut = pressed(window({ initialCooldown: 500 }), 11, 6_000);
    expect(() => shut.fits([1], [], 6_200)).toThrow(RefusedError);
    expect(() => shut.fits([1], [], 6_100)).toThrow(RefusedError);
    expect(shut.cooldownRemainingMs()).toBe(300);
  });

  it('is the admission’s once one names it', () => {
    const clock = new VirtualClock(77);
    const svc = window();
    createAdmission({ scheduler: clock }).tryAcquire(demand(svc));
    clock.advanceTo(1_076);
    expect(svc.inUse()).toBe(1);
    clock.advanceTo(1_077);
    expect(svc.inUse()).toBe(0);
  });
});
