/** `each` over iterables: it pulls only as fast as its items are admitted, and drives the iterator itself. */
import { CountingGate, StoppedError, TokenBucket, createAdmission, demand, type Admission } from 'rx-admission';
import { NEVER, Subject, count, finalize, of, take, tap, toArray, type Observable } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { inVirtualTime } from '../admit/in-virtual-time.js';
import { Job } from '../admit/job.js';

const PATIENCE = 180_000;
const boom = new Error('boom');

const scene = (capacity = 1) => {
  const scheduler = new CountingScheduler();
  const admission: Admission = createAdmission({ scheduler });
  const slot = new CountingGate({ name: 'slot', capacity, scheduler });
  return { scheduler, admission, slot };
};

/** Numbers from 1, which tell how far they were pulled, and whether they were told to return. */
function numbers(upTo = Infinity): { pulled: number; returned: number } & Iterable<number> {
  const source = {
    pulled: 0,
    returned: 0,
    *[Symbol.iterator]() {
      try {
        for (let n = 1; n <= upTo; n += 1) {
          source.pulled = n;
          yield n;
        }
      } finally {
        source.returned += 1;
      }
    },
  };
  return source;
}

describe('each', () => {
  it('runs every item as admit does, in order', () => {
    inVirtualTime(({ admission, gate, cold, expectObservable, expectSubscriptions }) => {
      const inner = cold('  ------x|');
      const innerSubs = ['  ^------!', '^------!', '-------^------!'];
      const expected = '    ------(xx)---x|';
      expectObservable(admission.each(['a', 'b', 'c'], demand(gate(2)), () => inner)).toBe(expected);
      expectSubscriptions(inner.subscriptions).toBe(innerSubs);
    });
  });

  it('pulls one item ahead of those admitted, unless told otherwise', () => {
    for (const [prefetch, waiting] of [
      [undefined, 1],
      [1, 1],
      [4, 4],
    ] as const) {
      const { admission, slot } = scene(2);
      const source = numbers();
      const ends: Subject<void>[] = [];
      admission
        .each(
          source,
          demand(slot),
          () => {
            const end = new Subject<void>();
            ends.push(end);
            return end;
          },
          prefetch === undefined ? {} : { prefetch },
        )
        .subscribe();
      expect([source.pulled, admission.queueSize]).toEqual([2 + waiting, waiting]);
      ends[0]?.complete();
      expect([source.pulled, admission.queueSize, ends.length]).toEqual([3 + waiting, waiting, 3]);
    }
  });

  it('never has more than prefetch of ten thousand items waiting', () => {
    const { admission, slot, scheduler } = scene(3);
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 600_000, scheduler });
    let most = 0;
    admission.state$.subscribe(({ line }) => (most = Math.max(most, line.length)));
    let done = 0;
    let completed = false;
    admission
      .each(numbers(10_000), (n) => demand(slot, [tokens, 1 + (n % 7)]), (n) => of(n), { prefetch: 5 })
      .subscribe({ next: () => (done += 1), complete: () => (completed = true) });
    scheduler.advanceTo(60_000);
    expect([done, completed, most, slot.inUse()]).toEqual([10_000, true, 0, 0]);
    const other = new TokenBucket({ name: 'other', tokensPerMinute: 60_000, scheduler });
    admission.each(numbers(10_000), demand([other, 60]), (n) => of(n), { prefetch: 5 }).subscribe(() => (done += 1));
    scheduler.advanceTo(60_000 + 9_000 * 60);
    expect([done, most]).toEqual([20_000, 5]);
  }, PATIENCE);

  it('runs a million items that end at once, without recursion', () => {
    const { admission, slot } = scene();
    let counted = 0;
    admission.each(numbers(1_000_000), demand(slot), () => [1]).pipe(count()).subscribe((n) => (counted = n));
    expect([counted, slot.inUse()]).toEqual([1_000_000, 0]);
  }, PATIENCE);

  it('does not recurse when many items go in one turn, one after the other', () => {
    const { admission, slot } = scene();
    const holder = new Job(admission, demand(slot));
    let counted = 0;
    admission.each(numbers(20_000), demand(slot), () => [1]).pipe(count()).subscribe((n) => (counted = n));
    expect(counted).toBe(0);
    holder.release();
    expect(counted).toBe(20_000);
  }, PATIENCE);

  it('is cold: each subscription iterates anew, and nothing is iterated before', () => {
    const { admission, slot } = scene();
    const source = numbers(3);
    const out: Observable<number> = admission.each(source, demand(slot), (n) => of(n));
    expect(source.pulled).toBe(0);
    const values: number[][] = [];
    out.pipe(toArray()).subscribe((all) => values.push(all));
    out.pipe(toArray()).subscribe((all) => values.push(all));
    expect([values, source.returned]).toEqual([[[1, 2, 3], [1, 2, 3]], 2]);
  });

  it('calls return in the turn of the unsubscribe, first', () => {
    const { admission, slot } = scene();
    const source = numbers();
    const log: string[] = [];
    const subscription = admission
      .each(source, demand(slot), (n) => NEVER.pipe(finalize(() => log.push(`${n} torn down, returned ${source.returned}`))))
      .subscribe();
    subscription.unsubscribe();
    expect([log, source.returned, slot.inUse(), admission.queueSize]).toEqual([['1 torn down, returned 1'], 1, 0, 0]);
  });

  it('calls return when a consumer has had enough, and pulls no further', () => {
    const { admission, slot } = scene();
    const source = numbers();
    const values: number[] = [];
    admission.each(source, demand(slot), (n) => of(n)).pipe(take(2)).subscribe((n) => values.push(n));
    expect([values, source.pulled, source.returned]).toEqual([[1, 2], 2, 1]);
  });

  it('calls return when an inner fails, when an item is refused, and when admission stops', () => {
    const failing = scene();
    const source = numbers();
    const errors: unknown[] = [];
    failing.admission
      .each(source, demand(failing.slot), () => {
        throw boom;
      })
      .subscribe({ error: (error: unknown) => errors.push(error) });
    const refused = numbers();
    failing.admission
      .each(refused, (n) => demand([failing.slot, n]), (n) => of(n))
      .subscribe({ error: (error: unknown) => errors.push((error as { reason: string }).reason) });
    const stopped = numbers();
    failing.admission
      .each(stopped, demand(failing.slot), () => NEVER)
      .subscribe({ error: (error: unknown) => errors.push(error) });
    failing.admission.stop();
    expect(errors).toEqual([boom, 'circuit_blocked']);
    expect([source.returned, refused.pulled, refused.returned, stopped.pulled, stopped.returned]).toEqual([1, 2, 1, 2, 1]);
  });

  it('tells of the stop once what runs has ended', () => {
    const { admission, slot } = scene();
    const end = new Subject<void>();
    let error: unknown;
    admission.each(numbers(), demand(slot), () => end).subscribe({ error: (thrown: unknown) => (error = thrown) });
    admission.stop();
    expect(error).toBeUndefined();
    end.complete();
    expect(error).toBeInstanceOf(StoppedError);
  });

  it('goes on after an item that onRefused stood in for', () => {
    const { admission, slot } = scene();
    const values: unknown[] = [];
    admission
      .each(numbers(3), (n) => demand([slot, n === 2 ? 2 : 1]), (n) => of(n), { onRefused: (_error, n) => of(`no ${n}`) })
      .subscribe((value) => values.push(value));
    expect(values).toEqual([1, 'no 2', 3]);
  });

  it('does not call return on an iterator that is done, or that failed', () => {
    const { admission, slot } = scene();
    let returned = 0;
    const over = (next: () => IteratorResult<number>): Iterable<number> => ({
      [Symbol.iterator]: () => ({ next, return: () => ((returned += 1), { done: true, value: undefined }) }),
    });
    const told: unknown[] = [];
    const observer = { error: (error: unknown) => told.push(error), complete: () => told.push('complete') };
    admission.each(over(() => ({ done: true, value: undefined })), demand(slot), () => NEVER).subscribe(observer);
    admission
      .each(over(() => {
        throw boom;
      }), demand(slot), () => NEVER)
      .subscribe(observer);
    expect([told, returned]).toEqual([['complete', boom], 0]);
  });

  it('fails after the running inners are torn down when the iterator fails in the middle', () => {
    const { admission, slot } = scene(2);
    function* rows(): Generator<number> {
      yield 1;
      throw boom;
    }
    const log: string[] = [];
    admission
      .each(rows(), demand(slot), () => NEVER.pipe(finalize(() => log.push('torn down'))))
      .subscribe({ error: (error: unknown) => log.push(String(error)) });
    expect([log, slot.inUse()]).toEqual([['torn down', 'Error: boom'], 0]);
  });

  it('may be left from inside the iterator itself', () => {
    const { admission, slot } = scene(3);
    const log: string[] = [];
    for (const end of ['yields', 'ends', 'throws']) {
      const source: Iterable<number> = {
        *[Symbol.iterator]() {
          try {
            yield 1;
            try {
              subscription.unsubscribe();
            } catch (error) {
              log.push(String(error));
            }
            if (end === 'throws') throw boom;
            if (end === 'yields') yield 2;
          } finally {
            log.push(`${end}: left`);
          }
        },
      };
      const first = new Job(admission, demand([slot, 3]));
      const subscription = admission
        .each(source, demand([slot, 3]), (n) => of(n))
        .subscribe({ next: (n) => log.push(`${end}: ${n}`), error: () => expect.unreachable() });
      first.release();
    }
    expect(log).toEqual(['yields: 1', 'yields: left', 'ends: 1', 'ends: left', 'throws: 1', 'throws: left']);
    expect([slot.inUse(), admission.queueSize]).toEqual([0, 0]);
  });

  it('tears everything down though the iterator cannot be left', () => {
    const { admission, slot } = scene();
    const source: Iterable<number> = {
      [Symbol.iterator]: () => ({
        next: () => ({ value: 1 }),
        return: () => {
          throw boom;
        },
      }),
    };
    const subscription = admission.each(source, demand(slot), () => NEVER).subscribe();
    expect(() => subscription.unsubscribe()).toThrow('boom');
    expect([slot.inUse(), admission.queueSize]).toEqual([0, 0]);
  });

  it('works with an iterator that has no return', () => {
    const { admission, slot } = scene();
    const source: Iterable<number> = { [Symbol.iterator]: () => ({ next: () => ({ value: 1 }) }) };
    admission.each(source, demand(slot), () => NEVER).subscribe().unsubscribe();
    expect([slot.inUse(), admission.queueSize]).toEqual([0, 0]);
  });

  it('refuses a prefetch that is no positive whole number, and fails on what cannot be iterated', () => {
    const { admission, slot } = scene();
    for (const prefetch of [0, -1, 1.5, Number.NaN]) {
      expect(() => admission.each([1], demand(slot), () => NEVER, { prefetch })).toThrow(RangeError);
    }
    let error: unknown;
    admission.each(7 as never, demand(slot), () => NEVER).subscribe({ error: (thrown: unknown) => (error = thrown) });
    expect(error).toBeInstanceOf(TypeError);
  });

  it('passes item, grant and index on, and takes the options of admit', () => {
    const { admission, slot } = scene();
    const seen: unknown[] = [];
    admission
      .each(['a', 'b'], (item, index) => (seen.push([item, index]), demand(slot)), (item, grant, index) => {
        seen.push([item, grant.job, index, grant.settled]);
        return of(item);
      }, { job: (item: string) => `job ${item}` })
      .pipe(tap((item) => seen.push(item)))
      .subscribe();
    expect(seen).toEqual([
      ['a', 0],
      ['a', 'job a', 0, false],
      'a',
      ['b', 1],
      ['b', 'job b', 1, false],
      'b',
    ]);
  });
});
