/** The oracle of fairness is right: by hand, and by trying every other allocation. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jain, maxMin, type Claim } from './max-min.js';

const wanting = (...wanted: number[]): Claim[] => wanted.map((each) => ({ wanted: each, share: 0 }));

describe('max-min fairness', () => {
  it.each([
    [10, wanting(2, 2, 4, 5), [2, 2, 3, 3]],
    [10, wanting(1, 100, 100), [1, 5, 4]],
    [10, wanting(2, 3), [2, 3]],
    [0, wanting(2, 3), [0, 0]],
    [10, [{ wanted: 100, share: 6 }, { wanted: 100, share: 0 }, { wanted: 0, share: 2 }], [8, 2, 0]],
    [10, [{ wanted: 3, share: 6 }, { wanted: 100, share: 1 }, { wanted: 100, share: 0 }], [3, 4, 3]],
  ])('of %i permits for %o is %o', (capacity, claims, given) => {
    expect(maxMin(capacity, claims)).toEqual(given);
  });

  it('leaves nobody who could gain without somebody losing who has gone no further', () => {
    const claim = fc.record({ wanted: fc.nat(6), share: fc.nat(2) });
    fc.assert(
      fc.property(fc.array(claim, { minLength: 1, maxLength: 4 }), fc.integer({ min: 8, max: 12 }), (claims, capacity) => {
        // The fairest has the greatest least, then the greatest second least, and so on.
        const sorted = (given: readonly number[]): number[] =>
          given.map((permits, n) => permits - (claims[n]?.share ?? 0)).sort((one, other) => one - other);
        const fair = maxMin(capacity, claims);
        expect(fair.every((permits, n) => permits <= (claims[n]?.wanted ?? 0))).toBe(true);
        for (const other of allocations(capacity, claims)) expect(compare(sorted(fair), sorted(other))).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

/** Every allocation that gives nobody more than it wants nor less than it is guaranteed, and no more than there is. */
function* allocations(left: number, claims: readonly Claim[]): Generator<number[]> {
  const [first, ...others] = claims;
  if (first === undefined) {
    yield [];
    return;
  }
  for (let permits = Math.min(first.wanted, first.share); permits <= Math.min(first.wanted, left); permits += 1) {
    for (const rest of allocations(left - permits, others)) yield [permits, ...rest];
  }
}

/** Lexicographic: above zero where the first is the fairer. */
function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((value, n) => value !== other[n]);
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}

describe("Jain's index", () => {
  it.each([
    [[1, 1, 1, 1], 1],
    [[4, 0, 0, 0], 0.25],
    [[0, 0], 1],
    [[1, 3], 0.8],
  ])('of %o is %f', (shares, index) => {
    expect(jain(shares)).toBeCloseTo(index, 10);
  });
});
