/** The search against the walk, which is the rule itself: the same changes, the same events, grants, refusals, deadlines. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { search, walk } from '../../src/evaluator/pass.js';
import { difference, traces } from './traces.js';

describe('search', () => {
  it('tells what the walk tells, in the same order (npm run oracle: many more)', () => {
    fc.assert(
      fc.property(traces, (trace) => {
        expect(difference(trace, walk, search)).toBeNull();
      }),
      { numRuns: 300 },
    );
  });
});
