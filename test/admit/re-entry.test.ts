/** Promise 6, its second half: asking, settling, unsubscribing and stopping from inside whatever the library calls. */
import {
  CountingGate,
  Demand,
  StoppedError,
  createAdmission,
  demand,
  type Admission,
  type Grant,
} from 'rx-admission';
import { NEVER, Observable, Subject, Subscription, finalize, of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { CountingScheduler } from './counting-scheduler.js';
import { Job } from './job.js';

interface Scene {
  readonly admission: Admission;
  readonly scheduler: CountingScheduler;
  readonly slot: CountingGate;
  /** Held by a job that the verbs may release. */
  readonly other: Job;
  readonly waiter: Job;
  readonly log: string[];
}

const scene = (): Scene => {
  const scheduler = new CountingScheduler();
  const admission = createAdmission({ scheduler });
  const slot = new CountingGate({ name: 'slot', capacity: 2, scheduler });
  const log: string[] = [];
  const other = new Job(admission, demand(slot));
  const waiter = new Job(admission, demand([slot, 2]), {}, () => (log.push('the waiter goes'), NEVER));
  return { admission, scheduler, slot, other, waiter, log };
};

/** Some verbs end what they are called from. */
const ignore = (): void => undefined;

/** From inside which of the user's functions something is done; each runs one inner and calls `act` there, once. */
const places: Record<string, (admission: Admission, act: () => void) => Subscription> = {
  project: (admission, act) => admission.defer(Demand.empty, () => (act(), NEVER)).subscribe(),
  'the subscription of the inner': (admission, act) =>
    admission.defer(Demand.empty, () => new Observable(() => act())).subscribe(),
  'the demand function': (admission, act) =>
    of(1)
      .pipe(admission.admit(() => (act(), Demand.empty), () => NEVER))
      .subscribe({ error: ignore }),
  next: (admission, act) => admission.defer(Demand.empty, () => of(1)).subscribe(act),
  complete: (admission, act) => admission.defer(Demand.empty, () => of(1)).subscribe({ complete: act }),
  error: (admission, act) =>
    admission
      .defer(Demand.empty, () => {
        throw new Error('boom');
      })
      .subscribe({ error: act }),
  'finalize of the inner': (admission, act) => admission.defer(Demand.empty, () => of(1).pipe(finalize(act))).subscribe(),
  'finalize of the output': (admission, act) => admission.defer(Demand.empty, () => of(1)).pipe(finalize(act)).subscribe(),
  'an event handler': (admission, act) => {
    let acted = false;
    const handler = admission.events$.subscribe(() => {
      if (acted) return;
      acted = true;
      act();
    });
    const gate = new CountingGate({ name: 'gate', capacity: 1 });
    handler.add(admission.defer(demand(gate), () => of(1)).subscribe({ error: ignore }));
    return handler;
  },
  'a state handler': (admission, act) => {
    let acted = 0;
    const handler = admission.state$.subscribe(() => {
      acted += 1;
      if (acted === 2) act();
    });
    const gate = new CountingGate({ name: 'gate', capacity: 1 });
    const holder = new Job(admission, demand(gate));
    const parked = new Job(admission, demand(gate));
    holder.unsubscribe();
    parked.unsubscribe();
    return handler;
  },
  'an abort listener of the grant': (admission, act) => {
    const subscription = admission
      .defer(Demand.empty, ({ signal }) => {
        signal.addEventListener('abort', act);
        return NEVER;
      })
      .subscribe();
    subscription.unsubscribe();
    return subscription;
  },
  'onRefused': (admission, act) => {
    const gate = new CountingGate({ name: 'gate', capacity: 1 });
    return admission.defer(demand([gate, 2]), () => NEVER, { onRefused: () => (act(), NEVER) }).subscribe();
  },
  'the outcome function': (admission, act) =>
    admission.defer(Demand.empty, () => of(1), { outcome: () => (act(), 'ignored') }).subscribe(),
};

describe.each(Object.keys(places))('promise 6: re-entry from %s', (place) => {
  const from = (admission: Admission, act: () => void): Subscription => {
    const enter = places[place];
    if (enter === undefined) throw new Error(place);
    return enter(admission, act);
  };

  it('an ask is decided at once', () => {
    const { admission, slot, other, waiter } = scene();
    waiter.unsubscribe();
    const inside: unknown[] = [];
    const asked: Job[] = [];
    from(admission, () => {
      const before = admission.queueSize;
      asked.push(new Job(admission, demand(slot)));
      inside.push([slot.inUse(), admission.queueSize - before]);
    });
    // Debited when the ask returned, whether it was delivered by then or not.
    expect(inside).toEqual([[2, 0]]);
    expect(asked.map(({ state }) => state)).toEqual(['granted']);
    for (const job of [...asked, other]) job.unsubscribe();
    expect(slot.inUse()).toBe(0);
  });

  it('an ask that must wait waits, and goes later', () => {
    const { admission, slot, other, waiter } = scene();
    const inside: unknown[] = [];
    const asked: Job[] = [];
    from(admission, () => {
      const before = admission.queueSize;
      asked.push(new Job(admission, demand(slot)));
      inside.push(admission.queueSize - before);
    });
    expect(inside).toEqual([1]);
    other.release();
    expect(asked.map(({ state }) => state)).toEqual(['waiting']);
    waiter.release();
    expect(asked.map(({ state }) => state)).toEqual(['granted']);
  });

  it('a release lets others in, in the same turn', () => {
    const { admission, slot, other, log } = scene();
    let inside: unknown;
    from(admission, () => {
      other.release();
      inside ??= slot.inUse();
    });
    expect(inside).toBe(2);
    expect(log).toEqual(['the waiter goes']);
  });

  it('an unsubscribe withdraws a waiter and cuts an inner', () => {
    const { admission, slot, other, waiter, log } = scene();
    let inside: unknown;
    from(admission, () => {
      waiter.unsubscribe();
      other.unsubscribe();
      inside ??= [slot.inUse(), admission.queueSize];
    });
    expect(inside).toEqual([0, 0]);
    expect(log).toEqual([]);
  });

  it('an unsubscribe of oneself leaves nothing', () => {
    const { admission, slot, other, waiter } = scene();
    waiter.unsubscribe();
    other.unsubscribe();
    const own = new Subscription();
    own.add(from(admission, () => own.unsubscribe()));
    expect([slot.inUse(), admission.queueSize, admission.status().grants.length]).toEqual([0, 0, 0]);
  });

  it('a stop refuses who waits and cuts nobody', () => {
    const { admission, slot, other, waiter } = scene();
    let inside: unknown;
    from(admission, () => {
      admission.stop();
      inside ??= [slot.inUse(), admission.queueSize, admission.status().phase];
    });
    expect(inside).toEqual([1, 0, 'closed']);
    expect(waiter.refusal).toBeInstanceOf(StoppedError);
    expect(other.grant.settled).toBe(false);
  });

  it('a try is answered at once and never passes the head', () => {
    const { admission, slot, waiter } = scene();
    const tries: (Grant | null)[] = [];
    from(admission, () => {
      tries.push(admission.tryAcquire(demand(slot)));
      waiter.unsubscribe();
      tries.push(admission.tryAcquire(demand(slot)));
    });
    expect(tries.map((grant) => grant?.settled ?? null)).toEqual([null, false]);
    expect(slot.inUse()).toBe(2);
  });
});

describe('promise 6: the order of what re-entry causes', () => {
  it('delivers an ask made during a delivery after it, in order', () => {
    const { admission, slot, other, waiter } = scene();
    waiter.unsubscribe();
    other.unsubscribe();
    const log: string[] = [];
    admission
      .defer(demand(slot), () => {
        log.push('outer starts');
        for (const name of ['first', 'second']) {
          admission.defer(demand([slot, 1]), () => (log.push(`${name} starts, inUse=${slot.inUse()}`), NEVER)).subscribe();
          log.push(`${name} asked, inUse=${slot.inUse()} queue=${admission.queueSize}`);
        }
        log.push('outer returns');
        return of('x');
      })
      .subscribe(() => log.push('outer emits'));
    expect(log).toEqual([
      'outer starts',
      'first asked, inUse=2 queue=0',
      'second asked, inUse=2 queue=1',
      'outer returns',
      'outer emits',
      // By the time the first is delivered the outer one has ended, and the second has its permit.
      'first starts, inUse=2',
      'second starts, inUse=2',
    ]);
  });

  it('tells each subscriber of the events the same order, whoever re-enters', () => {
    const { admission, slot, other, waiter } = scene();
    waiter.unsubscribe();
    const seen: [string[], string[]] = [[], []];
    let acted = false;
    admission.events$.subscribe(({ type, job }) => {
      seen[0].push(`${type} ${String(job)}`);
      if (acted) return;
      acted = true;
      new Job(admission, demand(slot), { job: 'inside' });
      other.release();
    });
    admission.events$.subscribe(({ type, job }) => seen[1].push(`${type} ${String(job)}`));
    new Job(admission, demand(slot), { job: 'outside' });
    expect(seen[0]).toEqual([
      'GRANTED_IMMEDIATE outside',
      'HELD inside',
      'RELEASED undefined',
      'GRANTED_FROM_HOLD inside',
    ]);
    expect(seen[1]).toEqual(seen[0]);
  });

  it('decides each state before the next, and shows states in order', () => {
    const { admission, slot, other, waiter } = scene();
    const sizes: number[] = [];
    let acted = false;
    admission.state$.subscribe(({ line }) => {
      sizes.push(line.length);
      if (acted || line.length !== 2) return;
      acted = true;
      waiter.unsubscribe();
      other.release();
    });
    new Job(admission, demand(slot));
    expect(sizes).toEqual([1, 2, 0]);
    expect(slot.inUse()).toBe(1);
  });

  it('lets a consumer stop admission in the middle of a cascade: who has landed goes, who waits does not', () => {
    const scheduler = new CountingScheduler();
    const admission = createAdmission({ scheduler });
    const slot = new CountingGate({ name: 'slot', capacity: 2, scheduler });
    const holder = new Job(admission, demand([slot, 2]));
    const started: string[] = [];
    const errors: unknown[] = [];
    for (const name of ['a', 'b', 'c']) {
      admission
        .defer(demand(slot), () => {
          started.push(name);
          if (name === 'a') admission.stop();
          return NEVER;
        })
        .subscribe({ error: (error: unknown) => errors.push(error) });
    }
    holder.release();
    expect(started).toEqual(['a', 'b']);
    expect(errors).toHaveLength(1);
    expect(slot.inUse()).toBe(2);
  });

  it('survives a source that ends in the middle of its own item', () => {
    const { admission, slot, other, waiter } = scene();
    waiter.unsubscribe();
    other.unsubscribe();
    const source = new Subject<string>();
    const log: string[] = [];
    source
      .pipe(admission.admit(demand(slot), (item) => (source.complete(), of(item))))
      .subscribe({ next: (item) => log.push(item), complete: () => log.push('complete') });
    source.next('a');
    expect(log).toEqual(['a', 'complete']);
    expect(slot.inUse()).toBe(0);
  });
});
