/** W1 to W16: where the reference design breaks its own rules or leaves a trap, and ours does the better thing. */
import {
  AbstractAccount,
  CountingGate,
  Demand,
  ElasticWindow,
  MemoryGate,
  TokenBucket,
  demand,
  type Identity,
} from 'rx-admission';
import { EMPTY } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { Job } from '../admit/job.js';
import { scene } from '../admission/scene.js';
import { Scripted } from './scripted.js';

const silent = { warn: (): void => undefined, info: (): void => undefined };

const heaped = (reading: number) => {
  const heap = { current: reading };
  const memory = new MemoryGate({ heap: () => heap.current, collect: false, log: silent });
  return { heap, memory, ...scene(1, { memory }) };
};

describe('W1: a withdrawal is a state change', () => {
  it.each(['unsubscribe', 'abort', 'timeout'] as const)('frees, in the same turn, those whom the head held back: %s', (how) => {
    const { admission, slot, ask, clock } = scene(4);
    ask('H');
    const controller = new AbortController();
    const options = how === 'abort' ? { signal: controller.signal } : how === 'timeout' ? { maxWait: 10 } : {};
    const head = new Job(admission, demand([slot, 4]), options);
    const followers = [ask('F1', 2), ask('F2', 1)];
    clock.advanceTo(9);
    expect(followers.map(({ state }) => state)).toEqual(['waiting', 'waiting']);
    if (how === 'unsubscribe') head.unsubscribe();
    else if (how === 'abort') controller.abort();
    else clock.advanceTo(10);
    expect([followers.map(({ state }) => state), slot.inUse()]).toEqual([['granted', 'granted'], 4]);
  });

  it('of a follower changes nothing for the head, and wakes nobody in vain', () => {
    const { slot, ask } = scene(2);
    const holder = ask('H');
    const head = ask('HEAD', 2);
    ask('F').unsubscribe();
    expect([head.state, slot.inUse()]).toEqual(['waiting', 1]);
    holder.release();
    expect(head.state).toBe('granted');
  });
});

describe('W2: the window boundary', () => {
  it('a stamp has left at exactly stamp plus window, the instant that was reported: one timer, no spin', () => {
    const { admission, clock } = scene();
    const window = new ElasticWindow({ name: 'window', maxRequests: 1, baseWindow: 1_000, scheduler: clock });
    clock.advanceTo(0.3);
    new Job(admission, demand(window));
    const waiter = new Job(admission, demand(window));
    expect(admission.nextDeadline).toBe(1_000.3);
    clock.advanceTo(1_000.2);
    expect(waiter.state).toBe('waiting');
    clock.advanceTo(1_001.3);
    expect([waiter.state, clock.pending, clock.peak]).toEqual(['granted', 0, 1]);
  });
});

describe('W3: no self-wake', () => {
  it('a bucket whose refund announces more does not start the attempt that gave it back again', () => {
    const { admission, clock } = scene();
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    const declines = new Scripted('declines', 'takeFails');
    new Job(admission, demand([tokens, 10], declines));
    const asked = declines.questions;
    clock.advanceTo(60_000);
    expect([declines.questions - asked, tokens.tokens(), clock.pending]).toEqual([0, 60_000, 0]);
  });
});

describe("W4: memory's line", () => {
  it('is those whose latest answer was short on memory, not those once marked', () => {
    const { heap, memory, admission, slot, ask, gate, clock } = heaped(0.5);
    const holder = ask('H');
    heap.current = 0.96;
    const waiter = ask('A');
    expect(memory.status().heldOnMemory).toBe(1);
    heap.current = 0.5;
    clock.advanceTo(2_000);
    // It waits for the slot now, and still carries its mark on memory.
    expect([memory.status().heldOnMemory, admission.status().waiters[0]?.shortOf, slot.inUse()]).toEqual([0, ['slot'], 1]);
    heap.current = 0.94;
    expect(new Job(admission, demand(gate('other', 1))).state).toBe('granted');
    holder.release();
    expect(waiter.state).toBe('granted');
  });
});

describe('W5: a completion under the latch', () => {
  it('is remembered, and may be spent by the look that clears the latch', () => {
    const { heap, admission, gate, clock } = heaped(0.89);
    const db = gate('db', 100);
    const running = new Job(admission, demand(db));
    heap.current = 0.96;
    const line = [1, 2].map(() => new Job(admission, demand(db)));
    clock.advanceTo(1_000);
    running.release();
    clock.advanceTo(1_500);
    heap.current = 0.89;
    clock.advanceTo(3_000);
    expect(line.map(({ state }) => state)).toEqual(['granted', 'waiting']);
  });
});

describe('W8: no float residue', () => {
  it('fifteen successes undo two 429s exactly, through grants', () => {
    const { admission, clock } = scene();
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 1_000_000, scheduler: clock, log: silent });
    tokens.record429();
    tokens.record429();
    for (let n = 0; n < 15; n += 1) new Job(admission, demand([tokens, 1])).grant.release('success');
    expect([tokens.throttle, tokens.statusIndicator()]).toEqual([0, null]);
  });

  it('what was reported fits at the instant it was reported for: one waking, however odd the numbers', () => {
    for (const tpm of [7, 333, 59_999, 1_234_567]) {
      for (const start of [0, 0.1, 12_345.678]) {
        const { admission, clock } = scene();
        clock.advanceTo(start);
        const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: tpm, scheduler: clock });
        new Job(admission, demand([tokens, tpm]));
        const waiter = new Job(admission, demand([tokens, tpm / 3]));
        const deadline = admission.nextDeadline ?? NaN;
        clock.advanceTo(deadline - 0.5);
        expect(waiter.state).toBe('waiting');
        // Timers count in whole milliseconds.
        clock.advanceTo(Math.ceil(deadline - start) + start + 1);
        expect([waiter.state, admission.nextDeadline]).toEqual(['granted', null]);
      }
    }
  });
});

describe('W9: at max throttle', () => {
  it('counts the failure that reaches the maximum: the circuit opens at the 11th in a row', () => {
    const { admission, clock } = scene();
    const window = new ElasticWindow({ name: 'window', maxRequests: 99, baseWindow: 10, scheduler: clock, log: silent });
    for (let n = 1; n <= 10; n += 1) window.recordPressure();
    expect([window.circuit, new Job(admission, demand(window)).state]).toEqual(['HEALTHY', 'granted']);
    window.recordPressure();
    expect([window.circuit, new Job(admission, demand(window)).state]).toEqual(['BLOCKED', 'refused']);
  });
});

describe('W10: the probe belongs to its grant', () => {
  const probing = () => {
    const the = scene();
    const window = new ElasticWindow({
      name: 'window',
      maxRequests: 5,
      baseWindow: 60_000,
      initialCooldown: 100,
      maxCooldown: 1_000,
      probeTimeout: 1_000,
      scheduler: the.clock,
      log: silent,
    });
    const old = new Job(the.admission, demand(window));
    the.clock.advanceTo(1);
    for (let n = 0; n < 12; n += 1) window.recordPressure();
    the.clock.advanceTo(101);
    const probe = new Job(the.admission, demand(window));
    expect([probe.state, window.circuit]).toEqual(['granted', 'PROBING']);
    return { ...the, window, old, probe };
  };

  it('a stray rollback leaves it alone, and drops the newest stamp that is not its own', () => {
    const { window, old } = probing();
    old.grant.rollback();
    expect([window.circuit, window.inUse()]).toEqual(['PROBING', 1]);
  });

  it('its own rollback reverts it to blocked, with the cooldown that was', () => {
    const { window, probe, admission } = probing();
    probe.grant.rollback();
    expect([window.circuit, window.inUse()]).toEqual(['BLOCKED', 1]);
    expect(new Job(admission, demand(window)).state).toBe('granted');
    expect(window.circuit).toBe('PROBING');
  });

  it('its success closes the circuit, its failure opens it for twice as long', () => {
    const good = probing();
    good.probe.grant.release('success');
    expect(good.window.circuit).toBe('HEALTHY');
    const bad = probing();
    bad.window.recordPressure();
    expect([bad.window.circuit, bad.window.cooldownRemainingMs()]).toEqual(['BLOCKED', 200]);
  });

  it('the compensation inside the attempt that claimed it reverts it too', () => {
    const { admission, window, probe, clock } = probing();
    probe.grant.rollback();
    clock.advanceTo(150);
    const waits = new Job(admission, demand(window, new Scripted('declines', 'takeFails')));
    expect([waits.state, window.circuit, window.inUse()]).toEqual(['waiting', 'BLOCKED', 1]);
  });
});

describe('W11: the growth penalty', () => {
  it('doubles the delay of the line for every point that the floor rose since the release before last', () => {
    const { heap, memory, admission, gate, clock } = heaped(0.9);
    const db = gate('db', 100);
    // Each dip sets the floor, and each release remembers it.
    const dip = (floor: number): void => {
      heap.current = floor;
      memory.fits([], [], clock.now());
    };
    dip(0.8);
    new Job(admission, demand(db));
    heap.current = 0.85;
    dip(0.81);
    new Job(admission, demand(db));
    heap.current = 0.85;
    memory.fits([], [], clock.now());
    dip(0.83);
    expect(memory.status().growthPenalty).toBe(8);
  });
});

describe('W13: demands are immutable', () => {
  /** Two objects in front of one account. */
  class Door extends AbstractAccount {
    override readonly capacity: number;

    constructor(
      name: string,
      readonly behind: CountingGate,
    ) {
      super(name);
      this.capacity = behind.capacity;
    }

    override accountFor(): Identity {
      return this.behind;
    }

    inUse(): number {
      return this.behind.inUse();
    }

    fits(mine: readonly number[], ahead: readonly number[]): boolean {
      return this.behind.fits(mine, ahead);
    }

    tryTake(mine: readonly number[], ahead: readonly number[], at: number): boolean {
      return this.behind.tryTake(mine, ahead, at);
    }

    give(amounts: readonly number[], at: number): void {
      this.behind.give(amounts, at);
    }

    earliestFit(): null {
      return null;
    }
  }

  it('demand-06: two account objects with one key stay two entries', () => {
    const behind = new CountingGate({ name: 'behind', capacity: 9 });
    const whole = demand(new Door('l1', behind), new Door('l2', behind));
    expect(whole.entries.map(({ account, key }) => [account.name, key])).toEqual([
      ['l1', behind],
      ['l2', behind],
    ]);
  });

  it('demand-06: a reservation sets aside every entry of the head on that key, together', () => {
    const { admission, gate } = scene();
    const behind = gate('behind', 3);
    const [l1, l2] = [new Door('l1', behind), new Door('l2', behind)];
    const other = gate('other', 1);
    const holder = new Job(admission, demand(other));
    // Wants one through each door, and waits for something else.
    const head = new Job(admission, demand(l1, l2, other));
    const follower = new Job(admission, demand([l2, 2]));
    expect([head.state, follower.state]).toEqual(['waiting', 'waiting']);
    expect(new Job(admission, demand(l1)).state).toBe('granted');
    holder.release();
    expect([head.state, behind.inUse()]).toEqual(['granted', 3]);
  });

  it('nothing changes one that was made', () => {
    const { slot } = scene();
    const made = demand(slot);
    expect(Object.isFrozen(made)).toBe(true);
    expect(() => (made.entries as unknown[]).push(1)).toThrow(TypeError);
    expect(() => (made.entries[0]?.amounts as unknown[]).push(1)).toThrow(TypeError);
    expect(Demand.empty.entries).toEqual([]);
  });
});

describe('W14: events', () => {
  it('carry the requested amount on HELD, granted and RELEASED, and 1 on REJECTED', () => {
    const { ask, events } = scene(5);
    const holder = ask('H', 4);
    ask('GONE', 3).unsubscribe();
    const waiter = ask('W', 2);
    holder.release();
    waiter.release();
    expect(events.map((line) => /(\w+) slot (\w+) .*amount=(\d)/.exec(line)?.slice(1).join(' '))).toEqual([
      'GRANTED_IMMEDIATE H 4',
      'HELD GONE 3',
      'REJECTED GONE 1',
      'HELD W 2',
      'RELEASED H 4',
      'GRANTED_FROM_HOLD W 2',
      'RELEASED W 2',
    ]);
  });

  it('memory emits HELD, GRANTED_FROM_HOLD and REJECTED only', () => {
    const { heap, admission, events, ask, clock } = heaped(0.96);
    const [a, b] = [ask('A'), ask('B')];
    heap.current = 0.5;
    clock.advanceTo(2_000);
    b.unsubscribe();
    a.release();
    heap.current = 0.96;
    ask('C').unsubscribe();
    ask('D');
    admission.stop();
    const ofMemory = events.filter((line) => line.includes(' memory '));
    expect(new Set(ofMemory.map((line) => line.split(' ')[1]))).toEqual(new Set(['HELD', 'GRANTED_FROM_HOLD', 'REJECTED']));
    expect(ofMemory.length).toBeGreaterThan(5);
  });
});

describe('W15: cost', () => {
  it('monitor-39: one unit for ten thousand waiters grants the head alone, and asks no more than a line of questions', () => {
    const { admission } = scene();
    let questions = 0;
    class Meter extends AbstractAccount {
      override readonly capacity = 10_000;
      level = 0;
      inUse(): number {
        return this.capacity - this.level;
      }
      fits(mine: readonly number[], ahead: readonly number[]): boolean {
        questions += 1;
        return mine.length <= this.room(ahead);
      }
      room(ahead: readonly number[]): number {
        return this.level - ahead.length;
      }
      tryTake(mine: readonly number[], ahead: readonly number[]): boolean {
        if (!this.fits(mine, ahead)) return false;
        this.level -= mine.length;
        return true;
      }
      give(): void {
        // What was metered is spent.
      }
      earliestFit(): null {
        return null;
      }
      put(units: number): void {
        this.level += units;
        this.capacityChanged();
      }
    }
    const meter = new Meter('meter');
    const order: number[] = [];
    Array.from({ length: 10_000 }, (_, n) => new Job(admission, demand(meter), {}, () => (order.push(n), EMPTY)));
    expect(admission.queueSize).toBe(10_000);
    questions = 0;
    meter.put(1);
    expect([order, admission.queueSize]).toEqual([[0], 9_999]);
    expect(questions).toBeLessThan(10_000);
    // Giving all at once grants all, in arrival order, without asking everyone again after each.
    questions = 0;
    meter.put(9_999);
    expect([order.length, order.every((n, place) => n === place), admission.queueSize]).toEqual([10_000, true, 0]);
    expect(questions).toBeLessThan(100_000);
  }, 120_000);

  it('a subclass that answers `fits` otherwise than the `room` it inherits is asked, and not taken at the word of its base', () => {
    let spare = 0;
    class Overcommitting extends CountingGate {
      override fits(mine: readonly number[], ahead: readonly number[]): boolean {
        return this.inUse() + mine.length + ahead.length <= this.capacity + spare;
      }
      lend(): void {
        spare = 1;
        this.capacityChanged();
      }
    }
    const { admission, ask } = scene();
    const lender = new Overcommitting({ name: 'lender', capacity: 1 });
    ask('H');
    ask('HEAD');
    new Job(admission, demand(lender));
    const follower = new Job(admission, demand(lender));
    expect(follower.state).toBe('waiting');
    // The base still knows of no room.
    lender.lend();
    expect([follower.state, lender.inUse(), lender.room([])]).toEqual(['granted', 2, -1]);
  });

  it('nothing stays hooked to an account that no waiter and no grant names any more', () => {
    const { admission, gate, ask } = scene();
    const [a, b] = [gate('a', 1), gate('b', 1)];
    ask('H');
    const holder = new Job(admission, demand(a));
    const parked = new Job(admission, demand(a, b));
    expect([a.capacityChanges.observed, b.capacityChanges.observed]).toEqual([true, true]);
    const parkedElsewhere = ask('W');
    parked.unsubscribe();
    // Others still wait, but not for these: `a` is still named by a grant.
    expect([a.capacityChanges.observed, b.capacityChanges.observed]).toEqual([true, false]);
    holder.release();
    expect([a.capacityChanges.observed, parkedElsewhere.state]).toEqual([false, 'waiting']);
  });
});

describe('W16: shrinking', () => {
  it('a resize refuses, in the same turn, those who can never fit again, wherever they stand', () => {
    const { ask, slot, events, clock } = scene(5);
    ask('H', 4);
    const [head, small, big] = [ask('HEAD', 5), ask('SMALL', 2), ask('BIG', 4)];
    clock.advanceTo(3);
    events.length = 0;
    slot.resize(3);
    expect([head.state, small.state, big.state]).toEqual(['refused', 'waiting', 'refused']);
    expect(events).toEqual([
      '3 REJECTED slot HEAD waiters=2 amount=1 wait=3 reason=circuit_blocked',
      '3 REJECTED slot BIG waiters=1 amount=1 wait=3 reason=circuit_blocked',
    ]);
    expect((head.refusal as Error).message).toContain('5 permits can never fit 3');
  });

  it('behind a head that waits for the heap too', () => {
    const { heap, admission, slot, gate } = heaped(0.5);
    slot.resize(5);
    heap.current = 0.96;
    const other = gate('other', 1);
    const head = new Job(admission, demand(other));
    const big = new Job(admission, demand([slot, 5]));
    expect(admission.status().waiters.map(({ shortOf }) => shortOf)).toEqual([['memory'], ['memory']]);
    slot.resize(4);
    expect([head.state, big.state]).toEqual(['waiting', 'refused']);
  });

  it('the head that a resize refuses no longer holds anyone back', () => {
    const { ask, slot } = scene(3);
    ask('H');
    const [head, behind] = [ask('HEAD', 3), ask('B')];
    slot.resize(2);
    expect([head.state, behind.state]).toEqual(['refused', 'granted']);
  });

  it('a pause lets nobody start after it returns, and refuses nobody; a resume lets them go', () => {
    const { ask, slot } = scene(2);
    const holder = ask('H');
    slot.pause();
    const waiter = ask('W');
    holder.release();
    expect([waiter.state, slot.inUse(), slot.paused]).toEqual(['waiting', 0, true]);
    slot.resume();
    expect(waiter.state).toBe('granted');
  });

  it('cuts no admitted work: new work waits until what is out fits', () => {
    const { ask, slot } = scene(3);
    const jobs = ['A', 'B', 'C'].map((name) => ask(name));
    slot.resize(1);
    const waiter = ask('W');
    expect([slot.inUse(), waiter.state]).toEqual([3, 'waiting']);
    jobs[0]?.release();
    jobs[1]?.release();
    expect(waiter.state).toBe('waiting');
    jobs[2]?.release();
    expect(waiter.state).toBe('granted');
  });

  it('monitor-44: a lowered bucket cap wakes nobody, and refuses at the next pass', () => {
    const { admission, clock } = scene();
    const tokens = new TokenBucket({ name: 'm', tokensPerMinute: 10_000, requestsPerMinute: 600, scheduler: clock });
    new Job(admission, demand([tokens, 10_000]));
    const [head, follower] = [new Job(admission, demand([tokens, 9_000])), new Job(admission, demand([tokens, 500]))];
    clock.advanceTo(600);
    tokens.setConfig({ tokensPerMinute: 8_000, requestsPerMinute: 600 });
    expect(head.state).toBe('waiting');
    clock.advanceTo(700);
    new Job(admission, demand([tokens, 10]));
    expect([head.state, follower.state, admission.nextDeadline]).toEqual(['refused', 'waiting', 3_600]);
  });

  it('a bug met while looking who can fit is left to the pass, which says whose it is', () => {
    const { admission } = scene();
    let broken = false;
    class Odd extends CountingGate {
      override fits(mine: readonly number[], ahead: readonly number[]): boolean {
        if (broken) throw new Error('a bug');
        return super.fits(mine, ahead);
      }
    }
    const odd = new Odd({ name: 'odd', capacity: 2 });
    new Job(admission, demand([odd, 2]));
    const waiter = new Job(admission, demand([odd, 2]));
    broken = true;
    odd.resize(1);
    expect(waiter.refusal).toMatchObject({ reason: 'aborted', account: 'odd', cause: new Error('a bug') });
  });
});
