/** Classes by priority: the first that waits goes first, and waiting lifts a class until it is served. */
import { createAdmission, demand, type Admission, type Grant } from 'rx-admission';
import { priorities, type Partitioned } from 'rx-admission/bulkhead';
import fc from 'fast-check';
import { NEVER } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { Job } from '../admit/job.js';
import { Random } from '../oracle/random.js';

type Class = 'high' | 'normal' | 'low';
const CLASSES = ['high', 'normal', 'low'] as const;
const AGEING = 100;

/** Work of all classes on few permits: it notes who is let in, and ends what is told. */
class Scene {
  readonly clock = new CountingScheduler();
  readonly admission: Admission = createAdmission({ scheduler: this.clock });
  readonly let: Class[] = [];
  readonly #running: Grant[] = [];

  constructor(readonly pool: Partitioned<Class>) {}

  ask(key: Class, times = 1): void {
    for (let n = 0; n < times; n += 1) {
      new Job(this.admission, demand(this.pool.of(key)), {}, (grant) => {
        this.let.push(key);
        this.#running.push(grant);
        return NEVER;
      });
    }
  }

  /** At `at`, the job that runs longest ends; answers whom that let in. */
  endAt(at: number): Class | undefined {
    this.clock.advanceTo(at);
    const before = this.let.length;
    this.#running.shift()?.release();
    return this.let[before];
  }
}

const scene = (capacity = 1, ageing = AGEING, atLeast = {}): Scene =>
  new Scene(priorities({ name: 'calls', capacity, classes: CLASSES, ageing, atLeast }));

describe('priorities', () => {
  it('serve the first class that waits, and within a class who came first', () => {
    const work = scene(1, Infinity);
    work.ask('low', 2);
    work.ask('normal', 2);
    work.ask('high', 2);
    for (let n = 1; n < 6; n += 1) work.endAt(n);
    expect(work.let).toEqual(['low', 'high', 'high', 'normal', 'normal', 'low']);
  });

  it('leave to a lower class what the higher ones do not ask', () => {
    const work = scene(4, Infinity);
    work.ask('low', 9);
    expect(work.let).toHaveLength(4);
    work.ask('high');
    expect(work.endAt(1)).toBe('high');
    expect(work.endAt(2)).toBe('low');
  });

  it('keep for the higher class all that it waits for, not only a level', () => {
    const work = scene(2, Infinity);
    work.ask('high', 2);
    work.ask('low', 5);
    work.ask('high', 3);
    work.pool.resize(5);
    expect(work.let).toEqual(['high', 'high', 'high', 'high', 'high']);
  });

  it('keep what is guaranteed to a class, whoever else waits', () => {
    const work = scene(3, Infinity, { low: 1 });
    work.ask('high', 9);
    expect(work.let).toEqual(['high', 'high', 'high']);
    work.ask('low', 2);
    expect([work.endAt(1), work.endAt(2), work.endAt(3)]).toEqual(['low', 'high', 'high']);
  });

  it('lift a class by one rank for every span that it waits unserved', () => {
    const work = scene();
    work.ask('high', 20);
    // Its age counts from the first take or release after it began to wait.
    work.ask('low', 3);
    expect(work.endAt(10)).toBe('high');
    expect(work.endAt(110)).toBe('high');
    expect(work.endAt(209)).toBe('high');
    expect(work.endAt(210)).toBe('low');
    expect(work.endAt(211)).toBe('high');
    expect(work.endAt(409)).toBe('high');
    expect(work.endAt(411)).toBe('low');
  });

  it('lift nobody who does not wait', () => {
    const work = scene();
    work.ask('high', 20);
    work.endAt(10);
    work.clock.advanceTo(10_000);
    work.ask('low');
    expect([work.endAt(10_001), work.endAt(10_100)]).toEqual(['high', 'high']);
  });

  it('starve nobody: whatever comes above, each class is served within its rank times the span and a few releases', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 4 }), (seed, capacity) => {
        const random = new Random(seed);
        const work = scene(capacity);
        work.ask('high', 400);
        work.ask('normal', 400);
        work.ask('low', 400);
        const served = new Map<Class, number>(CLASSES.map((key) => [key, 0]));
        for (let now = 0, n = 0; n < 300; n += 1) {
          now += random.whole(1, 10);
          const key = work.endAt(now);
          if (key !== undefined) served.set(key, now);
          // Each release is at most 10 ms after the one before, and one that is lifted may hold as much as the first.
          CLASSES.forEach((each, rank) => {
            expect(now - (served.get(each) ?? 0)).toBeLessThanOrEqual(rank * AGEING + 10 * (2 + capacity));
          });
        }
      }),
      { numRuns: 30 },
    );
  });

  it('know no other class', () => {
    const pool = priorities({ name: 'calls', capacity: 2, classes: ['high', 'low'], ageing: 10 });
    // @ts-expect-error there is no such class
    const other = pool.of('other');
    expect(() => other.fits([1], [])).toThrow('calls/other: 0 keys without a share are in use, and there may be no more at once');
    expect(pool.of('high').capacity).toBe(2);
    expect(priorities({ name: 'calls', capacity: 2, classes: ['a', 'b'], ageing: 10, atLeast: { a: 1, b: 1 } }).of('a').capacity).toBe(2);
  });
});
