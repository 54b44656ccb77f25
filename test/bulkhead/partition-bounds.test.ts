/** What a partitioned capacity promises, tried on random traffic: an end of every wait within a share, and max-min fairness. */
import { createAdmission, demand, type Admission, type Grant } from 'rx-admission';
import { partitioned, type Partitioned } from 'rx-admission/bulkhead';
import fc from 'fast-check';
import { NEVER } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { Job } from '../admit/job.js';
import { Random } from '../oracle/random.js';
import { maxMin, type Claim } from './max-min.js';

const RUNS = Number(process.env.PROPERTY_RUNS ?? 100);
const SHARES: Readonly<Record<string, number>> = { a: 3, b: 2 };
const CAPACITY = 8;
const REST = 3;
/** More than five keys can be guaranteed. Ends of jobs: enough that everyone who holds too much at the start has ended some, and to average over. */
const CONTESTED = 12;
const WARM_UP = 60;
const MEASURED = 400;

interface Ask {
  readonly group: string;
  readonly permits: number;
  readonly hold: number;
  grant: Grant | null;
  grantedAt: number;
  ends: number;
  /** The latest instant at which it may be granted; null where nothing is promised. */
  promised: number | null;
}

/** Jobs of keys with a share and of one that has the rest for itself, that hold for as long as was drawn. */
class Traffic {
  readonly clock = new CountingScheduler();
  readonly admission: Admission = createAdmission({ scheduler: this.clock });
  readonly pool: Partitioned;
  readonly asks: Ask[] = [];
  /** One size a key: a smaller ask may overtake a larger one of its own key, as anywhere behind the head. */
  readonly #sizes: Readonly<Record<string, number>>;

  constructor(private readonly random: Random) {
    this.#sizes = { a: random.whole(1, 3), b: random.whole(1, 2) };
    const reserve = random.whole(0, 2);
    const borrow = random.of(['idle', 'none', 2] as const);
    this.pool = partitioned({ name: 'calls', capacity: CAPACITY, shares: SHARES, reserve, borrow });
  }

  ask(): void {
    const key = this.random.of(['a', 'a', 'a', 'a', 'b', 'c', 'c']);
    const share = SHARES[key];
    const group = share === undefined ? 'rest' : key;
    const permits = this.#sizes[key] ?? 1;
    const ask: Ask = { group, permits, hold: this.random.whole(1, 30), grant: null, grantedAt: NaN, ends: Infinity, promised: null };
    const asked = this.#of(group).reduce((sum, each) => sum + each.permits, permits);
    if (asked <= (share ?? REST)) {
      // Everything within shares leaves it room: once all that is beyond a share is back, it goes.
      const borrowed = this.asks.filter((each) => each.grant?.settled === false && this.#isBeyond(each.group));
      ask.promised = Math.max(this.clock.now(), ...borrowed.map(({ ends }) => ends));
    }
    this.asks.push(ask);
    new Job(this.admission, demand([this.pool.of(key), permits]), {}, (grant) => {
      const now = this.clock.now();
      Object.assign(ask, { grant, grantedAt: now, ends: now + ask.hold });
      this.clock.schedule(() => grant.release(), ask.hold);
      return NEVER;
    });
  }

  #of(group: string): Ask[] {
    return this.asks.filter((each) => each.group === group && each.grant?.settled !== true);
  }

  #isBeyond(group: string): boolean {
    const out = this.#of(group).reduce((sum, { grant, permits }) => sum + (grant === null ? 0 : permits), 0);
    return out > (SHARES[group] ?? REST);
  }
}

/** Keys that each have so many jobs under way or waiting: whenever one ends, the next one asks. */
class Backlogs {
  readonly admission: Admission = createAdmission({ scheduler: new CountingScheduler() });
  readonly #running: { readonly key: number; readonly grant: Grant }[] = [];

  constructor(
    readonly pool: Partitioned,
    wanted: readonly number[],
  ) {
    wanted.forEach((jobs, key) => {
      for (let n = 0; n < jobs; n += 1) this.#ask(key);
    });
  }

  outOf(key: number): number {
    return this.pool.of(`key ${key}`).inUse();
  }

  /** Ends any one of the running jobs. */
  end(random: Random): void {
    const [{ key, grant }] = this.#running.splice(random.whole(0, this.#running.length - 1), 1) as [{ key: number; grant: Grant }];
    grant.release();
    this.#ask(key);
  }

  #ask(key: number): void {
    new Job(this.admission, demand(this.pool.of(`key ${key}`)), {}, (grant) => {
      this.#running.push({ key, grant });
      return NEVER;
    });
  }
}

describe('an ask within its share', () => {
  it('waits at most until what was borrowed when it came is back', () => {
    let promises = 0;
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const random = new Random(seed);
        const traffic = new Traffic(random);
        for (let n = 0; n < 60; n += 1) {
          traffic.ask();
          traffic.clock.advanceTo(traffic.clock.now() + random.whole(0, 6));
        }
        traffic.clock.advanceTo(1_000_000);
        expect(traffic.asks.filter(({ grant }) => grant?.settled !== true)).toEqual([]);
        for (const { promised, grantedAt } of traffic.asks) {
          if (promised === null) continue;
          promises += 1;
          expect(grantedAt).toBeLessThanOrEqual(promised);
        }
      }),
      { numRuns: RUNS },
    );
    expect(promises).toBeGreaterThan(RUNS * 5);
  });
});

describe('keys that share the rest', () => {
  const wanted = fc.integer({ min: 1, max: 30 });
  it.each([
    ['keys of the rest', fc.record({ wanted, share: fc.constant(0) }), () => ({})],
    [
      'keys with shares',
      fc.record({ wanted, share: fc.constantFrom(0, 0, 1, 2) }),
      (keys: readonly Claim[]) => Object.fromEntries(keys.map(({ share }, n) => [`key ${n}`, share])),
    ],
  ])('have what max-min fairness gives them, whoever has how long a backlog (%s)', (_, key, sharesOf) => {
    fc.assert(
      fc.property(fc.array(key, { minLength: 2, maxLength: 5 }), fc.nat(), (keys, seed) => {
        const random = new Random(seed);
        const pool = partitioned({ name: 'calls', capacity: CONTESTED, shares: sharesOf(keys) });
        const backlogs = new Backlogs(pool, keys.map((each) => each.wanted));
        for (let n = 0; n < WARM_UP; n += 1) backlogs.end(random);
        const sums = keys.map(() => 0);
        for (let n = 0; n < MEASURED; n += 1) {
          backlogs.end(random);
          keys.forEach((__, index) => (sums[index] = (sums[index] ?? 0) + backlogs.outOf(index)));
        }
        // A permit given back goes to others before its key asks again: on average one is on its way, at most.
        maxMin(CONTESTED, keys).forEach((fair, n) => expect(Math.abs((sums[n] ?? 0) / MEASURED - fair)).toBeLessThanOrEqual(1));
      }),
      { numRuns: RUNS },
    );
  });

  it('go within as many releases as there are keys, behind a backlog of ten or of a thousand', () => {
    for (const backlog of [10, 1_000]) {
      const backlogs = new Backlogs(partitioned({ name: 'calls', capacity: 6 }), [backlog, backlog, backlog]);
      const random = new Random(backlog);
      for (let n = 0; n < 30; n += 1) backlogs.end(random);
      const newcomer = new Job(backlogs.admission, demand(backlogs.pool.of('newcomer')));
      expect(newcomer.state).toBe('waiting');
      backlogs.end(random);
      expect(newcomer.state).toBe('granted');
    }
  });
});
