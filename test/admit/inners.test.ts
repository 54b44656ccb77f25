/** What project may answer, and how long each holds its grant: until it really ends, and not a moment longer. */
import { CountingGate, createAdmission, demand, type Grant } from 'rx-admission';
import {
  EMPTY,
  NEVER,
  Subject,
  asapScheduler,
  firstValueFrom,
  from,
  observable as interop,
  of,
  scheduled,
  timeout,
  toArray,
  type InteropObservable,
  type Observable,
  type ObservableInput,
} from 'rxjs';
import { describe, expect, it } from 'vitest';
import { inVirtualTime } from './in-virtual-time.js';
import { Job } from './job.js';
import { reports } from './reports.js';

const boom = new Error('boom');

const scene = (capacity = 1) => {
  const admission = createAdmission();
  const slot = new CountingGate({ name: 'slot', capacity });
  return { admission, admit: admission.admit, slot };
};

interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

function deferred<T>(): Deferred<T> {
  let settle!: Omit<Deferred<T>, 'promise'>;
  const promise = new Promise<T>((resolve, reject) => (settle = { resolve, reject }));
  return { promise, ...settle };
}

const turns = (count = 10): Promise<void> =>
  count === 0 ? Promise.resolve() : Promise.resolve().then(() => turns(count - 1));

describe('inners', () => {
  it('that never end hold their permit, and those behind them wait', () => {
    inVirtualTime(({ admit, gate, hot, cold, expectObservable, expectSubscriptions }) => {
      const source = hot('ab---|');
      const inner = cold('-x----');
      expectObservable(source.pipe(admit(demand(gate(1)), () => inner))).toBe('-x----');
      expectSubscriptions(source.subscriptions).toBe('^----!');
      expectSubscriptions(inner.subscriptions).toBe('^-----');
    });
  });

  it('that are empty go at once', () => {
    inVirtualTime(({ admit, gate, hot, cold, expectObservable, expectSubscriptions }) => {
      const inner = cold('|');
      expectObservable(hot('-ab--|').pipe(admit(demand(gate(1)), () => inner))).toBe('-----|');
      expectSubscriptions(inner.subscriptions).toBe(['-(^!)', '--(^!)']);
    });
  });

  it('that are never subscribed hold nothing: the operator is cold', () => {
    const { admission, admit, slot } = scene();
    void of('a').pipe(admit(demand(slot), () => NEVER));
    void admission.defer(demand(slot), () => NEVER);
    expect([slot.inUse(), admission.queueSize]).toEqual([0, 0]);
  });

  it.each<[string, () => ObservableInput<unknown>, unknown[]]>([
    ['an array', () => [1, 2], [1, 2]],
    ['a string', () => 'ab', ['a', 'b']],
    ['a set', () => new Set([1, 2]), [1, 2]],
    ['an array-like', () => ({ length: 2, 0: 'a', 1: 'b' }), ['a', 'b']],
    ['a promise', () => Promise.resolve(7), [7]],
    // eslint-disable-next-line @typescript-eslint/require-await -- an async generator is what is meant
    ['an async generator', async function* () { yield 1; yield 2; }, [1, 2]],
    ['a generator', function* () { yield 1; yield 2; }, [1, 2]],
    ['a ReadableStream', () => ReadableStream.from([1, 2]), [1, 2]],
    ['an observable', () => of(1, 2), [1, 2]],
    ['an observable of a scheduler', () => scheduled([1, 2], asapScheduler), [1, 2]],
    [
      "another library's observable",
      () => ({ [interop]: () => of(1, 2) }) as unknown as InteropObservable<number>,
      [1, 2],
    ],
  ])('may be %s', async (_what, project, expected) => {
    const { admit, slot } = scene();
    const values = await firstValueFrom(of('a').pipe(admit(demand(slot), project), toArray()));
    expect(values).toEqual(expected);
    expect(slot.inUse()).toBe(0);
  });

  describe('promises', () => {
    it('keep their grant until they settle, whatever the observer does', async () => {
      const { admission, slot } = scene();
      const work = deferred<string>();
      const values: unknown[] = [];
      const subscription = admission.defer(demand(slot), () => work.promise).subscribe((value) => values.push(value));
      const waiter = new Job(admission, demand(slot));
      subscription.unsubscribe();
      await turns();
      expect([slot.inUse(), waiter.state]).toEqual([1, 'waiting']);
      work.resolve('late');
      await turns();
      expect([slot.inUse(), waiter.state, values]).toEqual([1, 'granted', []]);
      waiter.release();
      expect(slot.inUse()).toBe(0);
    });

    it('abort their signal at once, so that they can end', async () => {
      const { admission, slot } = scene();
      const subscription = admission
        .defer(
          demand(slot),
          ({ signal }) =>
            new Promise((_resolve, reject) => {
              signal.addEventListener('abort', () => reject(signal.reason as Error));
            }),
        )
        .subscribe();
      expect(slot.inUse()).toBe(1);
      const reported = reports(() => subscription.unsubscribe());
      await turns();
      expect(slot.inUse()).toBe(0);
      expect(await reported).toEqual([]);
    });

    it('never run twice at capacity 1, though the observer times out again and again', async () => {
      const { admission, slot } = scene();
      let running = 0;
      let peak = 0;
      const works: Deferred<undefined>[] = [];
      const call = admission.defer(demand(slot), () => {
        running += 1;
        peak = Math.max(peak, running);
        const work = deferred<undefined>();
        works.push(work);
        return work.promise.finally(() => (running -= 1));
      });
      let timedOut = 0;
      for (let n = 0; n < 4; n += 1) {
        await firstValueFrom(call.pipe(timeout({ first: 0 }))).catch(() => (timedOut += 1));
      }
      expect([timedOut, works.length, peak, slot.inUse()]).toEqual([4, 1, 1, 1]);
      works[0]?.resolve(undefined);
      await turns();
      expect([running, slot.inUse(), admission.queueSize]).toEqual([0, 0, 0]);
    });

    it('release before the consumer hears, when they fulfil and when they reject', async () => {
      const { admission, slot } = scene();
      for (const work of [Promise.resolve('done'), Promise.reject(boom)]) {
        const inUse = await new Promise((resolve) => {
          const told = (): void => resolve(slot.inUse());
          admission.defer(demand(slot), () => work).subscribe({ error: told, complete: told });
        });
        expect(inUse).toBe(0);
      }
    });

    it('keep their grant when project has unsubscribed before it answers them', async () => {
      const { admit, slot } = scene();
      const work = deferred<string>();
      const source = new Subject<string>();
      const subscription = source
        .pipe(
          admit(demand(slot), () => {
            subscription.unsubscribe();
            return work.promise;
          }),
        )
        .subscribe();
      source.next('a');
      expect(slot.inUse()).toBe(1);
      const reported = reports(() => work.reject(boom));
      expect(await reported).toEqual([]);
      expect(slot.inUse()).toBe(0);
    });
  });

  describe('what is handed to grant.until', () => {
    it('keeps the grant beyond its inner, and the consumer is told meanwhile', async () => {
      const { admission, slot } = scene();
      const upload = deferred<undefined>();
      const log: unknown[] = [];
      let grant: Grant | undefined;
      admission
        .defer(demand(slot), (given) => {
          grant = given;
          given.until(upload.promise);
          return of('x');
        })
        .subscribe({ next: (value) => log.push(value), complete: () => log.push('complete', slot.inUse()) });
      expect([log, grant?.settled]).toEqual([['x', 'complete', 1], false]);
      upload.resolve(undefined);
      await turns();
      expect([slot.inUse(), grant?.settled]).toEqual([0, true]);
    });

    it('keeps the grant of an inner that was cut, and a failure of it needs no reader', async () => {
      const { admission, slot } = scene();
      const works = [deferred<undefined>(), deferred<undefined>()];
      const job = new Job(admission, demand(slot), {}, (grant) => {
        for (const { promise } of works) grant.until(promise);
        return NEVER;
      });
      job.unsubscribe();
      const reported = await reports(async () => {
        works[0]?.reject(boom);
        await turns();
        expect(slot.inUse()).toBe(1);
        works[1]?.resolve(undefined);
        await turns();
      });
      expect([slot.inUse(), reported]).toEqual([0, []]);
    });
  });

  describe('async iterables', () => {
    it('are told to return in the turn of the unsubscribe, and hold the grant until they have', async () => {
      const { admission, slot } = scene();
      const log: string[] = [];
      const cleanedUp = deferred<undefined>();
      async function* rows(): AsyncGenerator<number> {
        try {
          yield 1;
          yield 2;
        } finally {
          log.push('cleaning up');
          await cleanedUp.promise;
          log.push('clean');
        }
      }
      const values: number[] = [];
      const subscription = admission.defer(demand(slot), rows).subscribe((value) => {
        values.push(value);
        subscription.unsubscribe();
        log.push('unsubscribed');
      });
      await turns();
      expect([values, log, slot.inUse()]).toEqual([[1], ['unsubscribed', 'cleaning up'], 1]);
      cleanedUp.resolve(undefined);
      await turns();
      expect([log.at(-1), slot.inUse()]).toEqual(['clean', 0]);
    });

    it('call return at once, though a value is still awaited', async () => {
      const { admission, slot } = scene();
      const value = deferred<IteratorResult<number>>();
      const returned = deferred<IteratorResult<number>>();
      let returns = 0;
      const iterable: AsyncIterable<number> = {
        [Symbol.asyncIterator]: () => ({
          next: () => value.promise,
          return: () => {
            returns += 1;
            return returned.promise;
          },
        }),
      };
      const subscription = admission.defer(demand(slot), () => iterable).subscribe(() => expect.unreachable());
      subscription.unsubscribe();
      expect([returns, slot.inUse()]).toEqual([1, 1]);
      value.resolve({ value: 1 });
      await turns();
      expect(slot.inUse()).toBe(1);
      returned.reject(boom);
      await turns();
      expect([returns, slot.inUse()]).toEqual([1, 0]);
    });

    it('are not told to return once they are done, or have failed', async () => {
      const { admission, slot } = scene();
      let returns = 0;
      const endingIn = (end: () => Promise<IteratorResult<number>>): AsyncIterable<number> => ({
        [Symbol.asyncIterator]: () => ({ next: end, return: () => ((returns += 1), end()) }),
      });
      const ends = [
        (): Promise<IteratorResult<number>> => Promise.resolve({ done: true, value: undefined }),
        (): Promise<IteratorResult<number>> => Promise.reject(boom),
        (): Promise<IteratorResult<number>> => {
          throw boom;
        },
      ];
      const told: unknown[] = [];
      for (const end of ends) {
        await new Promise<void>((resolve) => {
          admission.defer(demand(slot), () => endingIn(end)).subscribe({
            error: (error: unknown) => {
              told.push(error);
              resolve();
            },
            complete: () => {
              told.push('complete');
              resolve();
            },
          });
        });
      }
      expect([told, returns, slot.inUse()]).toEqual([['complete', boom, boom], 0, 0]);
    });

    it('may have an iterator that fails, answers plain results, cannot return, or answers nothing to it', async () => {
      const { admission, slot } = scene();
      let calls = 0;
      const throwsLater: AsyncIterable<number> = {
        [Symbol.asyncIterator]: () => ({
          next: () => {
            calls += 1;
            if (calls > 1) throw boom;
            return Promise.resolve({ value: calls });
          },
        }),
      };
      const values: unknown[] = [];
      const end = await new Promise((resolve) => {
        admission.defer(demand(slot), () => throwsLater).subscribe({ next: (n) => values.push(n), error: resolve });
      });
      expect([end, values, slot.inUse()]).toEqual([boom, [1], 0]);
      for (const answer of [undefined, { done: true, value: undefined }]) {
        const plain = {
          [Symbol.asyncIterator]: () => ({ next: () => ({ value: 'plain' }), return: () => answer }),
        } as unknown as AsyncIterable<string>;
        const first = await new Promise((resolve) => {
          const subscription = admission.defer(demand(slot), () => plain).subscribe((value) => {
            subscription.unsubscribe();
            resolve(value);
          });
        });
        expect([first, slot.inUse()]).toEqual(['plain', 0]);
      }
    });
  });

  describe('streams', () => {
    it('are cancelled in the turn of the unsubscribe, and hold the grant until that is done', async () => {
      const { admission, slot } = scene();
      const cancelled = deferred<undefined>();
      let cancels = 0;
      const stream = new ReadableStream<number>({
        start(controller) {
          controller.enqueue(1);
        },
        cancel: () => {
          cancels += 1;
          return cancelled.promise;
        },
      });
      const values: number[] = [];
      const subscription = admission
        .defer(demand(slot), () => stream as unknown as ObservableInput<number>)
        .subscribe((value) => values.push(value));
      await turns();
      subscription.unsubscribe();
      expect([values, cancels, slot.inUse()]).toEqual([[1], 1, 1]);
      cancelled.reject(boom);
      await turns();
      expect(slot.inUse()).toBe(0);
    });

    it('pass their error on', async () => {
      const { admission, slot } = scene();
      const stream = new ReadableStream({ start: (controller) => controller.error(boom) });
      const end = firstValueFrom(admission.defer(demand(slot), () => stream as unknown as ObservableInput<number>));
      await expect(end).rejects.toBe(boom);
      expect(slot.inUse()).toBe(0);
    });
  });

  it('that are iterables are told to return when they are cut', () => {
    const { admission, slot } = scene();
    let returned = false;
    function* rows(): Generator<number> {
      try {
        yield 1;
        yield 2;
      } finally {
        returned = true;
      }
    }
    const source = new Subject<string>();
    const subscription = source.pipe(admission.admit(demand(slot), rows)).subscribe(() => subscription.unsubscribe());
    source.next('a');
    expect([returned, slot.inUse()]).toEqual([true, 0]);
  });
});

describe('a stream of calls that have not started', () => {
  it('runs observables and functions, in order, as mergeAll does', () => {
    inVirtualTime(({ admit, gate, hot, cold, expectObservable, expectSubscriptions }) => {
      const first = cold('--x|');
      const second = cold('--y|');
      const source = hot<Observable<string> | (() => Observable<string>)>('ab---|', { a: first, b: () => second });
      expectObservable(source.pipe(admit(demand(gate(1))))).toBe('--x--y|');
      expectSubscriptions(first.subscriptions).toBe('^--!');
      expectSubscriptions(second.subscriptions).toBe('---^--!');
    });
  });

  it('asks the demand function with the call and its index, and takes options', () => {
    const { admit, slot } = scene();
    const asked: unknown[] = [];
    const calls = [of('a'), () => ['b']];
    const values: unknown[] = [];
    from(calls)
      .pipe(
        admit((call, index) => {
          asked.push([call, index]);
          return demand([slot, index + 1]);
        }, { onRefused: (error) => of(error.reason) }),
      )
      .subscribe((value) => values.push(value));
    expect(asked).toEqual([
      [calls[0], 0],
      [calls[1], 1],
    ]);
    expect(values).toEqual(['a', 'circuit_blocked']);
  });

  it('fails on what has started already, before it asks for anything', async () => {
    const { admission, admit, slot } = scene();
    const events: string[] = [];
    admission.events$.subscribe(({ type }) => events.push(type));
    for (const [value, message] of [
      [Promise.resolve(1), 'a promise, which has started already'],
      [42, 'one of type number'],
      [null, 'one of type object'],
    ] as const) {
      let error: unknown;
      of(value as unknown as Observable<number>).pipe(admit(demand(slot))).subscribe({ error: (thrown: unknown) => (error = thrown) });
      expect(error).toBeInstanceOf(TypeError);
      expect((error as Error).message).toContain(message);
    }
    expect([events, slot.inUse()]).toEqual([[], 0]);
    await expect(firstValueFrom(of(EMPTY).pipe(admit(demand(slot)), toArray()))).resolves.toEqual([]);
  });
});
