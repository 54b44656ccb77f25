/** Time: the monotonic default, one timer for all alarms, one clock per account, and fake clocks of two kinds at once. */
import * as fc from 'fast-check';
import { Subscription, asyncScheduler, interval, take, timer, type SchedulerAction, type SchedulerLike } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import {
  CountingGate,
  ElasticWindow,
  HttpGate,
  MemoryGate,
  TokenBucket,
  createAdmission,
  demand,
  monotonicScheduler,
  type Admission,
  type Demand,
} from 'rx-admission';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Alarms, bindClock, clockOf, type Alarm } from '../src/clock.js';
import { VirtualClock } from './conformance/virtual-clock.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const LONGEST_TIMER = 2 ** 31 - 1;

/** The instants at which an admission grants what it is asked here. */
class Instants {
  readonly granted: number[] = [];

  constructor(readonly admission: Admission) {}

  ask(whole: Demand): void {
    this.admission.defer(whole, () => [this.admission.now()]).subscribe((at) => this.granted.push(at));
  }
}

describe('the default clock', () => {
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  it.each([HOUR, -HOUR])('is not moved by a wall clock that jumps %d ms', (jump) => {
    vi.useFakeTimers();
    const start = monotonicScheduler.now();
    const wall = Date.now();
    const gpt = new TokenBucket({ name: 'gpt', tokensPerMinute: 60 });
    const asks = new Instants(createAdmission());
    asks.ask(demand([gpt, 60]));
    asks.ask(demand([gpt, 1]));
    vi.setSystemTime(wall + jump);
    vi.spyOn(Date, 'now').mockReturnValue(wall + 2 * jump);
    vi.advanceTimersByTime(999);
    expect(asks.granted).toEqual([start]);
    // A whole instant of a clock with fractions, and a timer of whole ms: one more at most.
    vi.advanceTimersByTime(2);
    expect(asks.granted).toHaveLength(2);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('never asks the wall clock', () => {
    const wall = vi.spyOn(Date, 'now');
    monotonicScheduler.now();
    monotonicScheduler.schedule(() => undefined, 1).unsubscribe();
    expect(wall).not.toHaveBeenCalled();
  });

  it('does not run backwards when fake timers start performance again from zero, nor when they end', () => {
    const instants = [monotonicScheduler.now()];
    for (let n = 0; n < 3; n += 1) {
      vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
      expect(performance.now()).toBe(0);
      instants.push(monotonicScheduler.now());
      vi.advanceTimersByTime(10);
      instants.push(monotonicScheduler.now());
      vi.useRealTimers();
      instants.push(monotonicScheduler.now());
    }
    expect(instants).toEqual([...instants].sort((one, other) => one - other));
    expect((instants[2] ?? 0) - (instants[1] ?? 0)).toBe(10);
    expect(instants.slice(1, 3).every(Number.isInteger)).toBe(true);
  });
});

describe('the default scheduler', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  it('runs work once after its delay, with its state, and not when unsubscribed', () => {
    const ran: unknown[] = [];
    monotonicScheduler.schedule((state) => ran.push(state), 10, 'a');
    monotonicScheduler.schedule((state) => ran.push(state), 10, 'b').unsubscribe();
    monotonicScheduler.schedule((state) => ran.push(state));
    vi.advanceTimersByTime(9);
    expect(ran).toEqual([undefined]);
    vi.advanceTimersByTime(1_000);
    expect(ran).toEqual([undefined, 'a']);
  });

  it('rounds a delay up: a timer that fires early would find nothing due', () => {
    const delays = vi.spyOn(globalThis, 'setTimeout');
    monotonicScheduler.schedule(() => undefined, 1.2);
    expect(delays.mock.lastCall?.[1]).toBe(2);
  });

  it('serves the operators of RxJS, which schedule again from within', () => {
    const ticks: number[] = [];
    interval(10, monotonicScheduler)
      .pipe(take(3))
      .subscribe((tick) => ticks.push(tick));
    vi.advanceTimersByTime(25);
    expect(ticks).toEqual([0, 1]);
    vi.advanceTimersByTime(10);
    expect(ticks).toEqual([0, 1, 2]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('keeps the later of two schedules of one action, with its state', () => {
    const ran: unknown[] = [];
    const action = monotonicScheduler.schedule(
      (state) => {
        ran.push(state);
      },
      10,
      'first',
    ) as SchedulerAction<string>;
    action.schedule('second', 20);
    action.schedule('third');
    vi.advanceTimersByTime(30);
    expect(ran).toEqual(['third']);
  });

  it('does not revive an action that was unsubscribed inside its own work', () => {
    let runs = 0;
    monotonicScheduler.schedule(function (this: SchedulerAction<unknown>) {
      runs += 1;
      this.unsubscribe();
      this.schedule(undefined, 1);
    }, 1);
    vi.advanceTimersByTime(100);
    expect([runs, vi.getTimerCount()]).toEqual([1, 0]);
  });

  it('keeps a delay of 40 days, which a timer of its own would not', () => {
    const delays = vi.spyOn(globalThis, 'setTimeout');
    let fired = false;
    timer(40 * DAY, monotonicScheduler).subscribe(() => {
      fired = true;
    });
    vi.advanceTimersByTime(40 * DAY - 1);
    expect([fired, vi.getTimerCount(), delays.mock.calls.length]).toEqual([false, 1, 2]);
    vi.advanceTimersByTime(1);
    expect([fired, vi.getTimerCount()]).toEqual([true, 0]);
    for (const [, delay] of delays.mock.calls) expect(delay).toBeLessThanOrEqual(LONGEST_TIMER);
  });

  it('forgets the second part of a long delay too', () => {
    let fired = false;
    const waiting = timer(40 * DAY, monotonicScheduler).subscribe(() => {
      fired = true;
    });
    vi.advanceTimersByTime(30 * DAY);
    waiting.unsubscribe();
    expect([fired, vi.getTimerCount()]).toEqual([false, 0]);
  });
});

describe('a wait of 40 days', () => {
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  it('neither fires at once nor spins, and keeps one timer', () => {
    vi.useFakeTimers();
    const delays = vi.spyOn(globalThis, 'setTimeout');
    const archive = new ElasticWindow({ name: 'archive', maxRequests: 1, baseWindow: 40 * DAY });
    const asks = new Instants(createAdmission());
    const start = asks.admission.now();
    asks.ask(demand(archive));
    asks.ask(demand(archive));
    vi.advanceTimersByTime(40 * DAY - 1);
    expect([asks.granted, vi.getTimerCount(), delays.mock.calls.length]).toEqual([[start], 1, 2]);
    vi.advanceTimersByTime(1);
    expect([asks.granted, vi.getTimerCount()]).toEqual([[start, start + 40 * DAY], 0]);
  });

  it('is split by any scheduler, so a timer never gets more than it keeps', () => {
    const clock = new VirtualClock(0);
    const delays = vi.spyOn(clock, 'schedule');
    const alarms = new Alarms(clock);
    let firedAt = -1;
    alarms.set(100 * DAY, () => {
      firedAt = clock.now();
    });
    clock.advanceTo(100 * DAY);
    expect([firedAt, clock.actions]).toEqual([100 * DAY, []]);
    expect(delays.mock.calls.map(([, delay]) => delay)).toEqual([
      LONGEST_TIMER,
      LONGEST_TIMER,
      LONGEST_TIMER,
      LONGEST_TIMER,
      100 * DAY - 4 * LONGEST_TIMER,
    ]);
  });
});

describe('Alarms', () => {
  const clock = (): VirtualClock => new VirtualClock(0);

  it('run at their instants, earliest first, those of one instant in the order of setting', () => {
    const virtual = clock();
    const alarms = new Alarms(virtual);
    const ran: string[] = [];
    const set = (at: number, name: string): Alarm => alarms.set(at, () => ran.push(`${virtual.now()} ${name}`));
    for (const [at, name] of [
      [30, 'a'],
      [10, 'b'],
      [30, 'c'],
      [20, 'd'],
      [30, 'e'],
      [10, 'f'],
      [30, 'g'],
    ] as const)
      set(at, name);
    expect(ran).toEqual([]);
    virtual.advanceTo(100);
    expect(ran).toEqual(['10 b', '10 f', '20 d', '30 a', '30 c', '30 e', '30 g']);
  });

  it('need one timer in all and none when nothing is pending', () => {
    const virtual = clock();
    const alarms = new Alarms(virtual);
    const pending = [50, 10, 30, 10].map((at) => alarms.set(at, () => undefined));
    expect(virtual.actions).toHaveLength(1);
    for (const alarm of pending) alarm.cancel();
    expect(virtual.actions).toHaveLength(0);
    alarms.set(60, () => undefined);
    virtual.advanceTo(60);
    expect(virtual.actions).toHaveLength(0);
  });

  it('wait for the next as soon as the earliest is cancelled', () => {
    const virtual = clock();
    const alarms = new Alarms(virtual);
    const [first] = [10, 20, 30].map((at) => alarms.set(at, () => undefined));
    first?.cancel();
    expect(virtual.actions.map(({ delay }) => delay)).toEqual([20]);
  });

  it('that were cancelled beside one that throws need no timer', () => {
    const virtual = clock();
    const alarms = new Alarms(virtual);
    let second: Alarm | null = null;
    alarms.set(10, () => {
      second?.cancel();
      throw new Error('a bug of whoever set it');
    });
    second = alarms.set(10, () => undefined);
    expect(() => {
      virtual.advanceTo(10);
    }).toThrow();
    expect(virtual.actions).toEqual([]);
  });

  it('leave the timer alone while the earliest stays the same', () => {
    const virtual = clock();
    const schedule = vi.spyOn(virtual, 'schedule');
    const alarms = new Alarms(virtual);
    alarms.set(10, () => undefined);
    for (let at = 11; at < 1_000; at += 1) alarms.set(at, () => undefined).cancel();
    expect(schedule).toHaveBeenCalledTimes(1);
  });

  it('may be cancelled at any time, twice, and after they ran', () => {
    const virtual = clock();
    const alarms = new Alarms(virtual);
    const ran: number[] = [];
    const one = alarms.set(10, () => ran.push(1));
    const two = alarms.set(20, () => ran.push(2));
    one.cancel();
    one.cancel();
    virtual.advanceTo(20);
    two.cancel();
    virtual.advanceTo(30);
    expect(ran).toEqual([2]);
  });

  it('that are due at the same instant may cancel each other', () => {
    const virtual = clock();
    const alarms = new Alarms(virtual);
    const ran: string[] = [];
    let second: Alarm | null = null;
    alarms.set(10, () => {
      ran.push('first');
      second?.cancel();
    });
    second = alarms.set(10, () => ran.push('second'));
    alarms.set(10, () => ran.push('third'));
    virtual.advanceTo(10);
    expect([ran, virtual.actions]).toEqual([['first', 'third'], []]);
  });

  it('may set others while they run: never inside the call, never twice in one instant', () => {
    const virtual = clock();
    const alarms = new Alarms(virtual);
    const ran: string[] = [];
    alarms.set(10, () => {
      for (const at of [5, 10, 12]) alarms.set(at, () => ran.push(`${virtual.now()} for ${at}`));
      ran.push('set');
    });
    virtual.advanceTo(20);
    expect(ran).toEqual(['set', '11 for 5', '11 for 10', '12 for 12']);
  });

  it('do not spin on an instant that is due already', () => {
    const virtual = clock();
    const alarms = new Alarms(virtual);
    let runs = 0;
    const again = (): void => {
      runs += 1;
      alarms.set(0, again);
    };
    alarms.set(0, again);
    expect(runs).toBe(0);
    virtual.advanceTo(50);
    expect(runs).toBe(50);
  });

  it('that throw cost no other its turn', () => {
    const virtual = clock();
    const alarms = new Alarms(virtual);
    const ran: string[] = [];
    let doomed: Alarm | null = null;
    alarms.set(10, () => {
      ran.push('before');
      doomed?.cancel();
    });
    alarms.set(10, () => {
      ran.push('throws');
      throw new Error('a bug of whoever set it');
    });
    const cancelled = alarms.set(10, () => ran.push('cancelled'));
    doomed = alarms.set(10, () => ran.push('cancelled by the first'));
    alarms.set(10, () => ran.push('behind'));
    alarms.set(15, () => ran.push('later'));
    cancelled.cancel();
    expect(() => {
      virtual.advanceTo(20);
    }).toThrow();
    virtual.advanceTo(20);
    expect([ran, virtual.actions]).toEqual([['before', 'throws', 'behind', 'later'], []]);
  });

  it('find nothing due when a timer is early, and wait on', () => {
    const timers: { work: () => void; delay: number }[] = [];
    let now = 0;
    const early: SchedulerLike = {
      now: () => now,
      schedule<T>(work: (this: SchedulerAction<T>, state?: T) => void, delay = 0): Subscription {
        timers.push({ work: work, delay });
        return new Subscription();
      },
    };
    let ran = false;
    new Alarms(early).set(9.2, () => {
      ran = true;
    });
    now = 9.1;
    timers[0]?.work();
    expect([ran, timers.map(({ delay }) => delay)]).toEqual([false, [10, 1]]);
    now = 10.6;
    timers[1]?.work();
    expect([ran, timers.length]).toEqual([true, 2]);
  });

  it('do what a naive list does, whatever is set, cancelled and waited for', () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ verb: fc.constant('set' as const), n: fc.integer({ min: -20, max: 400 }) }) },
      { weight: 2, arbitrary: fc.record({ verb: fc.constant('half' as const), n: fc.nat(400) }) },
      { weight: 3, arbitrary: fc.record({ verb: fc.constant('cancel' as const), n: fc.nat(1_000) }) },
      { weight: 2, arbitrary: fc.record({ verb: fc.constant('wait' as const), n: fc.nat(90) }) },
      { weight: 1, arbitrary: fc.record({ verb: fc.constant('chain' as const), n: fc.nat(60) }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const virtual = clock();
        const alarms = new Alarms(virtual);
        const ran: string[] = [];
        const list: { name: number; at: number; due: number; alarm: Alarm | null; over: boolean }[] = [];
        const set = (at: number, then?: () => void): void => {
          // At least one unit ahead, and on a whole one.
          const entry: (typeof list)[number] = {
            name: list.length,
            at,
            due: Math.max(Math.ceil(at), virtual.now() + 1),
            alarm: null,
            over: false,
          };
          list.push(entry);
          entry.alarm = alarms.set(at, () => {
            ran.push(`${virtual.now()} ${entry.name}`);
            entry.over = true;
            then?.();
          });
        };
        const wanted: string[] = [];
        const waitFor = (t: number): void => {
          virtual.advanceTo(t);
          const due = list.filter((entry) => entry.due <= t && entry.alarm !== null);
          due.sort((one, other) => one.due - other.due || one.at - other.at || one.name - other.name);
          for (const entry of due) {
            wanted.push(`${entry.due} ${entry.name}`);
            entry.alarm = null;
          }
          if (ran.join() !== wanted.join()) throw new Error(`${ran.join()} instead of ${wanted.join()}`);
        };
        for (const { verb, n } of steps) {
          if (verb === 'set') set(virtual.now() + n);
          else if (verb === 'half') set(virtual.now() + n / 2);
          else if (verb === 'chain') set(virtual.now() + n, () => set(virtual.now() + n));
          else if (verb === 'wait') waitFor(virtual.now() + n);
          else {
            const entry = list[n % Math.max(1, list.length)];
            entry?.alarm?.cancel();
            if (entry) entry.alarm = null;
          }
          const isPending = list.some(({ alarm, over }) => alarm !== null && !over);
          if (virtual.actions.length !== Number(isPending)) throw new Error(`${virtual.actions.length} timers`);
        }
        waitFor(virtual.now() + 1_000);
        if (virtual.actions.length > 0) throw new Error('a timer is left');
      }),
      { numRuns: 400 },
    );
  });
});

describe('two fakes at once', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('each drive their own admission: vitest’s timers the one, a TestScheduler the other', () => {
    vi.useFakeTimers();
    const faked = new Instants(createAdmission());
    const start = faked.admission.now();
    const bucket = (name: string): TokenBucket => new TokenBucket({ name, tokensPerMinute: 60_000 });
    const [one, other] = [bucket('one'), bucket('other')];
    faked.ask(demand([one, 60_000]));
    faked.ask(demand([one, 5]));
    const scheduler = new TestScheduler((actual, expected) => {
      expect(actual).toEqual(expected);
    });
    scheduler.run(({ hot, expectObservable, flush }) => {
      const { admit } = createAdmission({ scheduler });
      const out = hot('ab|').pipe(
        admit(
          (item) => demand([other, item === 'a' ? 60_000 : 5]),
          (item) => [item],
        ),
      );
      expectObservable(out).toBe('a----(b|)');
      flush();
      expect(faked.granted).toEqual([start]);
    });
    vi.advanceTimersByTime(4);
    expect(faked.granted).toEqual([start]);
    vi.advanceTimersByTime(2);
    expect(faked.granted).toHaveLength(2);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('the clock of an account', () => {
  const message =
    'account pool already runs on another clock: give it and every admission that names it the same scheduler';
  const pool = (scheduler?: SchedulerLike): CountingGate => new CountingGate({ name: 'pool', capacity: 2, scheduler });

  it('is the one of its constructor, or of the first admission that names it', () => {
    const [one, other] = [new VirtualClock(0), new VirtualClock(0)];
    const [given, found] = [pool(one), pool()];
    expect([clockOf(given), clockOf(found)]).toEqual([one, undefined]);
    createAdmission({ scheduler: other }).tryAcquire(demand(found));
    expect(clockOf(found)).toBe(other);
    expect(() => {
      bindClock(other, found);
    }).not.toThrow();
  });

  it('refuses an admission of another one, and nothing is charged', async () => {
    const gate = pool(new VirtualClock(0));
    const free = new CountingGate({ name: 'free', capacity: 1 });
    const admission = createAdmission({ scheduler: new VirtualClock(0) });
    expect(() => admission.tryAcquire(demand(free, gate))).toThrow(new Error(message));
    await expect(admission.acquire(demand(free, gate))).rejects.toThrow(message);
    let told: unknown;
    admission
      .defer(demand(free, gate), () => [])
      .subscribe({
        error: (error: unknown) => {
          told = error;
        },
      });
    expect(told).toEqual(new Error(message));
    expect([gate.inUse(), free.inUse(), admission.queueSize, admission.status().accounts]).toEqual([0, 0, 0, []]);
  });

  it('refuses a second admission of another one, and leaves the first as it was', () => {
    const gate = pool();
    const first = createAdmission({ scheduler: new VirtualClock(0) });
    const grant = first.tryAcquire(demand(gate));
    expect(() => createAdmission({ scheduler: asyncScheduler }).tryAcquire(demand(gate))).toThrow(message);
    grant?.release();
    expect(gate.inUse()).toBe(0);
  });

  it('is asked of the heap gate and of the HTTP pool as the admission is made', () => {
    const scheduler = new VirtualClock(0);
    const memory = new MemoryGate({ heap: () => 0, scheduler });
    const http = new HttpGate({ capacity: 1, scheduler });
    expect(() => createAdmission({ memory })).toThrow('account memory already runs on another clock');
    expect(() => createAdmission({ http })).toThrow('account http already runs on another clock');
    expect(() => createAdmission({ memory, http, scheduler })).not.toThrow();
  });
});
