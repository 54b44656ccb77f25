/** Little's law as a check: its numbers, its verdicts, and what it does not answer. */
import { advise } from 'rx-admission/bulkhead';
import { describe, expect, it } from 'vitest';

describe('advise', () => {
  it('answers in flight, the least limit that meets the target, head-room and utilisation', () => {
    const advice = advise({ arrivalsPerSecond: 40, holdSeconds: 0.35, target: 0.7 });
    expect(advice).toMatchObject({ inFlight: 14, limit: 20, headroom: 6, utilisation: 0.7, verdict: 'within' });
    expect(advice.summary()).toBe('on average 14 of 20 in flight, 70% in use (target 70%), within; an average, and no bound on latency');
  });

  it('rounds the limit up, and never below one permit', () => {
    expect(advise({ arrivalsPerSecond: 10, holdSeconds: 0.73, target: 0.7 }).limit).toBe(11);
    expect(advise({ arrivalsPerSecond: 0.1, holdSeconds: 0.01, target: 0.5 }).limit).toBe(1);
    // 0.07 / 0.1 misses 0.7 by an ulp, and 0.7 / 0.7 would ask for two.
    for (let permits = 1; permits < 200; permits += 1) {
      expect(advise({ arrivalsPerSecond: permits * 7, holdSeconds: 0.1, target: 0.7 }).limit).toBe(permits);
    }
  });

  it('judges a limit that is given', () => {
    const load = { arrivalsPerSecond: 100, holdSeconds: 0.1, target: 0.7 };
    expect(advise({ ...load, limit: 20 })).toMatchObject({ limit: 20, headroom: 10, utilisation: 0.5, verdict: 'within' });
    expect(advise({ ...load, limit: 12 }).verdict).toBe('above-target');
    expect(advise({ ...load, limit: 10 })).toMatchObject({ headroom: 0, utilisation: 1, verdict: 'overload' });
    expect(advise({ ...load, limit: 8 })).toMatchObject({ headroom: -2, utilisation: 1.25, verdict: 'overload' });
  });

  it('says what it assumes, and that it bounds no tail', () => {
    const { assumptions, boundsTailLatency } = advise({ arrivalsPerSecond: 1, holdSeconds: 1, target: 0.5 });
    expect(boundsTailLatency).toBe(false);
    expect(assumptions.join('\n')).toMatch(/steady[^]*admitted[^]*one permit[^]*knee[^]*no bound on a percentile/);
  });

  it('refuses to answer about percentiles', () => {
    const asked = { arrivalsPerSecond: 40, holdSeconds: 0.35, target: 0.7, p99Seconds: 1 };
    expect(() => advise(asked)).toThrow(RangeError);
    expect(() => advise(asked)).toThrow('answers nothing about p99Seconds: it bounds no percentile');
  });

  it.each([
    ['arrivalsPerSecond', 0, 'arrivalsPerSecond must be a positive number, not 0'],
    ['arrivalsPerSecond', '40', 'arrivalsPerSecond must be a positive number, not "40"'],
    ['holdSeconds', NaN, 'holdSeconds must be a positive number, not NaN'],
    ['holdSeconds', Infinity, 'holdSeconds must be a positive number, not Infinity'],
    ['holdSeconds', Number.MAX_VALUE, 'more than can be counted'],
    ['target', -1, 'target must be a positive number, not -1'],
    ['target', 1, 'target must be a share of the limit below 1, such as 0.7, not 1: at 1, whatever varies queues'],
    ['limit', 0, 'limit must be a positive number, not 0'],
  ])('refuses a %s of %s', (name, value, message) => {
    const asked = { arrivalsPerSecond: 40, holdSeconds: 0.35, target: 0.7, [name]: value };
    expect(() => advise(asked)).toThrow(RangeError);
    expect(() => advise(asked)).toThrow(message);
  });
});
