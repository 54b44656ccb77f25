/** The ways in beside the operator: defer, run, acquire, tryAcquire. One line of waiters for all of them. */
import {
  CancelledError,
  Demand,
  RefusedError,
  StoppedError,
  TokenBucket,
  WaitTimeoutError,
  createAdmission,
  demand,
  type Grant,
} from 'rx-admission';
import { EMPTY, type Observable, Subject, concat, defer, of, repeat, retry, throwError, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { inVirtualTime } from '../admit/in-virtual-time.js';
import { scene } from './scene.js';

const boom = new Error('boom');

describe('defer', () => {
  it('is a new demand with every subscription', () => {
    const { admission, slot, events } = scene(2);
    const call = admission.defer(demand(slot), () => EMPTY, { job: 'call' });
    call.subscribe();
    call.subscribe();
    expect(events.map((line) => line.split(' ')[1])).toEqual(['GRANTED_IMMEDIATE', 'RELEASED', 'GRANTED_IMMEDIATE', 'RELEASED']);
  });

  it('takes a function to a demand, asked at every subscription', () => {
    const { admission, slot } = scene(5);
    let weight = 0;
    const weights: unknown[] = [];
    const call = admission.defer(
      () => demand([slot, (weight += 1)]),
      (grant) => {
        weights.push(grant.demand.entries[0]?.amounts);
        return EMPTY;
      },
    );
    call.pipe(repeat(3)).subscribe();
    expect(weights).toEqual([[1], [2], [3]]);
  });

  it('holds nothing during a back-off, and asks again after it, at the end of the line', () => {
    inVirtualTime(({ admission, gate, cold, expectObservable, expectSubscriptions }) => {
      const slot = gate(1);
      const fails = cold('-#', {}, boom);
      const works = cold('--y|');
      const other = cold('-----x|');
      let attempt = 0;
      const call = admission
        .defer(demand(slot), () => ((attempt += 1) === 1 ? fails : works))
        .pipe(retry({ count: 1, delay: () => timer(3) }));
      expectObservable(call).toBe('---------y|');
      // Waits from 0, has the permit during the whole back-off and beyond: the retry waits behind it.
      expectObservable(admission.defer(demand(slot), () => other)).toBe('------x|');
      expectSubscriptions(fails.subscriptions).toBe('^!');
      expectSubscriptions(other.subscriptions).toBe('-^-----!');
      expectSubscriptions(works.subscriptions).toBe('-------^--!');
    });
  });

  it('composes with concat and repeat: one permit at most, and others get their turn between', () => {
    inVirtualTime(({ admission, gate, cold, expectObservable, expectSubscriptions }) => {
      const slot = gate(1);
      const one = cold('-a|');
      const two = cold('-b|');
      const between = cold('--z|');
      const call = (inner: typeof one): Observable<string> => admission.defer(demand(slot), () => inner);
      expectObservable(concat(call(one), call(two))).toBe('-a----b|');
      expectObservable(call(between)).toBe('----z|');
      expectSubscriptions(one.subscriptions).toBe('^-!');
      expectSubscriptions(between.subscriptions).toBe('--^--!');
      expectSubscriptions(two.subscriptions).toBe('-----^-!');
    });
  });
});

describe('run', () => {
  it('releases when the result settles, and passes it on', async () => {
    const { admission, slot } = scene();
    const seen: unknown[] = [];
    const result = admission.run(demand(slot), async (grant) => {
      seen.push(slot.inUse(), grant.settled);
      await Promise.resolve();
      seen.push(slot.inUse());
      return 'rows';
    });
    expect(seen).toEqual([1, false]);
    await expect(result).resolves.toBe('rows');
    expect([seen, slot.inUse()]).toEqual([[1, false, 1], 0]);
  });

  it('has released by the time the caller hears', async () => {
    const { admission, slot } = scene();
    await admission.run(demand(slot), () => Promise.resolve()).then(() => expect(slot.inUse()).toBe(0));
    await admission.run(demand(slot), () => Promise.reject(boom)).catch(() => expect(slot.inUse()).toBe(0));
    expect.assertions(2);
  });

  it('takes plain results and thenables', async () => {
    const { admission, slot } = scene();
    await expect(admission.run(demand(slot), () => 7)).resolves.toBe(7);
    const thenable = { then: (done: (value: string) => void) => done('soon') } as PromiseLike<string>;
    await expect(admission.run(demand(slot), () => thenable)).resolves.toBe('soon');
    expect(slot.inUse()).toBe(0);
  });

  it('passes a failure on and releases; a throw rolls back', async () => {
    const { admission, slot, clock } = scene();
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    await expect(admission.run(demand(slot, [tokens, 100]), () => Promise.reject(boom))).rejects.toBe(boom);
    expect([slot.inUse(), tokens.tokens()]).toEqual([0, 59_900]);
    const thrown = admission.run(demand(slot, [tokens, 100]), () => {
      throw boom;
    });
    expect([slot.inUse(), tokens.tokens()]).toEqual([0, 59_900]);
    await expect(thrown).rejects.toBe(boom);
  });

  it('waits its turn, and rejects with what refused it', async () => {
    const { admission, slot, ask, clock } = scene();
    const holder = ask('H');
    const order: string[] = [];
    const first = admission.run(demand(slot), () => order.push('first'));
    const second = admission.run(demand(slot), () => order.push('second'));
    holder.release();
    await Promise.all([first, second]);
    expect(order).toEqual(['first', 'second']);
    await expect(admission.run(demand([slot, 2]), () => 1)).rejects.toBeInstanceOf(RefusedError);
    ask('H2');
    const late = admission.run(demand(slot), () => 1, { maxWait: 10 });
    clock.advanceTo(10);
    await expect(late).rejects.toBeInstanceOf(WaitTimeoutError);
  });

  it('goes on when its signal aborts in the middle: the grant follows the work', async () => {
    const { admission, slot } = scene();
    const controller = new AbortController();
    let end: (() => void) | undefined;
    const result = admission.run(
      demand(slot),
      ({ signal }) =>
        new Promise<string>((resolve) => {
          end = () => resolve(`aborted: ${signal.aborted}`);
        }),
      { signal: controller.signal },
    );
    controller.abort();
    expect(slot.inUse()).toBe(1);
    end?.();
    await expect(result).resolves.toBe('aborted: true');
    expect(slot.inUse()).toBe(0);
  });

  it('rejects on what is no demand', async () => {
    const { admission } = scene();
    await expect(admission.run({} as never, () => 1)).rejects.toThrow('an ask needs a Demand');
    await expect(admission.acquire(null as never)).rejects.toThrow('not null');
    await expect(admission.acquire('much' as never)).rejects.toThrow(TypeError);
  });
});

describe('acquire', () => {
  it('hands the grant over, to settle by hand', async () => {
    const { admission, slot } = scene();
    const grant = await admission.acquire(demand(slot), { job: 'mine' });
    expect([slot.inUse(), grant.job, grant.settled]).toEqual([1, 'mine', false]);
    grant.release();
    expect([slot.inUse(), grant.settled]).toEqual([0, true]);
  });

  it('is settled by using, at the end of the block and when it throws', async () => {
    const { admission, slot } = scene();
    const inside: number[] = [];
    {
      using grant = await admission.acquire(demand(slot));
      inside.push(slot.inUse(), Number(grant.settled));
    }
    await expect(
      (async () => {
        using _grant = await admission.acquire(demand(slot));
        inside.push(slot.inUse());
        throw boom;
      })(),
    ).rejects.toBe(boom);
    expect([inside, slot.inUse()]).toEqual([[1, 0, 1], 0]);
  });

  it('stands in the same line as the operator', async () => {
    const { admission, slot, ask } = scene();
    const holder = ask('H');
    const acquired = admission.acquire(demand(slot));
    const behind = ask('B');
    holder.release();
    const grant = await acquired;
    expect(behind.state).toBe('waiting');
    grant.release();
    expect(behind.state).toBe('granted');
  });

  it('rejects when it is cancelled, and keeps nothing', async () => {
    const { admission, slot, ask } = scene();
    ask('H');
    const controller = new AbortController();
    const acquired = admission.acquire(demand(slot), { signal: controller.signal });
    controller.abort(boom);
    await expect(acquired).rejects.toMatchObject({ name: 'AbortError', cause: boom });
    expect(admission.queueSize).toBe(0);
  });
});

describe('tryAcquire', () => {
  it('answers at once: the grant where it fits, else null and no trace', () => {
    const { admission, slot, events } = scene();
    const grant = admission.tryAcquire(demand(slot));
    expect([grant?.settled, slot.inUse()]).toEqual([false, 1]);
    events.length = 0;
    expect(admission.tryAcquire(demand(slot))).toBeNull();
    expect([events, admission.queueSize, admission.status().waiters]).toEqual([[], 0, []]);
    expect(admission.status().accounts.map(({ waiters }) => waiters)).toEqual([0]);
    grant?.release();
    expect(events).toEqual(['0 RELEASED slot undefined waiters=0 amount=1']);
    expect(admission.status().accounts).toEqual([]);
    using again = admission.tryAcquire(demand(slot));
    expect(again?.settled).toBe(false);
  });

  it('never passes the head, and takes what the head leaves free', () => {
    const { admission, slot, ask, gate } = scene(3);
    ask('H');
    const head = ask('HEAD', 3);
    // Two permits are free, and all of them are kept for the head.
    expect(admission.tryAcquire(demand(slot))).toBeNull();
    const other = gate('other', 1);
    expect(admission.tryAcquire(demand(other))?.settled).toBe(false);
    expect(admission.tryAcquire(demand(other, slot))).toBeNull();
    head.unsubscribe();
    expect(admission.tryAcquire(demand([slot, 2]))?.settled).toBe(false);
  });

  it('may pass a follower, as whoever asks last may', () => {
    const { admission, slot, ask, gate } = scene(1);
    const other = gate('other', 2);
    const third = gate('third', 1);
    ask('H');
    ask('HEAD');
    const blocker = admission.tryAcquire(demand(third));
    void admission.acquire(demand([other, 2], third)).then(() => expect.unreachable(), () => undefined);
    expect(blocker).not.toBeNull();
    expect(admission.tryAcquire(demand([other, 2]))?.settled).toBe(false);
    expect([admission.queueSize, slot.inUse()]).toEqual([2, 1]);
  });

  it('answers null behind a head that waits for the heap', async () => {
    const { MemoryGate } = await import('rx-admission');
    let heap = 0.96;
    const memory = new MemoryGate({ heap: () => heap, collect: false, log: { warn: () => undefined, info: () => undefined } });
    const { admission, slot, ask, clock } = scene(5, { memory });
    expect(admission.tryAcquire(demand(slot))).toBeNull();
    ask('HEAD');
    heap = 0.5;
    expect(admission.tryAcquire(demand(slot))).toBeNull();
    expect(admission.tryAcquire(Demand.empty)?.isEmpty).toBe(true);
    clock.advanceTo(2_000);
    expect(admission.tryAcquire(demand(slot))?.settled).toBe(false);
  });

  it('throws when the demand is refused, and tells of it', () => {
    const { admission, slot, events } = scene();
    expect(() => admission.tryAcquire(demand([slot, 2]))).toThrow(RefusedError);
    expect(events).toEqual(['0 REJECTED slot undefined waiters=0 amount=1 wait=0 reason=circuit_blocked']);
    expect(admission.status().accounts).toEqual([]);
    expect(() => admission.tryAcquire('x' as never)).toThrow(TypeError);
    admission.stop();
    expect(() => admission.tryAcquire(demand(slot))).toThrow(StoppedError);
  });

  it('has told of the grant, and shows it, by the time it returns', () => {
    const { admission, slot, events } = scene();
    const grants: number[] = [];
    admission.status$.subscribe(({ grants: held }) => grants.push(held.length));
    const grant = admission.tryAcquire(demand(slot));
    expect(events).toEqual(['0 GRANTED_IMMEDIATE slot undefined waiters=0 amount=1']);
    grant?.rollback();
    expect(grants).toEqual([0, 1, 0]);
  });

  it('works inside a delivery as outside', () => {
    const { admission, slot } = scene();
    const grants: (Grant | null)[] = [];
    admission
      .defer(Demand.empty, () => {
        grants.push(admission.tryAcquire(demand(slot)), admission.tryAcquire(demand(slot)));
        return of(1);
      })
      .subscribe();
    expect(grants.map((grant) => grant?.settled ?? null)).toEqual([false, null]);
  });
});

describe('destructuring', () => {
  it('leaves admit bound to its admission', () => {
    const { admit } = createAdmission();
    const values: unknown[] = [];
    of('a').pipe(admit(Demand.empty, (item) => of(item))).subscribe((value) => values.push(value));
    expect(values).toEqual(['a']);
  });

  it('leaves the others bound as well', async () => {
    const { admission, slot } = scene(2);
    const { defer: deferred, run, acquire, tryAcquire, each } = admission;
    const values: unknown[] = [];
    deferred(demand(slot), () => of('defer')).subscribe((value) => values.push(value));
    each(['each'], demand(slot), (item) => of(item)).subscribe((value) => values.push(value));
    values.push(await run(demand(slot), () => 'run'));
    (await acquire(demand(slot))).release();
    tryAcquire(demand(slot))?.release();
    expect([values, slot.inUse()]).toEqual([['defer', 'each', 'run'], 0]);
  });
});

describe('one line for all', () => {
  it('grants in the order of asking, whatever the way in', async () => {
    const { admission, slot, ask } = scene();
    const holder = ask('H');
    const order: string[] = [];
    const note = (name: string): Observable<never> => (order.push(name), EMPTY);
    admission.defer(demand(slot), () => note('defer')).subscribe();
    const ran = admission.run(demand(slot), () => void order.push('run'));
    const acquired = admission.acquire(demand(slot)).then((grant) => {
      order.push('acquire');
      grant.release();
    });
    const source = new Subject<string>();
    source.pipe(admission.admit(demand(slot), note)).subscribe();
    source.next('admit');
    admission.each(['each'], demand(slot), note).subscribe();
    holder.release();
    await Promise.all([ran, acquired]);
    expect(order).toEqual(['defer', 'run', 'acquire', 'admit', 'each']);
  });

  it('tells a retried call apart from one that can never fit', () => {
    const { admission, slot } = scene();
    let tries = 0;
    const impossible = defer(() => ((tries += 1), admission.defer(demand([slot, 2]), () => EMPTY)));
    const errors: unknown[] = [];
    impossible
      .pipe(retry({ count: 5, delay: (error: unknown) => (error instanceof RefusedError ? throwError(() => error) : of(1)) }))
      .subscribe({ error: (error: unknown) => errors.push(error) });
    expect([tries, errors.length, errors[0] instanceof RefusedError, errors[0] instanceof CancelledError]).toEqual([1, 1, true, false]);
  });
});
