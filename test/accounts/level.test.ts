/** Levels that the clock refills: exact, clocked and never ticked, and honest about the instant they report (W8). */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  coveredFrom,
  covers,
  full,
  levelAt,
  moveLevel,
  rebase,
  wholeOf,
  withCap,
  type Level,
} from '../../src/accounts/level.js';

const NOMINAL = 1;
const DAY = 86_400_000;

const taken = (level: Level, amount: number, at: number, stretch = NOMINAL): Level =>
  moveLevel(level, stretch, -amount, at, -Infinity);

describe('levelAt', () => {
  it('refills a cap per minute, and stops at the cap', () => {
    const level = taken(full(600, 0), 600, 0);
    expect([0, 1, 50, 59_999, 60_000, 60_001, 40 * DAY].map((at) => levelAt(level, NOMINAL, at))).toEqual([
      0,
      600 / 60_000,
      0.5,
      (59_999 * 600) / 60_000,
      600,
      600,
      600,
    ]);
  });

  it('refills as many times slower as it is stretched', () => {
    const level = taken(full(600, 0), 600, 0);
    expect(levelAt(level, 10, 1_000)).toBeCloseTo(1, 12);
    expect(levelAt(level, 1.5, 1_500)).toBeCloseTo(10, 12);
  });

  it('does not fall when it is asked about an instant before its last change', () => {
    const level = taken(full(600, 5_000), 100, 5_000);
    expect(levelAt(level, NOMINAL, 0)).toBe(500);
    expect(rebase(level, NOMINAL, 0)).toEqual(level);
  });

  it('is not worn down by being read: a million readings give the last bit of one', () => {
    const level = taken(full(333.3, 0), 333.3, 0);
    let last = 0;
    for (let at = 0; at <= 30_000; at += 0.03) last = levelAt(level, NOMINAL, at);
    expect(last).toBeGreaterThan(0);
    expect(levelAt(level, NOMINAL, 30_000)).toBe(333.3 / 2);
  });

  it('keeps an absent limit infinite, at every instant and after every take', () => {
    const level = taken(full(Infinity, 0), 1e9, 1);
    expect(levelAt(level, NOMINAL, 2)).toBe(Infinity);
    expect(covers(level, NOMINAL, 1e300, 2)).toBe(true);
    expect(wholeOf(levelAt(level, NOMINAL, 2), level)).toBe(Infinity);
  });
});

describe('moveLevel', () => {
  it('stops at the cap above and at the floor below', () => {
    const level = full(100, 0);
    expect(moveLevel(level, NOMINAL, 50, 0, 0).stored).toBe(100);
    expect(moveLevel(level, NOMINAL, -150, 0, 0).stored).toBe(0);
    expect(moveLevel(level, NOMINAL, -150, 0, -Infinity).stored).toBe(-50);
  });

  it('counts what was refilled so far at the pace of then', () => {
    const level = moveLevel(taken(full(600, 0), 600, 0), 2, 0, 1_000, -Infinity);
    expect(level).toEqual({ cap: 600, stored: 5, since: 1_000 });
    expect(levelAt(level, NOMINAL, 2_000)).toBeCloseTo(15, 12);
  });
});

describe('withCap', () => {
  const half = taken(full(100, 0), 50, 0);

  it('clamps the level to a lower cap and adds nothing under a higher one', () => {
    expect(withCap(half, NOMINAL, 40, 0)).toEqual({ cap: 40, stored: 40, since: 0 });
    expect(withCap(half, NOMINAL, 400, 0)).toEqual({ cap: 400, stored: 50, since: 0 });
  });

  it('has no level to keep where there was no limit, or is none any more', () => {
    expect(withCap(full(Infinity, 0), NOMINAL, 40, 7)).toEqual({ cap: 40, stored: 40, since: 7 });
    expect(withCap(half, NOMINAL, Infinity, 0).stored).toBe(Infinity);
  });

  it('keeps a debt', () => {
    expect(withCap(taken(full(100, 0), 130, 0), NOMINAL, 50, 0).stored).toBe(-30);
  });
});

describe('coveredFrom', () => {
  it('is now when nothing is short, and never when the amount is beyond the cap', () => {
    expect(coveredFrom(full(100, 0), NOMINAL, 100, 77.25)).toBe(77.25);
    expect(coveredFrom(full(100, 0), NOMINAL, 101, 77)).toBeNull();
  });

  it('is the deficit over the rate, rounded up to the whole millisecond', () => {
    const empty = taken(full(600, 0), 600, 0);
    expect(coveredFrom(empty, NOMINAL, 10, 0)).toBe(1_000);
    expect(coveredFrom(empty, NOMINAL, 0.001, 0)).toBe(1);
    expect(coveredFrom(taken(full(700, 0), 700, 0), NOMINAL, 1, 0)).toBe(Math.ceil(60_000 / 700));
  });

  it('forgives the residue of floats: 0.1 of a minute is 6,000 ms, not 6,001', () => {
    // The throttle of 0.2, three times, ten times slower: every one of them has a residue in binary.
    expect(coveredFrom(taken(full(3, 0), 3, 0), 1.1, 0.3, 0)).toBe(6_600);
    expect(coveredFrom(taken(full(90, 0), 90, 0), 1.4, 0.9, 0)).toBe(840);
    expect(coveredFrom(taken(full(7, 0), 7, 0), 1.7, 0.7, 0)).toBe(10_200);
  });

  it('waits out a debt', () => {
    expect(coveredFrom(taken(full(60, 0), 90, 0), NOMINAL, 10, 0)).toBe(40_000);
  });

  const clocks = fc.oneof(
    fc.integer({ min: 0, max: 10_000_000 }),
    // A monotonic clock has fractions; asyncScheduler counts from 1970.
    fc.double({ min: 0, max: 1e7, noNaN: true }),
    fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 }),
    fc.double({ min: 1.7e12, max: 1.9e12, noNaN: true }),
  );
  const caps = fc.oneof(fc.integer({ min: 1, max: 10_000_000 }), fc.double({ min: 1e-3, max: 1e10, noNaN: true }));
  const stretches = fc.integer({ min: 10, max: 100 }).map((tenths) => tenths / 10);
  const shares = fc.oneof(
    fc.double({ min: 0, max: 1, noNaN: true }),
    // Thousandths meet whole milliseconds, where rounding either way is one too many.
    fc.integer({ min: 0, max: 1_000 }).map((thousandth) => thousandth / 1_000),
  );
  const waits = fc.oneof(
    fc.constant(0),
    fc.integer({ min: 0, max: 100_000 }),
    fc.double({ min: 0, max: 1e5, noNaN: true }),
  );

  it('names the first whole instant at which the amount is covered, on every clock, rate and throttle', () => {
    fc.assert(
      fc.property(clocks, caps, stretches, shares, shares, waits, (start, cap, stretch, left, wanted, wait) => {
        const level = { cap, stored: cap * left, since: start };
        const at = start + wait;
        const amount = cap * wanted;
        const isCovered = (instant: number): boolean => covers(level, stretch, amount, instant);
        const instant = coveredFrom(level, stretch, amount, at);
        if (instant === null) throw new Error('it can be covered');
        if (!isCovered(instant)) throw new Error(`it is not covered at ${instant}`);
        if (instant === at) return;
        if (!Number.isInteger(instant) || instant < at) throw new Error(`${instant} is no whole instant after ${at}`);
        if (isCovered(at)) throw new Error('it is covered now');
        if (instant - 1 > at && isCovered(instant - 1)) throw new Error(`it is covered before ${instant}`);
      }),
      { numRuns: 10_000 },
    );
  });

  it('has no instant before its time on a clock too large for the fractions of one', () => {
    const start = 1_764_500_000_000;
    // 5.0001 ms at one a millisecond: the sum with such a start is rounded to 5, where a ten-thousandth is missing.
    const level = { cap: 60_000, stored: 0, since: start };
    expect(start + 5.0001).toBe(start + 5);
    expect(coveredFrom(level, NOMINAL, 5.0001, start)).toBe(start + 6);
    expect(coveredFrom(level, NOMINAL, 5, start)).toBe(start + 5);
  });

  it('ends a wait of years as it ends one of a millisecond', () => {
    for (const cap of [1e-3, 1, 1e6]) {
      for (const debt of [0, 1, 1e3]) {
        const level = { cap, stored: -debt * cap, since: 0 };
        const instant = coveredFrom(level, 10, cap, 0);
        expect(instant).toBe((debt + 1) * 600_000);
      }
    }
  });
});

describe('wholeOf', () => {
  it('floors, forgiving the residue that comparisons forgive', () => {
    const level = full(1_000, 0);
    expect(wholeOf(41.999_999_999_99, level)).toBe(42);
    expect(wholeOf(41.9, level)).toBe(41);
    expect(wholeOf(-0.5, level)).toBe(-1);
  });
});
