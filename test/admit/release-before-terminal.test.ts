/** Promise 3: an inner ends in one order: its teardown runs, its grant is released, and then the consumer is told. */
import { demand, type Admission, type CountingGate } from 'rx-admission';
import {
  EMPTY,
  NEVER,
  Observable,
  Subject,
  concatMap,
  defer,
  finalize,
  map,
  of,
  repeat,
  retry,
  switchMap,
  take,
  tap,
  throwError,
  timer,
} from 'rxjs';
import { describe, expect, it } from 'vitest';
import { inVirtualTime } from './in-virtual-time.js';

/** Every step of one inner's end, with what is in use at that step. */
const watched = (log: string[], slot: CountingGate) => {
  const note = (what: string): void => {
    log.push(`${what} inUse=${slot.inUse()}`);
  };
  return {
    note,
    consumer: {
      next: (value: unknown): void => note(`next ${String(value)}`),
      error: (error: unknown): void => note(`error ${String(error)}`),
      complete: (): void => note('complete'),
    },
  };
};

/** A consumer that asks again for the same thing in its terminal, and how many permits were ever out at once. */
const peakOf = (slot: CountingGate, admission: Admission, rounds: number, ending: Observable<unknown>): number => {
  let peak = 0;
  const again = (left: number): void => {
    const call = admission.defer(demand(slot), () => {
      peak = Math.max(peak, slot.inUse());
      return ending;
    });
    const next = (): void => {
      if (left > 1) again(left - 1);
    };
    call.subscribe({ error: next, complete: next });
    peak = Math.max(peak, slot.inUse());
  };
  again(rounds);
  return peak;
};

describe('promise 3: release before the terminal', () => {
  it('tears the inner down, releases its grant, and completes then', () => {
    inVirtualTime(({ admit, gate, cold, flush, expectSubscriptions }) => {
      const slot = gate(1);
      const log: string[] = [];
      const { note, consumer } = watched(log, slot);
      const inner = cold('--x|');
      of('item')
        .pipe(admit(demand(slot), () => inner.pipe(finalize(() => note('teardown')))))
        .subscribe(consumer);
      flush();
      expectSubscriptions(inner.subscriptions).toBe('^--!');
      expect(log).toEqual(['next x inUse=1', 'teardown inUse=1', 'complete inUse=0']);
    });
  });

  it('tears the inner down, releases its grant, and fails then', () => {
    inVirtualTime(({ admit, gate, cold, flush }) => {
      const slot = gate(1);
      const log: string[] = [];
      const { note, consumer } = watched(log, slot);
      of('item')
        .pipe(admit(demand(slot), () => cold('--x#', { x: 'x' }, 'boom').pipe(finalize(() => note('teardown')))))
        .subscribe(consumer);
      flush();
      expect(log).toEqual(['next x inUse=1', 'teardown inUse=1', 'error boom inUse=0']);
    });
  });

  it('has granted and debited the next one by then', () => {
    inVirtualTime(({ admission, admit, gate, cold, flush }) => {
      const slot = gate(1);
      const log: string[] = [];
      const { note, consumer } = watched(log, slot);
      of('item').pipe(admit(demand(slot), () => cold('--x|'))).subscribe(consumer);
      admission
        .defer(demand(slot), () => {
          note('the next starts');
          return NEVER;
        })
        .subscribe();
      flush();
      expect(log).toEqual(['next x inUse=1', 'the next starts inUse=1', 'complete inUse=1']);
    });
  });

  it('does not hold the grant of one inner until the others end', () => {
    inVirtualTime(({ admit, gate, hot, cold, expectObservable }) => {
      const result = hot('(ab)-c----|').pipe(
        admit(demand(gate(2)), (item) => (item === 'a' ? cold('---------a|') : cold(`--${item}|`))),
      );
      expectObservable(result).toBe('--b----c-a|');
    });
  });

  it.each<[string, Observable<unknown>]>([
    ['completes at once', of(1)],
    ['is empty', EMPTY],
    ['completes later', timer(3)],
    ['fails at once', throwError(() => new Error('boom'))],
    ['fails later', timer(3).pipe(concatMap(() => throwError(() => new Error('boom'))))],
  ])('never lets a consumer hold two permits by asking again in the terminal, when the inner %s', (_how, ending) => {
    inVirtualTime(({ admission, gate, flush }) => {
      const slot = gate(5);
      let peak = 0;
      peak = peakOf(slot, admission, 20, ending.pipe(tap({ subscribe: () => (peak = Math.max(peak, slot.inUse())) })));
      flush();
      expect(peak).toBe(1);
      expect(slot.inUse()).toBe(0);
    });
  });

  it('composes with repeat: each round asks anew and holds one permit at most', () => {
    inVirtualTime(({ admission, gate, cold, flush, expectObservable, expectSubscriptions }) => {
      const slot = gate(1);
      const call = cold('-x|');
      const out = admission.defer(demand(slot), () => call).pipe(repeat(3));
      expectObservable(out).toBe('-x-x-x|');
      flush();
      expectSubscriptions(call.subscriptions).toBe(['^-!', '--^-!', '----^-!']);
    });
  });

  describe('the teardown of an inner that grew while it ran', () => {
    const endings: [string, (inner: Observable<string>) => Observable<string>][] = [
      ['concatMap', (inner) => timer(1).pipe(concatMap(() => inner))],
      ['switchMap', (inner) => timer(1).pipe(switchMap(() => inner))],
      ['repeat', (inner) => timer(1).pipe(map((tick) => `${tick}`), repeat(1), switchMap(() => inner))],
      [
        'retry',
        (inner) => {
          let first = true;
          return defer(() => {
            if (!first) return inner;
            first = false;
            return timer(1).pipe(concatMap(() => throwError(() => new Error('once'))));
          }).pipe(retry(1));
        },
      ],
      [
        'a subscription added by hand',
        (inner) =>
          new Observable<string>((subscriber) => {
            // eslint-disable-next-line rxjs-x/no-nested-subscribe -- what a hand-written observable does
            const later = timer(1).subscribe(() => subscriber.add(inner.subscribe(subscriber)));
            return () => later.unsubscribe();
          }),
      ],
    ];

    it.each(endings)('comes before the release on unsubscribe (%s)', (_operator, nest) => {
      inVirtualTime(({ admission, gate, at, flush }) => {
        const slot = gate(1);
        const log: string[] = [];
        const { note } = watched(log, slot);
        const work = NEVER.pipe(finalize(() => note('teardown')));
        const subscription = admission.defer(demand(slot), () => nest(work)).subscribe();
        at(5, () => {
          subscription.unsubscribe();
          note('after');
        });
        flush();
        expect(log).toEqual(['teardown inUse=1', 'after inUse=0']);
      });
    });

    it.each(endings)('comes before the release and the terminal when it completes (%s)', (_operator, nest) => {
      inVirtualTime(({ admission, gate, cold, flush }) => {
        const slot = gate(1);
        const log: string[] = [];
        const { note, consumer } = watched(log, slot);
        const work = cold('--x|').pipe(finalize(() => note('teardown')));
        admission.defer(demand(slot), () => nest(work)).subscribe(consumer);
        flush();
        expect(log).toEqual(['next x inUse=1', 'teardown inUse=1', 'complete inUse=0']);
      });
    });
  });

  it('releases the grant of an inner that unsubscribes itself', () => {
    inVirtualTime(({ admission, gate, flush }) => {
      const slot = gate(1);
      const outcomes: unknown[] = [];
      const log: string[] = [];
      const { note, consumer } = watched(log, slot);
      const leaves = new Observable<string>((subscriber) => {
        subscriber.next('x');
        subscriber.add(() => note('teardown'));
        timer(2).subscribe(() => subscriber.unsubscribe());
      });
      admission.defer(demand(slot), () => leaves, { outcome: (ending) => (outcomes.push(ending), 'success') }).subscribe(consumer);
      flush();
      // It never said that it completed; but nothing is left that could.
      expect(log).toEqual(['next x inUse=1', 'teardown inUse=1', 'complete inUse=0']);
      expect(outcomes).toEqual([]);
    });
  });

  it('releases at once when an inner unsubscribes itself while it is being subscribed', () => {
    inVirtualTime(({ admission, gate }) => {
      const slot = gate(1);
      const log: string[] = [];
      const { consumer } = watched(log, slot);
      admission.defer(demand(slot), () => new Observable<string>((subscriber) => subscriber.unsubscribe())).subscribe(consumer);
      expect(log).toEqual(['complete inUse=0']);
    });
  });

  it('waits for every inner before it completes, and for the source', () => {
    inVirtualTime(({ admit, gate, hot, cold, expectObservable, expectSubscriptions }) => {
      const source = hot('a-b-|');
      const result = source.pipe(admit(demand(gate(2)), (item) => cold(item === 'a' ? '--------a--|' : 'b|')));
      expectObservable(result).toBe('--b-----a--|');
      expectSubscriptions(source.subscriptions).toBe('^---!');
    });
  });

  it('stays open while the source does', () => {
    inVirtualTime(({ admit, gate, cold, hot, expectObservable }) => {
      expectObservable(hot('a-----').pipe(admit(demand(gate(1)), () => cold('x|')))).toBe('x-----');
      expectObservable(hot('------|').pipe(admit(demand(gate(1)), () => cold('x|')))).toBe('------|');
    });
  });

  it('documents take(1) downstream: it completes before it tears down, so the permit is still out in its complete', () => {
    inVirtualTime(({ admission, gate }) => {
      const slot = gate(1);
      const log: string[] = [];
      const { consumer, note } = watched(log, slot);
      const values = new Subject<string>();
      admission.defer(demand(slot), () => values).pipe(take(1)).subscribe(consumer);
      values.next('x');
      note('after');
      expect(log).toEqual(['next x inUse=1', 'complete inUse=1', 'after inUse=0']);
    });
  });
});
