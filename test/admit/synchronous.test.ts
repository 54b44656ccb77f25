/** Promise 6, its first half: a million synchronous inners neither overflow the stack nor need what grows with them. */
import { CountingGate, Demand, TokenBucket, createAdmission, demand } from 'rx-admission';
import { EMPTY, Subject, count, defer, of, range, reduce, tap, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { CountingScheduler } from './counting-scheduler.js';
import { Job } from './job.js';

const MILLION = 1_000_000;
/** More than any stack is deep. */
const MANY = 20_000;
/** A million of anything takes its time on a machine that is busy with other things. */
const PATIENCE = 180_000;

const scene = (capacity = 1) => {
  const scheduler = new CountingScheduler();
  const admission = createAdmission({ scheduler });
  const slot = new CountingGate({ name: 'slot', capacity, scheduler });
  return { scheduler, admission, admit: admission.admit, slot };
};

describe('promise 6: synchronous inners', { timeout: PATIENCE }, () => {
  it('runs a million of them, one after the other', () => {
    const { admit, slot } = scene();
    let sum = -1;
    let peak = 0;
    range(1, MILLION)
      .pipe(
        admit(demand(slot), (n) => {
          peak = Math.max(peak, slot.inUse());
          return of(n);
        }),
        reduce((total, n) => total + n, 0),
      )
      .subscribe((total) => (sum = total));
    expect([sum, peak, slot.inUse()]).toEqual([(MILLION * (MILLION + 1)) / 2, 1, 0]);
  });

  it.each<[string, () => unknown]>([
    ['arrays', () => [1]],
    ['empty observables', () => EMPTY],
    ['observables that complete in a teardown of their own', () => defer(() => of(1))],
  ])('runs many %s', (_what, inner) => {
    const { admit, slot } = scene();
    let completed = false;
    range(0, MANY)
      .pipe(admit(demand(slot), inner as () => number[]), count())
      .subscribe({ complete: () => (completed = true) });
    expect([completed, slot.inUse()]).toEqual([true, 0]);
  });

  it(`drains ${MANY} of them that wait behind one held permit, without recursion`, () => {
    const { admission, slot } = scene();
    const holder = new Job(admission, demand(slot));
    const values: number[] = [];
    let peak = 0;
    let completed = false;
    range(0, MANY)
      .pipe(
        admission.admit(demand(slot), (n) => {
          peak = Math.max(peak, slot.inUse());
          return of(n);
        }),
      )
      .subscribe({ next: (n) => values.push(n), complete: () => (completed = true) });
    expect([admission.queueSize, values.length]).toEqual([MANY, 0]);
    holder.release();
    expect([values.length, values[0], values.at(-1), completed, peak]).toEqual([MANY, 0, MANY - 1, true, 1]);
    expect([admission.queueSize, slot.inUse()]).toEqual([0, 0]);
  });

  it(`lets ${MANY} subscriptions that wait go in one turn, in order`, () => {
    const { admission, slot } = scene();
    const holder = new Job(admission, demand(slot));
    const order: number[] = [];
    for (let n = 0; n < MANY; n += 1) admission.defer(demand(slot), () => of(n)).subscribe((value) => order.push(value));
    holder.release();
    expect(order).toEqual(Array.from({ length: MANY }, (_, n) => n));
  });

  it('drains a line of asks for nothing that is made during a delivery', () => {
    const { admission, admit } = scene();
    let drained = 0;
    admission
      .defer(Demand.empty, () => range(0, MANY).pipe(admit(Demand.empty, () => of(1)), tap(() => drained++), count()))
      .subscribe();
    expect(drained).toBe(MANY);
  });

  it('does not recurse when each inner pushes the next item of its own source', () => {
    const { admit, slot } = scene();
    const source = new Subject<number>();
    let last = 0;
    let depth = 0;
    let deepest = 0;
    source
      .pipe(
        admit(demand(slot), (n) => {
          depth += 1;
          deepest = Math.max(deepest, depth);
          if (n < MANY) source.next(n + 1);
          depth -= 1;
          return of(n);
        }),
      )
      .subscribe((n) => (last = n));
    source.next(1);
    expect([last, deepest, slot.inUse()]).toEqual([MANY, 1, 0]);
  });

  it('does not recurse when a consumer asks again in complete, or in error', () => {
    for (const ending of [EMPTY, throwError(() => new Error('again'))]) {
      const { admission, slot } = scene();
      const holder = new Job(admission, demand(slot));
      let rounds = 0;
      const again = (): void => {
        rounds += 1;
        if (rounds <= MANY) admission.defer(demand(slot), () => ending).subscribe({ error: again, complete: again });
      };
      again();
      expect(rounds).toBe(1);
      // Let in by a delivery, each round asks inside one.
      holder.release();
      expect([rounds, slot.inUse()]).toEqual([MANY + 1, 0]);
    }
  });

  it('goes on where the clock lets synchronous inners in one by one', () => {
    const { admission, admit, scheduler } = scene();
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler });
    const values: number[] = [];
    range(0, 5)
      .pipe(admit(demand([tokens, 60_000]), (n) => of(n)))
      .subscribe((n) => values.push(n));
    expect(values).toEqual([0]);
    scheduler.advanceTo(120_000);
    expect(values).toEqual([0, 1, 2]);
    scheduler.advanceTo(240_000);
    expect([values, admission.queueSize, scheduler.pending, scheduler.peak]).toEqual([[0, 1, 2, 3, 4], 0, 0, 1]);
  });
});
