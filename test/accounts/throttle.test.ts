/** How accounts slow down and recover, in integer steps without residue. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isAtMax,
  press,
  relax,
  relaxed,
  stretched,
  throttleIndicator,
  throttleOf,
  type Throttle,
  type ThrottleRule,
} from '../../src/accounts/throttle.js';

const rule: ThrottleRule = {
  increment: 0.5,
  decrement: 0.2,
  recovery: 0.5,
  max: 9,
  successesPerDecrease: 3,
  recoveryInterval: 300_000,
};

const successes = (from: Throttle, count: number, at: number): Throttle => {
  let throttle = from;
  for (let n = 0; n < count; n += 1) throttle = relax(throttle, at, rule);
  return throttle;
};

describe('press', () => {
  it('adds an increment a signal up to the maximum', () => {
    expect(throttleOf(press(relaxed, 1, 0, rule))).toBe(0.5);
    expect(throttleOf(press(relaxed, 3, 0, rule))).toBe(1.5);
    expect(throttleOf(press(relaxed, 18, 0, rule))).toBe(9);
    expect(throttleOf(press(press(relaxed, 17, 0, rule), 40, 0, rule))).toBe(9);
  });

  it('says when the maximum is reached', () => {
    expect(isAtMax(press(relaxed, 17, 0, rule), rule)).toBe(false);
    expect(isAtMax(press(relaxed, 18, 0, rule), rule)).toBe(true);
    expect(isAtMax(relaxed, { ...rule, max: 0 })).toBe(true);
  });

  it('leaves the count of successes alone: they need not be consecutive', () => {
    const pressed = press(successes(press(relaxed, 2, 0, rule), 2, 1), 1, 2, rule);
    expect(throttleOf(relax(pressed, 3, rule))).toBeCloseTo(1.3, 12);
  });
});

describe('relax', () => {
  it('takes a decrement off at every third success and starts counting again', () => {
    const pressed = press(relaxed, 2, 0, rule);
    expect([1, 2, 3, 4, 5, 6].map((count) => throttleOf(successes(pressed, count, 1)))).toEqual([
      1, 1, 0.8, 0.8, 0.8, 0.6,
    ]);
  });

  it('takes more off at each success once five whole minutes were quiet', () => {
    const pressed = press(relaxed, 4, 1_000, rule);
    expect(throttleOf(relax(pressed, 300_999, rule))).toBe(2);
    expect(throttleOf(relax(pressed, 301_000, rule))).toBe(1.5);
  });

  it('ends at zero exactly and never below it', () => {
    const pressed = press(relaxed, 2, 0, rule);
    expect(successes(pressed, 15, 1).level).toBe(0);
    expect(successes(pressed, 400, 1).level).toBe(0);
    expect(throttleOf(successes(press(relaxed, 1, 0, rule), 9, 1))).toBe(0);
  });

  it('counts no success of a healthy account', () => {
    expect(relax(relaxed, 5, rule)).toBe(relaxed);
    const pressed = press(successes(relaxed, 2, 0), 2, 0, rule);
    expect(throttleOf(successes(pressed, 2, 1))).toBe(1);
  });

  it('leaves no residue: whatever the steps, the level is whole tenths', () => {
    const verbs = fc.array(fc.tuple(fc.constantFrom('press', 'relax'), fc.nat(400_000)), { maxLength: 60 });
    fc.assert(
      fc.property(verbs, (steps) => {
        let throttle = relaxed;
        let at = 0;
        for (const [verb, wait] of steps) {
          at += wait;
          throttle = verb === 'press' ? press(throttle, 1, at, rule) : relax(throttle, at, rule);
          const { level } = throttle;
          if (level % 100_000 !== 0 || level < 0 || level > 9_000_000) throw new Error(`the level is ${level}`);
        }
      }),
    );
  });
});

describe('stretched', () => {
  it('is the base times one plus the throttle, floored', () => {
    expect(stretched(1_000, relaxed)).toBe(1_000);
    expect(stretched(1_000, press(relaxed, 18, 0, rule))).toBe(10_000);
    const third = successes(press(relaxed, 2, 0, rule), 3, 1);
    expect(stretched(333, third)).toBe(Math.floor(333 * 1.8));
    expect(stretched(335, press(relaxed, 1, 0, rule))).toBe(502);
    expect(stretched(1_000, successes(press(relaxed, 2, 0, rule), 12, 1))).toBe(1_200);
  });
});

describe('throttleIndicator', () => {
  it('is null when nominal, else names how many times slower with one decimal', () => {
    expect(throttleIndicator(relaxed)).toBeNull();
    expect(throttleIndicator(press(relaxed, 1, 0, rule))).toBe('throttle:1.5x');
    expect(throttleIndicator(press(relaxed, 18, 0, rule))).toBe('throttle:10.0x');
  });
});
