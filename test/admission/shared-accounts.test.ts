/** W12: any number of admissions share an account; each hears of what another gives back, and no two wake each other for ever. */
import {
  AbstractAccount,
  CountingGate,
  MemoryGate,
  TokenBucket,
  createAdmission,
  demand,
  type Admission,
} from 'rx-admission';
import { NEVER, of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { Job } from '../admit/job.js';
import { lineOf } from './scene.js';

const silent = { warn: (): void => undefined, info: (): void => undefined };

interface Shared {
  readonly clock: CountingScheduler;
  readonly one: Admission;
  readonly two: Admission;
  readonly slot: CountingGate;
  readonly events: string[];
}

const shared = (capacity = 1, memory: MemoryGate | false = false): Shared => {
  const clock = new CountingScheduler();
  const [one, two] = [createAdmission({ scheduler: clock, memory }), createAdmission({ scheduler: clock, memory })];
  const events: string[] = [];
  one.events$.subscribe((event) => events.push(`1: ${lineOf(event)}`));
  two.events$.subscribe((event) => events.push(`2: ${lineOf(event)}`));
  return { clock, one, two, slot: new CountingGate({ name: 'slot', capacity, scheduler: clock }), events };
};

/** Counts the questions put to a gate. */
class Questioned extends CountingGate {
  questions = 0;
  override fits(mine: readonly number[], reservedAhead: readonly number[]): boolean {
    this.questions += 1;
    return super.fits(mine, reservedAhead);
  }
}

describe('W12: two admissions that share accounts', () => {
  it('see what the other took', () => {
    const { one, two, slot } = shared();
    new Job(one, demand(slot));
    expect(new Job(two, demand(slot)).state).toBe('waiting');
  });

  it('let a waiter in by a settlement of the other, in the same turn', () => {
    for (const verb of ['release', 'rollback'] as const) {
      const { one, two, slot } = shared();
      const holder = new Job(one, demand(slot));
      const waiter = new Job(two, demand(slot));
      holder.grant[verb]();
      expect(waiter.state).toBe('granted');
    }
  });

  it('serve the line of the one that settles first', () => {
    const { one, two, slot } = shared();
    const holder = new Job(one, demand(slot));
    const theirs = new Job(two, demand(slot));
    const own = new Job(one, demand(slot));
    holder.release();
    expect([own.state, theirs.state]).toEqual(['granted', 'waiting']);
    own.release();
    expect(theirs.state).toBe('granted');
  });

  it('tell RELEASED before the grant that it causes in the other', () => {
    const { one, two, slot, events } = shared();
    const holder = new Job(one, demand(slot), { job: 'H' });
    new Job(two, demand(slot), { job: 'W' });
    events.length = 0;
    holder.release();
    expect(events).toEqual([
      '1: 0 RELEASED slot H waiters=0 amount=1',
      '2: 0 GRANTED_FROM_HOLD slot W waiters=0 amount=1 wait=0',
    ]);
  });

  it('hear of it when the settlement is made inside a delivery, after it', () => {
    const { one, two, slot } = shared();
    const holder = new Job(one, demand(slot));
    const waiter = new Job(two, demand(slot));
    const inside: string[] = [];
    one
      .defer(demand(), () => {
        holder.release();
        inside.push(waiter.state);
        return of(1);
      })
      .subscribe();
    expect([inside, waiter.state]).toEqual([['waiting'], 'granted']);
  });

  it('hear of a bucket that got its debits back', () => {
    const { one, two, clock } = shared();
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    const holder = new Job(one, demand([tokens, 60_000]));
    const waiter = new Job(two, demand([tokens, 10_000]));
    holder.grant.rollback();
    expect(waiter.state).toBe('granted');
  });

  it('hear of a withdrawal only in their own line: it gives nothing back', () => {
    const { one, two, slot } = shared(2);
    new Job(one, demand(slot));
    const head = new Job(one, demand([slot, 2]));
    const theirs = new Job(two, demand(slot));
    // The reservation of a head holds back its own line alone.
    expect(theirs.state).toBe('granted');
    theirs.unsubscribe();
    head.unsubscribe();
    expect(slot.inUse()).toBe(1);
  });

  it('a compensation tells none: two heads that undo each other do not play ping-pong', () => {
    const clock = new CountingScheduler();
    const [one, two] = [createAdmission({ scheduler: clock }), createAdmission({ scheduler: clock })];
    let attempts = 0;
    class Declines extends AbstractAccount {
      override readonly capacity = 1;
      inUse(): number {
        return 0;
      }
      fits(): boolean {
        return true;
      }
      tryTake(): boolean {
        attempts += 1;
        if (attempts > 100) throw new Error('ping-pong');
        return false;
      }
      give(): void {
        this.capacityChanged();
      }
      earliestFit(): null {
        return null;
      }
    }
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    const declines = new Declines('declines');
    const jobs = [one, two].map((admission) => new Job(admission, demand([tokens, 10], declines)));
    // Each was tried as it came, and once more in the pass that its joining the line causes; never again.
    expect([jobs.map(({ state }) => state), tokens.tokens(), attempts]).toEqual([['waiting', 'waiting'], 60_000, 4]);
    clock.advanceTo(10_000);
    expect([attempts, clock.pending]).toEqual([4, 0]);
  });

  it('ask no more than the news is worth: one look for each settlement', () => {
    const clock = new CountingScheduler();
    const [one, two] = [createAdmission({ scheduler: clock }), createAdmission({ scheduler: clock })];
    const slot = new Questioned({ name: 'slot', capacity: 2, scheduler: clock });
    const holders = [new Job(one, demand(slot)), new Job(one, demand(slot))];
    const waiter = new Job(two, demand([slot, 2]));
    slot.questions = 0;
    holders[0]?.release();
    expect([waiter.state, slot.questions]).toEqual(['waiting', 1]);
    holders[1]?.release();
    expect(waiter.state).toBe('granted');
  });

  it('one that stops unhooks only itself', () => {
    const { one, two, slot } = shared();
    const holder = new Job(one, demand(slot));
    const [ours, theirs] = [new Job(one, demand(slot)), new Job(two, demand(slot))];
    one.stop();
    expect([ours.state, theirs.state, slot.capacityChanges.observed]).toEqual(['refused', 'waiting', true]);
    // What it admitted settles as ever, and the other hears.
    holder.release();
    expect(theirs.state).toBe('granted');
    expect(slot.capacityChanges.observed).toBe(false);
  });

  it('each hears of growth of the account itself', () => {
    const { one, two, slot } = shared();
    new Job(one, demand(slot));
    const jobs = [new Job(one, demand(slot)), new Job(two, demand(slot))];
    slot.resize(3);
    expect(jobs.map(({ state }) => state)).toEqual(['granted', 'granted']);
  });

  it('each refuses, in the same turn, those whom a shrink made impossible', () => {
    const { one, two, slot } = shared(2);
    new Job(one, demand(slot));
    const jobs = [new Job(one, demand([slot, 2])), new Job(two, demand([slot, 2]))];
    slot.resize(1);
    expect(jobs.map(({ state }) => state)).toEqual(['refused', 'refused']);
  });

  it('leave no hook behind when nobody waits any more', () => {
    const { one, two, slot } = shared();
    const holder = new Job(one, demand(slot));
    const waiters = [new Job(one, demand(slot)), new Job(two, demand(slot))];
    expect(slot.capacityChanges.observed).toBe(true);
    for (const waiter of waiters) waiter.unsubscribe();
    expect([slot.capacityChanges.observed, slot.shrinks.observed]).toEqual([false, false]);
    holder.release();
  });
});

describe('W12: two admissions that share the heap gate', () => {
  const heaped = () => {
    const heap = { current: 0.5 };
    const memory = new MemoryGate({ heap: () => heap.current, collect: false, log: silent });
    return { heap, memory, ...shared(99, memory) };
  };

  it('add up in memory line: each supplies how many of its own wait there', () => {
    const { heap, memory, one, two, slot } = heaped();
    heap.current = 0.96;
    const jobs = [one, one, two].map((admission) => new Job(admission, demand(slot)));
    expect(memory.status().heldOnMemory).toBe(3);
    jobs[2]?.unsubscribe();
    expect(memory.status().heldOnMemory).toBe(2);
    one.stop();
    expect(memory.status().heldOnMemory).toBe(0);
  });

  it('let the line of one go by a completion in the other', () => {
    const { heap, one, two, slot, clock } = heaped();
    const running = new Job(one, demand(slot));
    heap.current = 0.96;
    const waiter = new Job(two, demand(slot));
    heap.current = 0.85;
    expect(waiter.state).toBe('waiting');
    clock.advanceTo(10);
    running.release();
    expect([waiter.state, waiter.grant.wallWait]).toEqual(['granted', 10]);
  });

  it('are both woken when the gate stops', () => {
    const { heap, memory, one, two, slot } = heaped();
    heap.current = 0.97;
    const jobs = [one, two].map((admission) => new Job(admission, demand(slot)));
    memory.stop();
    expect(jobs.map(({ state }) => state)).toEqual(['granted', 'granted']);
  });

  it('one that stops leaves the gate to the other', () => {
    const { heap, memory, one, two, slot } = heaped();
    heap.current = 0.96;
    const [ours, theirs] = [one, two].map((admission) => new Job(admission, demand(slot)));
    one.stop();
    expect([ours?.state, theirs?.state, memory.status().heldOnMemory]).toEqual(['refused', 'waiting', 1]);
    memory.stop();
    expect(theirs?.state).toBe('granted');
  });
});

describe('clocks', () => {
  it('an account that runs on another clock is refused, and nothing is charged', () => {
    const { one, slot } = shared();
    const other = createAdmission({ scheduler: new CountingScheduler() });
    new Job(one, demand(slot)).release();
    const job = new Job(other, demand(slot));
    expect(job.state).toBe('refused');
    expect((job.refusal as Error).message).toContain('account slot already runs on another clock');
    expect([slot.inUse(), other.queueSize, other.status().accounts]).toEqual([0, 0, []]);
    expect(() => other.tryAcquire(demand(slot))).toThrow('another clock');
    expect(new Job(one, demand(slot), {}, () => NEVER).state).toBe('granted');
  });
});
