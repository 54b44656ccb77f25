/** How the memory gate paces its line: the curve to the millisecond, the penalty, the latch. */
import { describe, expect, it } from 'vitest';
import {
  completed,
  curve,
  fresh,
  latchMoved,
  looked,
  mayRelease,
  pacedUntil,
  penaltyNow,
  released,
  type Pacing,
} from '../../src/accounts/memory-pacing.js';

const readings = (ratios: readonly number[], from: Pacing = fresh): Pacing => ratios.reduce(looked, from);

describe('the curve', () => {
  it.each([
    [0.5, 50],
    [0.8, 50],
    [0.81, 50],
    [0.82, 71],
    [0.83, 239],
    [0.84, 568],
    [0.85, 1_111],
    [0.86, 1_919],
    [0.87, 3_048],
    [0.88, 4_551],
    [0.89, 6_480],
    [0.899, 8_624],
    [0.9, 8_888],
    [0.91, 11_831],
    [0.92, 15_360],
    [0.93, 19_528],
    [0.94, 24_391],
    [0.948, 28_815],
    [0.949, 29_403],
    [0.95, 30_000],
    [0.99, 30_000],
  ])('memory-02: at %d of the heap the delay is %d ms', (ratio, delay) => {
    expect(curve(ratio)).toBe(delay);
  });

  it('memory-02: below 0.8178 the floor of 50 rules, and the fraction is clamped', () => {
    expect([0, 0.8177, 0.8178, 0.819, 1, 7].map(curve)).toEqual([50, 50, 50, 60, 30_000, 30_000]);
  });

  it('memory-02: is 30000 ((r − 0.80) / 0.15) cubed by repeated multiplication, truncated', () => {
    for (let ratio = 0.8178; ratio < 0.95; ratio += 0.000_1) {
      const fraction = (ratio - 0.8) / (0.95 - 0.8);
      expect(curve(ratio)).toBe(Math.max(50, Math.trunc(30_000 * (fraction * fraction * fraction))));
    }
  });
});

describe('the floor', () => {
  it('is the first reading, then each that is lower than the one before it', () => {
    const seen: number[] = [];
    let pacing = fresh;
    for (const ratio of [0.5, 0.7, 0.6, 0.6, 0.65, 0.64]) {
      pacing = looked(pacing, ratio);
      seen.push(pacing.floor);
    }
    expect(seen).toEqual([0.5, 0.5, 0.6, 0.6, 0.6, 0.64]);
  });
});

describe('the latch', () => {
  const latchAt = (ratio: number, latched: boolean): boolean =>
    latchMoved({ ...looked(fresh, ratio), latched }).latched;

  it('sets at 0.95 and clears strictly below 0.90', () => {
    expect([0.949_999, 0.95, 1].map((ratio) => latchAt(ratio, false))).toEqual([false, true, true]);
    expect([0.95, 0.9, 0.899_999].map((ratio) => latchAt(ratio, true))).toEqual([true, true, false]);
  });

  it('is the same state where nothing moved', () => {
    const pacing = looked(fresh, 0.93);
    expect(latchMoved(pacing)).toBe(pacing);
  });
});

describe('the penalty', () => {
  const rising = (floors: readonly [older: number, newer: number], now: number, committed = 1): number =>
    penaltyNow({ ...fresh, penalty: committed, floors: [floors[1], floors[0]], floor: now });

  it('is the committed one while fewer than two releases are remembered', () => {
    expect(penaltyNow({ ...fresh, penalty: 5, floors: [0.4], floor: 0.9 })).toBe(5);
    expect(penaltyNow(fresh)).toBe(1);
  });

  it('doubles for every point that the floor rose since the release before last, and halves as it falls', () => {
    expect(rising([0.4, 0.99], 0.41)).toBeCloseTo(2, 9);
    expect(rising([0.4, 0.99], 0.43)).toBeCloseTo(8, 9);
    expect(rising([0.4, 0.99], 0.38, 16)).toBeCloseTo(4, 9);
  });

  it('stays between 1 and 72,000', () => {
    expect(rising([0.4, 0.4], 0.1)).toBe(1);
    expect(rising([0.1, 0.4], 0.9)).toBe(72_000);
  });
});

describe('a release', () => {
  it('commits the penalty, spends the completion, and shifts the two floors it remembers', () => {
    const first = released(completed(readings([0.4])), 10);
    const second = released(looked(first, 0.5), 20);
    const third = released({ ...second, floor: 0.42 }, 30);
    expect(first).toMatchObject({ lastRelease: 10, completion: false, penalty: 1, floors: [0.4] });
    expect(second).toMatchObject({ lastRelease: 20, floors: [0.4, 0.4] });
    expect(third.floors).toEqual([0.42, 0.4]);
    expect(third.penalty).toBeCloseTo(4, 9);
  });

  it('is spaced by the delay only behind another, with a line and no completion', () => {
    const after = released(readings([0.85]), 100);
    expect(pacedUntil(readings([0.85]), 3)).toBeNull();
    expect(pacedUntil(after, 0)).toBeNull();
    expect(pacedUntil(completed(after), 3)).toBeNull();
    expect(pacedUntil(after, 3)).toBe(100 + 1_111);
  });

  it('may go at the very end of its delay, and never under the latch', () => {
    const after = released(readings([0.85]), 100);
    expect([1_210, 1_211].map((at) => mayRelease(after, 3, at))).toEqual([false, true]);
    expect(mayRelease({ ...after, latched: true }, 3, 9_999)).toBe(false);
    expect(mayRelease(completed({ ...after, latched: true }), 0, 9_999)).toBe(false);
  });

  it('waits an hour at most, however high the penalty', () => {
    const after = { ...released(readings([0.9]), 0), penalty: 72_000 };
    expect(pacedUntil(after, 1)).toBe(3_600_000);
  });

  it('rounds the delay to whole ms', () => {
    const after = { ...released(readings([0.82]), 0), penalty: 1.505 };
    expect(pacedUntil(after, 1)).toBe(107);
  });
});
