/** What a careless or hostile caller, account or clock may do: it costs that one its wait, and no permit. */
import { AbstractAccount, Admission, CountingGate, createAdmission, demand } from 'rx-admission';
import { Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { Job } from '../admit/job.js';

/** A gate that does something else, once, while it is asked. */
class Meddler extends CountingGate {
  act: (() => void) | null = null;

  override fits(mine: readonly number[], reservedAhead: readonly number[]): boolean {
    const { act } = this;
    this.act = null;
    act?.();
    return super.fits(mine, reservedAhead);
  }
}

function scene(capacity = 1) {
  const clock = new CountingScheduler();
  const admission = createAdmission({ scheduler: clock });
  const gate = new Meddler({ name: 'gate', capacity, scheduler: clock });
  const expectNothingLeft = (): void => {
    const { accounts, grants, waiters } = admission.status();
    expect([gate.inUse(), accounts, grants, waiters, gate.capacityChanges.observed]).toEqual([0, [], [], [], false]);
  };
  return { clock, admission, gate, expectNothingLeft };
}

describe('an ask that is none', () => {
  const controller = new AbortController() as unknown as AbortSignal;

  it.each([
    ['a controller in place of its signal', { signal: controller }, TypeError],
    ['a deadline that is null', { deadline: null as unknown as number }, RangeError],
    ['a deadline in words', { deadline: 'soon' as unknown as number }, RangeError],
    ['a deadline that is not a number', { deadline: NaN }, RangeError],
  ])('is refused at the door, whether it would wait or not: %s', async (_what, options, error) => {
    const { admission, gate, expectNothingLeft } = scene();
    await expect(admission.acquire(demand(gate), options)).rejects.toThrow(error);
    expectNothingLeft();
    const holder = new Job(admission, demand(gate));
    await expect(admission.acquire(demand(gate), options)).rejects.toThrow(error);
    holder.release();
    expectNothingLeft();
  });

  it.each([[undefined], [null], [Object.create(null)], [{ entries: [] }]])('is told what a demand is: %o', async (none) => {
    const { admission } = scene();
    await expect(admission.acquire(none as never)).rejects.toThrow(/needs a Demand, made by demand/);
  });

  it('binds no account to a clock when another one of it has a clock of its own', () => {
    const [one, two] = [new CountingScheduler(), new CountingScheduler()];
    const free = new CountingGate({ name: 'free', capacity: 1 });
    const bound = new CountingGate({ name: 'bound', capacity: 1, scheduler: two });
    expect(() => createAdmission({ scheduler: one }).tryAcquire(demand(free, bound))).toThrow(/another clock/);
    expect(createAdmission({ scheduler: two }).tryAcquire(demand(free, bound))).not.toBeNull();
  });
});

describe('a grant', () => {
  it('is released as ever after an until that got no promise', async () => {
    const { admission, gate, expectNothingLeft } = scene();
    const grant = await admission.acquire(demand(gate));
    expect(() => grant.until(undefined as never)).toThrow(TypeError);
    grant.release();
    expectNothingLeft();
  });

  it('waits for the other work when a thenable calls back twice', async () => {
    const { admission, gate, expectNothingLeft } = scene();
    const grant = await admission.acquire(demand(gate));
    const calls: (() => void)[] = [];
    grant.until({ then: (fulfilled: () => void) => calls.push(fulfilled) } as unknown as PromiseLike<void>);
    let resolve = (): void => undefined;
    const promise = new Promise<void>((settle) => {
      resolve = settle;
    });
    grant.until(promise);
    grant.release();
    for (const call of [...calls, ...calls]) call();
    expect([grant.settled, gate.inUse()]).toEqual([false, 1]);
    resolve();
    await promise;
    expectNothingLeft();
  });

  it('that an account tries to settle while it is asked stays as it was', async () => {
    const { admission, gate, expectNothingLeft } = scene(2);
    const grant = await admission.acquire(demand(gate));
    gate.act = () => {
      grant.release();
    };
    await expect(admission.acquire(demand(gate))).rejects.toThrow(/while being questioned/);
    expect([grant.settled, gate.inUse()]).toEqual([false, 1]);
    grant.release();
    expectNothingLeft();
  });
});

describe('an account', () => {
  it.each([NaN, undefined])('that knows no instant (%o) costs its waiter the wait, and no deadline of the others', (instant) => {
    class Vague extends AbstractAccount {
      readonly capacity = 1;
      inUse = (): number => 0;
      fits = (): boolean => false;
      tryTake = (): boolean => false;
      give = (): void => undefined;
      earliestFit = (): never => instant as never;
    }
    const { admission, gate, clock } = scene();
    const vague = new Job(admission, demand(new Vague('vague')));
    expect(String(vague.refusal)).toMatch(/"vague".*earliestFit must answer an instant/);
    const holder = new Job(admission, demand(gate));
    const waiter = new Job(admission, demand(gate), { maxWait: 50 });
    clock.advanceTo(50);
    expect([waiter.state, admission.nextDeadline]).toEqual(['refused', null]);
    holder.release();
  });

  it('that makes a waiter leave while it lets it in lets in the next one', () => {
    for (const leaving of ['unsubscribed', 'aborted'] as const) {
      const { admission, gate, expectNothingLeft } = scene();
      const controller = new AbortController();
      const holder = new Job(admission, demand(gate));
      const first = new Job(admission, demand(gate), { signal: controller.signal });
      const second = new Job(admission, demand(gate));
      gate.act = () => {
        if (leaving === 'aborted') controller.abort();
        else first.unsubscribe();
      };
      holder.release();
      expect([first.state, second.state, gate.inUse()]).toEqual([leaving === 'aborted' ? 'refused' : 'waiting', 'granted', 1]);
      const third = new Job(admission, demand(gate));
      gate.resize(2);
      expect(third.state).toBe('granted');
      second.release();
      third.release();
      expectNothingLeft();
    }
  });

  it('that aborts the asker while it is asked gets its permit back', () => {
    const { admission, gate, expectNothingLeft } = scene();
    const controller = new AbortController();
    gate.act = () => {
      controller.abort();
    };
    expect(new Job(admission, demand(gate), { signal: controller.signal }).state).toBe('refused');
    expectNothingLeft();
    const holder = new Job(admission, demand(gate));
    const other = new AbortController();
    gate.act = () => {
      other.abort();
    };
    expect(new Job(admission, demand(gate), { signal: other.signal }).state).toBe('refused');
    expect(admission.queueSize).toBe(0);
    holder.release();
    expectNothingLeft();
  });
});

describe('what happens at odd times', () => {
  it('shows in state$ who left before the start', () => {
    const admission = new Admission({ scheduler: new CountingScheduler() });
    const gate = new CountingGate({ name: 'gate', capacity: 1 });
    const sizes: number[] = [];
    admission.state$.subscribe(({ queueSize }) => sizes.push(queueSize));
    const [, , third] = [1, 2, 3, 4].map(() => new Job(admission, demand(gate)));
    third?.unsubscribe();
    expect(sizes.at(-1)).toBe(2);
  });

  it('arms the timer again after a scheduler that threw once', () => {
    const clock = new CountingScheduler();
    let fails = false;
    const scheduler = {
      now: () => clock.now(),
      schedule: (...args: Parameters<CountingScheduler['schedule']>) => {
        if (!fails) return clock.schedule(...args);
        fails = false;
        throw new Error('no timer');
      },
    };
    const admission = createAdmission({ scheduler });
    const gate = new CountingGate({ name: 'gate', capacity: 1 });
    const holder = new Job(admission, demand(gate));
    fails = true;
    new Job(admission, demand(gate), { maxWait: 10 });
    expect(fails).toBe(false);
    const waiter = new Job(admission, demand(gate), { maxWait: 10 });
    clock.advanceTo(10);
    expect(waiter.state).toBe('refused');
    holder.release();
    expect(gate.inUse()).toBe(0);
  });

  it('stops a stream that project answers after it unsubscribed its own output', async () => {
    const { admission, gate, expectNothingLeft } = scene();
    let cancelled = 0;
    const stream = new ReadableStream<number>({
      cancel() {
        cancelled += 1;
      },
    });
    const source = new Subject<number>();
    const subscription = source
      .pipe(
        admission.admit(demand(gate), () => {
          subscription.unsubscribe();
          return stream;
        }),
      )
      .subscribe();
    source.next(1);
    await new Promise((resolve) => setTimeout(resolve));
    expect(cancelled).toBe(1);
    expectNothingLeft();
  });
});
