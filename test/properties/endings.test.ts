/**
 * Every public path that ends a wait or a hold, in random order and under random faults of accounts, conserves every account:
 * each take is given back once, as it was taken, or is held by somebody who still may; and in the end nothing is left.
 */
import fc from 'fast-check';
import { config } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Random } from '../oracle/random.js';
import { EndingsWorld, isFault } from './endings-world.js';

/** As many as the project promises to try in each run of CI. */
const RUNS = Number(process.env.ENDINGS_RUNS ?? 10_000);
/** They take some twenty seconds on a core of their own; CI has two for everything, and measures coverage. */
const LIMIT_MS = 180_000;

const ENDINGS = [
  'release', 'rollback', 'dispose', 'charge', 'until', 'until settles',
  'unsubscribe while waiting', 'unsubscribe while granted', 'abort while waiting', 'abort while granted',
  'error: timeout', 'error: overflow', 'error: shutdown', 'error: cancelled', 'error: aborted', 'error: circuit_blocked', 'error: Fault',
  'complete', 'onRefused', 'tryAcquire: no', 'tryAcquire: yes', 'threw Fault', 'threw TypeError',
  'granted: inner', 'granted: throws', 'granted: empty', 'granted: fails', 'granted: by hand', 'granted: each', 'granted: acquire',
  'granted: run, promise', 'granted: run, value', 'granted: run, throws', 'run resolves', 'nested', 'nested in what is over', 'error: NestedAskError',
  'resize', 'pause', 'resume', 'limits', 'pressure', 'pool: pause', 'pool: resume', 'pool: resize', 'pool: reshare', 'stop', 'drain',
];

const reported: unknown[] = [];

beforeEach(() => {
  // Faults that have no caller are reported as RxJS reports errors, and a defect is written to the console.
  config.onUnhandledError = (error) => reported.push(error);
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
});

afterEach(() => {
  config.onUnhandledError = null;
  vi.restoreAllMocks();
});

describe('whatever ends a wait or a hold', () => {
  it(`conserves every account, in ${RUNS} random orders`, { timeout: LIMIT_MS }, async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 50 }), async (seed, steps) => {
        const world = new EndingsWorld(new Random(seed));
        for (let n = 0; n < steps; n += 1) {
          world.step();
          // Promises that were settled are heard of between two steps.
          if (n % 8 === 0) await Promise.resolve();
          world.check();
        }
        await world.finish();
        for (const each of world.seen) seen.add(each);
      }),
      { numRuns: RUNS, endOnFailure: false },
    );
    await new Promise((done) => setTimeout(done));
    const unexpected = reported.filter((error) => !isFault(error));
    expect(unexpected).toEqual([]);
    expect(ENDINGS.filter((ending) => !seen.has(ending))).toEqual([]);
  });
});
