/** Types of the ways in: what project answers is what comes out, and what stands in for a refused item joins it. */
import {
  CountingGate,
  createAdmission,
  demand,
  type Admission,
  type AdmissionError,
  type AdmissionEvent,
  type AdmissionStatus,
  type Demand,
  type DrainReport,
  type Grant,
  type Outcome,
  type QueueState,
} from 'rx-admission';
import { EMPTY, Observable, from, of, type OperatorFunction } from 'rxjs';
import { describe, expect, expectTypeOf, it } from 'vitest';

const admission = createAdmission();
const { admit } = admission;
const slot = new CountingGate({ name: 'slot', capacity: 5 });
const one = demand(slot);

interface Row {
  readonly id: number;
}
const rows$ = of<Row>({ id: 1 });

describe('admit(demand, project)', () => {
  it('puts out what project answers', () => {
    expectTypeOf(rows$.pipe(admit(one, (row) => of(`${row.id}`)))).toEqualTypeOf<Observable<string>>();
    expectTypeOf(rows$.pipe(admit(one, (row) => Promise.resolve(row.id)))).toEqualTypeOf<Observable<number>>();
    expectTypeOf(rows$.pipe(admit(one, (row) => [row, null]))).toEqualTypeOf<Observable<Row | null>>();
    expectTypeOf(rows$.pipe(admit(one, () => EMPTY))).toEqualTypeOf<Observable<never>>();
    expectTypeOf(
      rows$.pipe(
        admit(one, async function* (row) {
          await Promise.resolve();
          yield row.id;
        }),
      ),
    ).toEqualTypeOf<Observable<number>>();
    expectTypeOf(rows$.pipe(admit(one, (row) => (row.id > 1 ? of('many') : Promise.resolve(1))))).toEqualTypeOf<
      Observable<string | number>
    >();
  });

  it('gives demand and project the item, and project the grant', () => {
    void rows$.pipe(
      admit(
        (row, index) => {
          expectTypeOf(row).toEqualTypeOf<Row>();
          expectTypeOf(index).toEqualTypeOf<number>();
          return one;
        },
        (row, grant, index) => {
          expectTypeOf(row).toEqualTypeOf<Row>();
          expectTypeOf(grant).toEqualTypeOf<Grant>();
          expectTypeOf(index).toEqualTypeOf<number>();
          return of(row);
        },
      ),
    );
    expect.assertions(0);
  });

  it('lets the type of onRefused join the output', () => {
    const result = rows$.pipe(
      admit(one, (row) => of(row.id), {
        onRefused: (error, item) => {
          expectTypeOf(error).toEqualTypeOf<AdmissionError>();
          expectTypeOf(item).toEqualTypeOf<Row>();
          return of('refused' as const);
        },
      }),
    );
    expectTypeOf(result).toEqualTypeOf<Observable<number | 'refused'>>();
    const promised = rows$.pipe(admit(one, (row) => of(row.id), { onRefused: () => Promise.resolve(null) }));
    expectTypeOf(promised).toEqualTypeOf<Observable<number | null>>();
    const nothing = rows$.pipe(admit(one, (row) => of(row.id), { onRefused: () => EMPTY }));
    expectTypeOf(nothing).toEqualTypeOf<Observable<number>>();
  });

  it('is an operator function', () => {
    expectTypeOf(admit(one, (row: Row) => of(row.id))).toEqualTypeOf<OperatorFunction<Row, number>>();
  });

  it('refuses what is no demand, and what is no observable', () => {
    // @ts-expect-error -- an account is no demand
    void rows$.pipe(admit(slot, (row) => of(row)));
    // @ts-expect-error -- nor does a demand function answer one
    void rows$.pipe(admit(() => slot, (row) => of(row)));
    // @ts-expect-error -- a number is no observable
    void rows$.pipe(admit(one, (row) => row.id));
    // @ts-expect-error -- an item of another kind
    void rows$.pipe(admit(one, (row: string) => of(row)));
    // @ts-expect-error -- there is no such option
    expectTypeOf((): unknown => rows$.pipe(admit(one, (row) => of(row), { maxWaits: 5 }))).toBeFunction();
    // @ts-expect-error -- a wait is a number of ms
    void rows$.pipe(admit(one, (row) => of(row), { maxWait: '5s' }));
    // @ts-expect-error -- not an outcome
    void rows$.pipe(admit(one, (row) => of(row), { outcome: () => 'fine' }));
    expect.assertions(0);
  });
});

describe('admit(demand)', () => {
  it('takes a stream of observables or of functions that start the work', () => {
    expectTypeOf(of(of(1), of(2)).pipe(admit(one))).toEqualTypeOf<Observable<number>>();
    expectTypeOf(of(() => Promise.resolve('a')).pipe(admit(one))).toEqualTypeOf<Observable<string>>();
    expectTypeOf(from([() => of('a')]).pipe(admit(one, { maxWait: 5 }))).toEqualTypeOf<Observable<string>>();
    expectTypeOf(of(of(1)).pipe(admit(one, { onRefused: () => of('no' as const) }))).toEqualTypeOf<Observable<number | 'no'>>();
    expectTypeOf(of(of(1)).pipe(admit((call) => (call instanceof Observable ? one : demand())))).toEqualTypeOf<Observable<number>>();
  });

  it('takes no stream of promises: they have started already', () => {
    // @ts-expect-error -- a promise
    void of(Promise.resolve(1)).pipe(admit(one));
    // @ts-expect-error -- nor of values
    void of(1, 2).pipe(admit(one));
    expect.assertions(0);
  });
});

describe('defer, run, acquire, tryAcquire, each', () => {
  it('defer puts out what the factory answers', () => {
    expectTypeOf(admission.defer(one, (grant) => of(grant.wallWait))).toEqualTypeOf<Observable<number>>();
    expectTypeOf(admission.defer(() => one, () => Promise.resolve('a'))).toEqualTypeOf<Observable<string>>();
    expectTypeOf(admission.defer(one, () => [1], { onRefused: () => of(null) })).toEqualTypeOf<Observable<number | null>>();
    // @ts-expect-error -- not an observable
    void admission.defer(one, () => 5);
  });

  it('run answers a promise of the result', async () => {
    expectTypeOf(admission.run(one, () => 5)).toEqualTypeOf<Promise<number>>();
    const promised = admission.run(one, async ({ signal }) => {
      await Promise.resolve();
      return signal.aborted;
    });
    expectTypeOf(promised).toEqualTypeOf<Promise<boolean>>();
    await expect(promised).resolves.toBe(false);
    // @ts-expect-error -- run has no item to tell a demand by
    void admission.run(() => one, () => 5).catch(() => undefined);
  });

  it('acquire and tryAcquire answer the grant', () => {
    expectTypeOf(admission.acquire(one)).toEqualTypeOf<Promise<Grant>>();
    expectTypeOf(admission.tryAcquire(one)).toEqualTypeOf<Grant | null>();
  });

  it('each knows the items of iterables, async iterables and streams', () => {
    const asynchronous = async function* (): AsyncGenerator<Row> {
      await Promise.resolve();
      yield { id: 1 };
    };
    const project = (row: Row): Observable<number> => of(row.id);
    expectTypeOf(admission.each([{ id: 1 }], one, project)).toEqualTypeOf<Observable<number>>();
    expectTypeOf(admission.each(asynchronous(), (row) => (row.id > 1 ? one : demand()), project)).toEqualTypeOf<Observable<number>>();
    expectTypeOf(admission.each(new ReadableStream<Row>(), one, project, { prefetch: 3 })).toEqualTypeOf<Observable<number>>();
    expectTypeOf(admission.each(new Set(['a']), one, (letter) => letter, { onRefused: (_error, letter) => [letter.length] })).toEqualTypeOf<
      Observable<string | number>
    >();
    // @ts-expect-error -- an observable cannot be pulled from
    void admission.each(rows$, one, project);
  });
});

describe('what an admission shows', () => {
  it('is typed', () => {
    expectTypeOf(admission).toEqualTypeOf<Admission>();
    expectTypeOf(admission.events$).toEqualTypeOf<Observable<AdmissionEvent>>();
    expectTypeOf(admission.state$).toEqualTypeOf<Observable<QueueState>>();
    expectTypeOf(admission.status$).toEqualTypeOf<Observable<AdmissionStatus>>();
    expectTypeOf(admission.status()).toEqualTypeOf<AdmissionStatus>();
    expectTypeOf(admission.queueSize).toEqualTypeOf<number>();
    expectTypeOf(admission.nextDeadline).toEqualTypeOf<number | null>();
    expectTypeOf(admission.now()).toEqualTypeOf<number>();
    expectTypeOf<ReturnType<Admission['drain']>>().toEqualTypeOf<Promise<DrainReport>>();
    expectTypeOf<Admission>().toExtend<AsyncDisposable>();
  });

  it('and cannot be written to', () => {
    // @ts-expect-error -- a getter
    expect(() => (admission.queueSize = 5)).toThrow();
    const { line }: QueueState = { phase: 'open', queueSize: 0, nextDeadline: null, line: [] };
    // @ts-expect-error -- the line is read-only
    expect(line.push).toBeDefined();
  });
});

describe('a grant', () => {
  it('is typed', () => {
    expectTypeOf<Grant['demand']>().toEqualTypeOf<Demand>();
    expectTypeOf<Grant['job']>().toEqualTypeOf<unknown>();
    expectTypeOf<Grant['waitTimes']>().toEqualTypeOf<ReadonlyMap<string, number>>();
    expectTypeOf<Grant['signal']>().toEqualTypeOf<AbortSignal>();
    expectTypeOf<Grant['release']>().parameter(0).toEqualTypeOf<Outcome | undefined>();
    expectTypeOf<Grant>().toExtend<Disposable>();
  });
});

describe('a new admission', () => {
  it('takes the options there are', () => {
    // @ts-expect-error -- there is no such policy
    expect(() => createAdmission({ overflow: 'block' })).toThrow(RangeError);
    // @ts-expect-error -- there is no such option
    expect(() => createAdmission({ maxWaiter: 5 })).toThrow(TypeError);
    createAdmission({ memory: false, maxWaiters: 5, overflow: 'drop-oldest', name: 'kitchen' });
  });
});
