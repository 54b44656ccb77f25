/** Promise 5: an inner that fails, or an item that is refused, fails the whole output, in the order of an unsubscribe. */
import {
  AdmissionError,
  CountingGate,
  RefusedError,
  StoppedError,
  WaitTimeoutError,
  createAdmission,
  demand,
  type AdmitOptions,
  type Demand,
} from 'rx-admission';
import {
  EMPTY,
  NEVER,
  Observable,
  Subject,
  catchError,
  finalize,
  of,
  tap,
  throwError,
  toArray,
  type UnsubscriptionError,
} from 'rxjs';
import { describe, expect, it } from 'vitest';
import { CountingScheduler } from './counting-scheduler.js';
import { inVirtualTime } from './in-virtual-time.js';
import { Job } from './job.js';
import { reports } from './reports.js';

const boom = new Error('boom');

/** An AdmissionError as its reason, for a marble to show. */
const reasonOnly = <T>(out: Observable<T>): Observable<T> =>
  out.pipe(catchError((error: unknown) => throwError(() => (error instanceof AdmissionError ? error.reason : error))));

describe('promise 5: an inner that fails', () => {
  it('fails the whole output: waiters withdraw and the other inners are torn down in the same frame', () => {
    inVirtualTime(({ admit, gate, hot, cold, flush, expectObservable, expectSubscriptions }) => {
      const slot = gate(2);
      const source = hot('  a-b-c-d-------|');
      const sourceSubs = '  ^------!       ';
      const a = cold('      -------#       ', {}, boom);
      const aSubs = '       ^------!       ';
      const b = cold('        -x--------|  ');
      const bSubs = '       --^----!       ';
      const c = cold('      x|');
      const expected = '    ---x---#';
      const inners: Record<string, typeof a> = { a, b, c, d: c };
      const result = source.pipe(admit(demand(slot), (item) => inners[item] ?? EMPTY));

      expectObservable(result).toBe(expected, undefined, boom);
      expectSubscriptions(source.subscriptions).toBe(sourceSubs);
      expectSubscriptions(a.subscriptions).toBe(aSubs);
      expectSubscriptions(b.subscriptions).toBe(bSubs);
      expectSubscriptions(c.subscriptions).toBe([]);
      flush();
      expect(slot.inUse()).toBe(0);
    });
  });

  it('goes in order: its own teardown, withdrawal, signals, the other teardowns, releases, others go, the consumer hears', () => {
    const admission = createAdmission({ scheduler: new CountingScheduler() });
    const slot = new CountingGate({ name: 'slot', capacity: 3 });
    const log: string[] = [];
    const note = (what: string): void => void log.push(`${what} inUse=${slot.inUse()} queue=${admission.queueSize}`);
    const fails = new Subject<never>();
    const source = new Subject<string>();
    source
      .pipe(
        finalize(() => note('source left')),
        admission.admit((item) => demand([slot, item === 'big' ? 3 : 1]), (item, { signal }) => {
          signal.addEventListener('abort', () => note(`${item} aborts`));
          return (item === 'a' ? fails : NEVER).pipe(finalize(() => note(`${item} torn down`)));
        }),
      )
      .subscribe({ error: (error: unknown) => note(`told ${String(error)}`) });
    for (const item of ['a', 'b', 'big', 'c']) source.next(item);
    const other = new Job(admission, demand(slot), {}, () => (note('the other goes'), NEVER));
    expect(admission.queueSize).toBe(3);

    fails.error(boom);
    expect(log).toEqual([
      'a torn down inUse=2 queue=3',
      // The permit that was free goes to the other with the withdrawal.
      'source left inUse=3 queue=0',
      'b aborts inUse=2 queue=0',
      'b torn down inUse=2 queue=0',
      'the other goes inUse=1 queue=0',
      'told Error: boom inUse=1 queue=0',
    ]);
    other.unsubscribe();
    expect(slot.inUse()).toBe(0);
  });

  it('lets in none of its own waiters by the grant of the one that failed', () => {
    const admission = createAdmission({ scheduler: new CountingScheduler() });
    const slot = new CountingGate({ name: 'slot', capacity: 1 });
    const started: string[] = [];
    const events: string[] = [];
    admission.events$.subscribe(({ type, job }) => events.push(`${type} ${String(job)}`));
    const fails = new Subject<never>();
    let error: unknown;
    of('a', 'b', 'c')
      .pipe(admission.admit(demand(slot), (item) => (started.push(item), fails)))
      .subscribe({ error: (thrown: unknown) => (error = thrown) });
    fails.error(boom);
    expect(error).toBe(boom);
    expect(started).toEqual(['a']);
    expect(events.slice(3)).toEqual(['REJECTED b', 'REJECTED c', 'RELEASED a']);
  });

  it.each<[string, () => Observable<never>]>([
    ['fails at once', () => throwError(() => boom)],
    [
      'throws as it is subscribed',
      () =>
        new Observable(() => {
          throw boom;
        }),
    ],
    [
      'completes at once and cannot be torn down',
      () =>
        new Observable((subscriber) => {
          subscriber.complete();
          return () => {
            throw boom;
          };
        }),
    ],
  ])('holds for an inner that %s', (_how, inner) => {
    inVirtualTime(({ admission, gate, expectObservable, flush }) => {
      const slot = gate(1);
      expectObservable(admission.defer(demand(slot), inner)).toBe('#', undefined, boom);
      expectObservable(admission.defer(demand(slot), () => of('x'))).toBe('(x|)');
      flush();
      expect(slot.inUse()).toBe(0);
    });
  });

  it('tells the consumer though a teardown of another inner throws', () => {
    const admission = createAdmission({ scheduler: new CountingScheduler() });
    const slot = new CountingGate({ name: 'slot', capacity: 2 });
    const fails = new Subject<never>();
    let told: unknown;
    of('a', 'b')
      .pipe(
        admission.admit(demand(slot), (item) =>
          item === 'a'
            ? fails
            : new Observable(() => () => {
                throw new Error('b cannot be torn down');
              }),
        ),
      )
      .subscribe({ error: (error: unknown) => (told = error) });
    // RxJS hands what teardowns throw to whoever made them run: here, the one that fails.
    expect(() => fails.error(boom)).toThrow('b cannot be torn down');
    expect(told).toBe(boom);
    expect(slot.inUse()).toBe(0);
  });

  it('passes an error of the source through, and leaves nothing', () => {
    inVirtualTime(({ admit, gate, hot, cold, flush, expectObservable, expectSubscriptions }) => {
      const slot = gate(1);
      const source = hot('  a--b---#', {}, boom);
      const sourceSubs = '  ^------!';
      const inner = cold('  -x--------|');
      const innerSubs = '   ^------!';
      const expected = '    -x-----#';
      expectObservable(source.pipe(admit(demand(slot), () => inner))).toBe(expected, undefined, boom);
      expectSubscriptions(source.subscriptions).toBe(sourceSubs);
      expectSubscriptions(inner.subscriptions).toBe(innerSubs);
      flush();
      expect(slot.inUse()).toBe(0);
    });
  });

  it('fails the output when the demand function throws, and when what it answers is no demand', () => {
    inVirtualTime(({ admit, admission, gate, hot, cold, flush, expectObservable, expectSubscriptions }) => {
      const slot = gate(1);
      const source = hot('  a-b---|');
      const sourceSubs = '  ^-!    ';
      const inner = cold('  ----x|');
      const innerSubs = '   ^-!    ';
      const expected = '    --#    ';
      const throwing = admit(
        (item: string) => {
          if (item === 'b') throw boom;
          return demand(slot);
        },
        () => inner,
      );
      expectObservable(source.pipe(throwing)).toBe(expected, undefined, boom);
      expectSubscriptions(source.subscriptions).toBe(sourceSubs);
      expectSubscriptions(inner.subscriptions).toBe(innerSubs);
      flush();
      expect(slot.inUse()).toBe(0);
      let error: unknown;
      of('x')
        .pipe(admission.admit(() => 'much' as never, () => of(1)))
        .subscribe({ error: (thrown: unknown) => (error = thrown) });
      expect(error).toBeInstanceOf(TypeError);
    });
  });
});

describe('promise 5: an item that is refused', () => {
  it('fails the output with the AdmissionError, as an inner does', () => {
    inVirtualTime(({ admit, gate, hot, cold, flush, expectObservable, expectSubscriptions }) => {
      const slot = gate(2);
      const source = hot('  a-b---|');
      const sourceSubs = '  ^-!    ';
      const inner = cold('  ----x|');
      const innerSubs = '   ^-!    ';
      const errors: unknown[] = [];
      const result = source.pipe(
        admit((item) => demand([slot, item === 'b' ? 3 : 1]), () => inner),
        tap({ error: (error: unknown) => errors.push(error) }),
        reasonOnly,
      );
      expectObservable(result).toBe('--#', undefined, 'circuit_blocked');
      expectSubscriptions(source.subscriptions).toBe(sourceSubs);
      expectSubscriptions(inner.subscriptions).toBe(innerSubs);
      flush();
      expect(errors).toHaveLength(1);
      expect(errors[0]).toBeInstanceOf(RefusedError);
      expect(errors[0]).toMatchObject({ reason: 'circuit_blocked', account: 'gate', readable: true });
      expect(slot.inUse()).toBe(0);
    });
  });

  it('puts what onRefused answers in its place, without a permit', () => {
    inVirtualTime(({ admit, gate, hot, cold, flush, expectObservable }) => {
      const slot = gate(1);
      const refused: unknown[] = [];
      const result = hot('a-b-c----|').pipe(
        admit((item) => demand([slot, item === 'b' ? 2 : 1]), (item) => cold(`---${item}|`), {
          onRefused: (error, item) => {
            refused.push([error instanceof AdmissionError && error.reason, item, slot.inUse()]);
            return cold('--r|');
          },
        }),
      );
      expectObservable(result).toBe('---ar--c-|');
      flush();
      expect(refused).toEqual([['circuit_blocked', 'b', 1]]);
    });
  });

  it.each<[string, AdmitOptions<string, Observable<string>>]>([
    ['maxWait', { maxWait: 4 }],
    ['deadline', { deadline: 4 }],
  ])('hands onRefused what a wait that is too long ends with (%s)', (_option, options) => {
    inVirtualTime(({ admit, gate, cold, flush, expectObservable }) => {
      const errors: unknown[] = [];
      const result = of('a', 'b').pipe(
        admit(demand(gate(1)), (item) => cold(`---------${item}|`), {
          ...options,
          onRefused: (error) => {
            errors.push(error);
            return of('late');
          },
        }),
      );
      expectObservable(result).toBe('----l----a|', { l: 'late', a: 'a' });
      flush();
      expect(errors[0]).toBeInstanceOf(WaitTimeoutError);
    });
  });

  it('waits for what onRefused answered, tears it down with the rest, and fails with its error', () => {
    inVirtualTime(({ admit, gate, cold, hot, expectObservable, expectSubscriptions }) => {
      const stand = cold('----r|');
      const slot = gate(1);
      const refuse = (): Demand => demand([slot, 2]);
      expectObservable(of('x').pipe(admit(refuse, () => EMPTY, { onRefused: () => stand }))).toBe('----r|');
      expectObservable(of('x').pipe(admit(refuse, () => EMPTY, { onRefused: () => stand })), '^-!').toBe('---');
      expectSubscriptions(stand.subscriptions).toBe(['^----!', '^-!']);
      expectObservable(of('x').pipe(admit(refuse, () => EMPTY, { onRefused: () => cold('--#') }))).toBe('--#');
      expectObservable(hot('x---').pipe(admit(refuse, () => EMPTY, { onRefused: () => { throw boom; } }))).toBe('#', undefined, boom);
    });
  });

  it('takes a promise for a refused item, and handles its failure', async () => {
    const { admit } = createAdmission();
    const slot = new CountingGate({ name: 'slot', capacity: 1 });
    const refused = (failure: Promise<string>): Promise<unknown> =>
      new Promise((resolve) => {
        of('x')
          .pipe(admit(demand([slot, 2]), () => EMPTY, { onRefused: () => failure }), toArray())
          .subscribe({ next: resolve, error: resolve });
      });
    await expect(refused(Promise.resolve('stood in'))).resolves.toEqual(['stood in']);
    await expect(refused(Promise.reject(boom))).resolves.toBe(boom);
  });
});

describe('promise 5: stop with running inners', () => {
  it('reaches the output only after they have ended', () => {
    inVirtualTime(({ admission, admit, gate, hot, cold, at, flush, expectObservable, expectSubscriptions }) => {
      const errors: unknown[] = [];
      const source = hot('  abc---d----|');
      const sourceSubs = '  ^---!';
      const inner = cold('  -----x--|');
      const innerSubs = ['  ^-------!', '-^-------!'];
      const result = source.pipe(
        admit(demand(gate(2)), () => inner),
        tap({ error: (error: unknown) => errors.push(error) }),
        reasonOnly,
      );
      at(4, () => admission.stop('enough'));
      expectObservable(result).toBe('-----xx--#', undefined, 'shutdown');
      expectSubscriptions(source.subscriptions).toBe(sourceSubs);
      expectSubscriptions(inner.subscriptions).toBe(innerSubs);
      flush();
      expect(errors[0]).toBeInstanceOf(StoppedError);
      expect(errors[0]).toMatchObject({ reason: 'shutdown', cause: 'enough' });
    });
  });

  it('does not reach an output that asks for nothing more', () => {
    inVirtualTime(({ admission, admit, gate, hot, cold, at, expectObservable }) => {
      const result = hot('a--|').pipe(admit(demand(gate(1)), () => cold('-----x|')));
      at(2, () => admission.stop());
      expectObservable(result).toBe('-----x|');
    });
  });

  it('refuses the next item of a source that goes on, once what runs has ended', () => {
    inVirtualTime(({ admission, admit, gate, hot, cold, at, expectObservable, expectSubscriptions }) => {
      const source = hot('  a----b--c--|');
      const sourceSubs = '  ^----!';
      const inner = cold('  -------x|');
      const innerSubs = '   ^-------!';
      const expected = '    -------x#';
      at(2, () => admission.stop());
      expectObservable(source.pipe(admit(demand(gate(1)), () => inner), reasonOnly)).toBe(expected, undefined, 'shutdown');
      expectSubscriptions(source.subscriptions).toBe(sourceSubs);
      expectSubscriptions(inner.subscriptions).toBe(innerSubs);
    });
  });

  it('is overtaken by an inner that fails meanwhile', () => {
    inVirtualTime(({ admission, admit, gate, hot, cold, at, expectObservable }) => {
      const result = hot('ab---|').pipe(admit(demand(gate(1)), () => cold('-----#', {}, boom)));
      at(2, () => admission.stop());
      expectObservable(result).toBe('-----#', undefined, boom);
    });
  });

  it('lets onRefused stand in for those that were parked, and for later ones', () => {
    inVirtualTime(({ admission, admit, gate, hot, cold, at, expectObservable }) => {
      const result = hot('ab---c---|').pipe(
        admit(demand(gate(1)), () => cold('------x|'), { onRefused: (error, item) => of(`${item} ${error.reason}`) }),
      );
      at(2, () => admission.stop());
      expectObservable(result).toBe('--b--cx--|', { b: 'b shutdown', c: 'c shutdown', x: 'x' });
    });
  });

  it('fails the output though its source cannot be left, and reports why', async () => {
    const admission = createAdmission({ scheduler: new CountingScheduler() });
    const slot = new CountingGate({ name: 'slot', capacity: 1 });
    const holder = new Job(admission, demand(slot));
    const source = new Observable<string>((subscriber) => {
      subscriber.next('a');
      return () => {
        throw boom;
      };
    });
    let told: unknown;
    source.pipe(admission.admit(demand(slot), () => NEVER)).subscribe({ error: (error: unknown) => (told = error) });
    const reported = reports(() => admission.stop());
    expect(told).toBeInstanceOf(StoppedError);
    expect((await reported).map((error) => (error as UnsubscriptionError).errors as unknown[])).toEqual([[boom]]);
    holder.release();
    expect(slot.inUse()).toBe(0);
  });
});
