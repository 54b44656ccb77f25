/** The load programs claim what is so, and on other seeds than the one that `npm run load` takes. */
import { describe, expect, it } from 'vitest';
import { cancellation } from '../../bench/load/cancellation.js';
import { overload } from '../../bench/load/overload.js';
import { releaseFailure } from '../../bench/load/release-failure.js';
import { jain, lineOf, percentile } from '../../bench/load/report.js';
import { resizeUnderLoad } from '../../bench/load/resize-under-load.js';
import { skewedTenants } from '../../bench/load/skewed-tenants.js';
import { slowDependency } from '../../bench/load/slow-dependency.js';

describe('a load program', () => {
  it.each([overload, slowDependency, cancellation, releaseFailure, resizeUnderLoad, skewedTenants])('holds: $name', async ({ load }) => {
    const { runs, claims } = await load(2_026);
    expect(claims.filter(({ holds }) => !holds)).toEqual([]);
    for (const run of runs) expect(lineOf(run)).not.toContain('NaN');
  });
});

describe('the figures', () => {
  it.each([
    [[], 0.5, NaN],
    [[3], 0.99, 3],
    [[4, 1, 3, 2], 0.5, 2],
    [[4, 1, 3, 2], 0.99, 4],
    [[4, 1, 3, 2], 1, 4],
  ])('of %o, the percentile at %f is %f', (values, share, value) => {
    expect(percentile(values, share)).toBe(value);
  });

  it.each([
    [[1, 1, 1, 1], 1],
    [[4, 0, 0, 0], 0.25],
    [[0, 0], 1],
  ])("of %o, Jain's index is %f", (shares, index) => {
    expect(jain(shares)).toBeCloseTo(index, 10);
  });
});
