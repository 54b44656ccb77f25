/** However an ask ends, nothing of it is left: no timer, no listener, no hook on an account, no name in the books. */
import { getEventListeners } from 'node:events';
import { CountingGate, ElasticWindow, MemoryGate, TokenBucket, createAdmission, demand, type Admission } from 'rx-admission';
import { BehaviorSubject, EMPTY, NEVER, Subject, of, type Observable } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { Job } from '../admit/job.js';

const silent = { warn: (): void => undefined, info: (): void => undefined };

interface Whole {
  readonly clock: CountingScheduler;
  readonly admission: Admission;
  readonly slot: CountingGate;
  readonly tokens: TokenBucket;
  readonly controller: AbortController;
  readonly whole: ReturnType<typeof demand>;
  readonly options: { readonly signal: AbortSignal; readonly maxWait: number; readonly deadline: number };
  readonly holder: Job;
}

/** How an ask can end; each must leave nothing but the holder's own grant. */
const endings: Record<string, (world: Whole) => void> = {
  'granted at once, released': ({ admission, slot, options, holder }) => {
    holder.unsubscribe();
    new Job(admission, demand(slot), options).release();
  },
  'granted at once, rolled back': ({ admission, whole, options, holder }) => {
    holder.unsubscribe();
    new Job(admission, whole, options).grant.rollback();
  },
  'granted at once, unsubscribed': ({ admission, whole, options, holder }) => {
    holder.unsubscribe();
    new Job(admission, whole, options).unsubscribe();
  },
  'waited, granted, released': ({ admission, whole, options, holder }) => {
    const job = new Job(admission, whole, options);
    holder.release();
    job.release();
  },
  'waited, unsubscribed': ({ admission, whole, options }) => {
    new Job(admission, whole, options).unsubscribe();
  },
  'waited, aborted': ({ admission, whole, options, controller }) => {
    new Job(admission, whole, options);
    controller.abort();
  },
  'ran, aborted, released': ({ admission, whole, options, controller, holder }) => {
    holder.release();
    const job = new Job(admission, whole, options);
    controller.abort();
    job.release();
  },
  'waited too long': ({ admission, whole, options, clock }) => {
    new Job(admission, whole, options);
    clock.advanceTo(1_000);
  },
  'ran beyond its deadline': ({ admission, whole, options, clock, holder }) => {
    holder.release();
    const job = new Job(admission, whole, options);
    clock.advanceTo(3_000);
    job.release();
  },
  'refused at once': ({ admission, slot, options }) => {
    new Job(admission, demand([slot, 2]), options);
  },
  'refused while it waited': ({ admission, slot, options, holder }) => {
    slot.resize(2);
    new Job(admission, demand([slot, 2]), options);
    slot.resize(1);
    holder.release();
  },
  'refused at the door': ({ admission, whole, options, controller }) => {
    controller.abort();
    new Job(admission, whole, options);
  },
  'tried in vain': ({ admission, whole }) => {
    expect(admission.tryAcquire(whole)).toBeNull();
  },
  'tried, granted, released': ({ admission, whole, holder }) => {
    holder.release();
    admission.tryAcquire(whole)?.release();
  },
  'project threw': ({ admission, whole, options, holder }) => {
    holder.release();
    new Job(admission, whole, options, () => {
      throw new Error('boom');
    });
  },
  'an operator, unsubscribed in the middle': ({ admission, whole, options }) => {
    const source = new Subject<string>();
    const run = source.pipe(admission.admit(whole, () => NEVER, options)).subscribe();
    for (const item of ['a', 'b', 'c']) source.next(item);
    run.unsubscribe();
  },
  'an operator, to its end': ({ admission, slot, options, holder }) => {
    of('a', 'b', 'c').pipe(admission.admit(demand(slot), () => EMPTY, options)).subscribe();
    holder.release();
  },
  'each, unsubscribed in the middle': ({ admission, whole, options }) => {
    admission.each(['a', 'b', 'c'], whole, () => NEVER, { ...options, prefetch: 2 }).subscribe().unsubscribe();
  },
  stopped: ({ admission, whole, options }) => {
    new Job(admission, whole, options);
    admission.stop();
  },
};

describe('an ask that ends leaves nothing', () => {
  it.each(Object.keys(endings))('%s', (ending) => {
    const clock = new CountingScheduler();
    const readings = new BehaviorSubject(0.5);
    const memory = new MemoryGate({ heap: readings, collect: false, log: silent });
    const admission = createAdmission({ scheduler: clock, memory });
    const slot = new CountingGate({ name: 'slot', capacity: 1, scheduler: clock });
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    const window = new ElasticWindow({ name: 'window', maxRequests: 9, baseWindow: 1_000, scheduler: clock });
    const controller = new AbortController();
    const { signal } = controller;
    const world: Whole = {
      clock,
      admission,
      slot,
      tokens,
      controller,
      whole: demand(slot, [tokens, 100], window),
      options: { signal, maxWait: 1_000, deadline: 2_000 },
      holder: new Job(admission, demand(slot)),
    };
    endings[ending]?.(world);
    world.holder.unsubscribe();
    expect({
      timers: clock.pending,
      mostTimers: clock.peak <= 1,
      listeners: getEventListeners(signal, 'abort').length,
      hooks: [slot, tokens, window, memory].map(({ capacityChanges }) => capacityChanges.observed),
      shrinks: slot.shrinks.observed,
      inUse: slot.inUse(),
      queueSize: admission.queueSize,
      nextDeadline: admission.nextDeadline,
      grants: admission.status().grants,
      accounts: admission.status().accounts.map(({ name }) => name),
      heldOnMemory: memory.status().heldOnMemory,
      readings: readings.observed,
    }).toEqual({
      timers: 0,
      mostTimers: true,
      listeners: 0,
      hooks: [false, false, false, false],
      shrinks: false,
      inUse: 0,
      queueSize: 0,
      nextDeadline: null,
      grants: [],
      accounts: ['memory'],
      heldOnMemory: 0,
      // Pushed readings are listened to as long as the admission runs.
      readings: ending !== 'stopped',
    });
  });
});

describe('many accounts', () => {
  it('that come and go are each held, told of and forgotten as the first was', () => {
    const clock = new CountingScheduler();
    const admission = createAdmission({ scheduler: clock });
    const events: string[] = [];
    admission.events$.subscribe(({ type, account, waiters }) => events.push(`${type} ${account} ${waiters}`));
    const kept = new CountingGate({ name: 'kept', capacity: 1, scheduler: clock });
    const holder = new Job(admission, demand(kept));
    for (let n = 0; n < 300; n += 1) {
      const gate = new CountingGate({ name: `gate ${n}`, capacity: 1, scheduler: clock });
      events.length = 0;
      const first = new Job(admission, demand(gate));
      const second = new Job(admission, demand(gate));
      first.release();
      second.release();
      expect(events).toEqual([
        `GRANTED_IMMEDIATE gate ${n} 0`,
        `HELD gate ${n} 1`,
        `RELEASED gate ${n} 1`,
        `GRANTED_FROM_HOLD gate ${n} 0`,
        `RELEASED gate ${n} 0`,
      ]);
      expect(gate.capacityChanges.observed).toBe(false);
    }
    expect(admission.status().accounts.map(({ name }) => name)).toEqual(['kept']);
    holder.release();
  });

  it('that are waited for behind a head, more kinds than are kept, are all served and all forgotten', () => {
    const clock = new CountingScheduler();
    const admission = createAdmission({ scheduler: clock });
    const gates = Array.from({ length: 100 }, (_, n) => new CountingGate({ name: `gate ${n}`, capacity: 1, scheduler: clock }));
    for (let round = 0; round < 2; round += 1) {
      const holders = gates.map((gate) => new Job(admission, demand(gate)));
      const waiters = gates.map((gate) => new Job(admission, demand(gate)));
      // From the back, so that groups empty in another order than they were made.
      for (const holder of [...holders].reverse()) holder.release();
      expect([waiters.every(({ state }) => state === 'granted'), admission.queueSize]).toEqual([true, 0]);
      for (const waiter of waiters) waiter.release();
    }
    expect(gates.map((gate) => gate.inUse() + Number(gate.capacityChanges.observed))).toEqual(gates.map(() => 0));
  });

  it('one whose stream of changes breaks tells no more, and costs nobody anything', () => {
    const clock = new CountingScheduler();
    const admission = createAdmission({ scheduler: clock });
    const changes = new Subject<void>();
    class Broken extends CountingGate {
      override readonly capacityChanges: Observable<void> & { readonly observed: boolean } = changes;
    }
    const broken = new Broken({ name: 'broken', capacity: 1 });
    const holder = new Job(admission, demand(broken));
    const waiter = new Job(admission, demand(broken));
    changes.error(new Error('the stream broke'));
    expect(waiter.state).toBe('waiting');
    holder.release();
    expect(waiter.state).toBe('granted');
  });
});

describe('timers', () => {
  it('are one for a whole line on clocked accounts with distinct deadlines, and none once it has gone', () => {
    const clock = new CountingScheduler();
    const admission = createAdmission({ scheduler: clock });
    const jobs = Array.from({ length: 50 }, (_, n) => {
      const tokens = new TokenBucket({ name: `tokens ${n}`, tokensPerMinute: 60_000, scheduler: clock });
      new Job(admission, demand([tokens, 60_000]));
      return new Job(admission, demand([tokens, 100 + n]), { maxWait: 10_000 + n });
    });
    expect(clock.pending).toBe(1);
    clock.advanceTo(1_000);
    expect([jobs.filter(({ state }) => state === 'granted').length, clock.pending, clock.peak]).toEqual([50, 0, 1]);
  });

  it('are none while the line waits for an event only', () => {
    const clock = new CountingScheduler();
    const admission = createAdmission({ scheduler: clock });
    const slot = new CountingGate({ name: 'slot', capacity: 1 });
    for (let n = 0; n < 5; n += 1) new Job(admission, demand(slot));
    expect([admission.queueSize, clock.pending, admission.nextDeadline]).toEqual([4, 0, null]);
  });

  it('are none for an admission that nobody asks anything', () => {
    const clock = new CountingScheduler();
    createAdmission({ scheduler: clock, memory: new MemoryGate({ heap: () => 0.97, collect: false, log: silent }) });
    expect(clock.pending).toBe(0);
  });

  it('look again every two seconds while the heap holds the line, and no longer', () => {
    const clock = new CountingScheduler();
    let heap = 0.97;
    const memory = new MemoryGate({ heap: () => heap, collect: false, log: silent });
    const admission = createAdmission({ scheduler: clock, memory });
    const job = new Job(admission, demand(new CountingGate({ name: 'slot', capacity: 1 })));
    for (const instant of [2_000, 4_000, 6_000]) {
      expect([admission.nextDeadline, clock.pending]).toEqual([instant, 1]);
      clock.advanceTo(instant);
    }
    heap = 0.5;
    clock.advanceTo(8_000);
    expect([job.state, clock.pending]).toEqual(['granted', 0]);
  });

  it('a pushed reading causes a pass, and needs no timer for it', () => {
    const clock = new CountingScheduler();
    const readings = new BehaviorSubject(0.97);
    const admission = createAdmission({ scheduler: clock, memory: new MemoryGate({ heap: readings, collect: false, log: silent }) });
    const job = new Job(admission, demand(new CountingGate({ name: 'slot', capacity: 1 })));
    clock.advanceTo(5);
    expect(job.state).toBe('waiting');
    readings.next(0.5);
    expect([job.state, job.grant.wallWait, clock.pending]).toEqual(['granted', 5, 0]);
  });
});
