/** What the events of an account say: fields, counts, order; and that admission never hears when telling them fails. */
import { NEVER, type Observable } from 'rxjs';
import {
  AbstractAccount,
  CountingGate,
  RefusedError,
  createAdmission,
  demand,
  type Admission,
  type AdmissionEvent,
  type Demand,
  type Grant,
} from 'rx-admission';
import { describe, expect, it, vi } from 'vitest';
import { VirtualClock } from '../conformance/virtual-clock.js';

class World {
  readonly clock = new VirtualClock(0);
  readonly admission: Admission = createAdmission({ scheduler: this.clock });
  readonly events: AdmissionEvent[] = [];
  readonly grants = new Map<string, Grant>();
  readonly failed: string[] = [];

  constructor() {
    this.admission.events$.subscribe((event) => this.events.push(event));
  }

  ask(at: number, job: string, whole: Demand, signal?: AbortSignal): void {
    this.clock.advanceTo(at);
    const work = (grant: Grant): Observable<never> => {
      this.grants.set(job, grant);
      return NEVER;
    };
    this.admission.defer(whole, work, { job, signal }).subscribe({
      error: (error: unknown) => this.failed.push(`${this.clock.now()} ${job} ${String(error)}`),
    });
  }

  release(at: number, job: string): void {
    this.clock.advanceTo(at);
    this.grants.get(job)?.release();
  }

  get lines(): string[] {
    return this.events.map(({ at, type, account, job, waiters, wait, reason }) =>
      [at, type, account, job, waiters, wait, ...(reason === null ? [] : [reason])].join(' '),
    );
  }
}

const gate = (name: string, capacity = 1): CountingGate => new CountingGate({ name, capacity });

describe('the events of an account', () => {
  it('event-01: carry snapshot, name, category, capacity, use after the take, waiters, wait, reason, indicator and amount', () => {
    const world = new World();
    const snapshot = { id: 'A' };
    world.admission.defer(demand(gate('slot')), () => NEVER, { job: snapshot }).subscribe();
    expect(world.events).toEqual([
      {
        type: 'GRANTED_IMMEDIATE',
        at: 0,
        account: 'slot',
        category: 'semaphore',
        capacity: 1,
        inUse: 1,
        waiters: 0,
        amount: 1,
        wait: 0,
        reason: null,
        indicator: null,
        job: snapshot,
      },
    ]);
    expect(world.events[0]?.job).toBe(snapshot);
  });

  it('event-02: count those still held on a release and those left on a grant, use being 1, 1, 0, 1 along the way', () => {
    const world = new World();
    const slot = gate('slot');
    world.ask(0, 'H', demand(slot));
    world.ask(1_000, 'B', demand(slot));
    world.release(3_000, 'H');
    expect(world.events.map(({ type, waiters, inUse, job }) => [type, waiters, inUse, job])).toEqual([
      ['GRANTED_IMMEDIATE', 0, 1, 'H'],
      ['HELD', 1, 1, 'B'],
      ['RELEASED', 1, 0, 'H'],
      ['GRANTED_FROM_HOLD', 0, 1, 'B'],
    ]);
    expect(world.grants.get('B')?.wallWait).toBe(2_000);
  });

  it('event-03: say HELD once however often a job is refused again, and keep the head’s accounts for it', () => {
    const world = new World();
    const [a, b] = [gate('a'), gate('b')];
    world.ask(0, 'HA', demand(a));
    world.ask(10, 'HB', demand(b));
    world.ask(20, 'J', demand(a, b));
    world.ask(25, 'X', demand(a));
    world.ask(26, 'Z', demand(b));
    world.release(100, 'HA');
    expect(world.events.filter(({ type, job }) => type === 'HELD' && job === 'J')).toHaveLength(2);
    expect([a.inUse(), world.admission.queueSize]).toEqual([0, 3]);
    world.release(150, 'HB');
    expect([...world.grants.keys()]).toEqual(['HA', 'HB', 'J']);
    expect(world.admission.status().waiters.map(({ job }) => job)).toEqual(['X', 'Z']);
  });

  it('event-08: count 1, 2, 3 as three are held and 2, 1, 0 as they go, six transitions in all', () => {
    const world = new World();
    const slot = gate('slot');
    world.ask(0, 'H', demand(slot));
    for (const n of [0, 1, 2]) world.ask(n + 1, `W${n}`, demand(slot));
    for (const [index, job] of ['H', 'W0', 'W1', 'W2'].entries()) world.release(10 * (index + 1), job);
    const counts = (type: string): number[] =>
      world.events.filter((event) => event.type === type).map(({ waiters }) => waiters);
    expect([counts('HELD'), counts('GRANTED_FROM_HOLD')]).toEqual([
      [1, 2, 3],
      [2, 1, 0],
    ]);
  });

  it('event-10: say REJECTED once per account the job was held on, in the order it was first held, each with its own wait', () => {
    const world = new World();
    const [a, b, other] = [gate('a'), gate('b'), gate('other')];
    const controller = new AbortController();
    world.ask(0, 'HO', demand(other));
    world.ask(0, 'HB', demand(b));
    world.ask(5, 'head', demand(other));
    world.ask(10, 'J', demand(a, b), controller.signal);
    // Nobody but the head reserves: this one takes the a that J would have had.
    world.ask(20, 'Y', demand(a));
    world.clock.advanceTo(60);
    controller.abort();
    expect(world.lines.slice(3)).toEqual([
      '10 HELD b J 1 0',
      '20 GRANTED_IMMEDIATE a Y 0 0',
      '20 HELD a J 1 0',
      '60 REJECTED b J 0 50 cancelled',
      '60 REJECTED a J 0 40 cancelled',
    ]);
    expect(world.failed).toEqual(['60 J AbortError: the ask was cancelled']);
  });

  it('event-11: say no HELD before a refusal, and the account’s message reaches the caller unchanged', () => {
    class Circuit extends AbstractAccount {
      readonly capacity = 1;
      readonly refusal = new RefusedError('circuit is refusing everyone', { account: 'circuit' });
      inUse(): number {
        return 0;
      }
      fits(): boolean {
        throw this.refusal;
      }
      tryTake(): boolean {
        throw this.refusal;
      }
      give(): void {
        // Nothing was taken.
      }
      earliestFit(): null {
        return null;
      }
    }
    const world = new World();
    const circuit = new Circuit('circuit');
    let told: unknown;
    world.admission
      .defer(demand(circuit), () => [], { job: 'A' })
      .subscribe({
        error: (error: unknown) => {
          told = error;
        },
      });
    expect(told).toBe(circuit.refusal);
    expect(world.lines).toEqual(['0 REJECTED circuit A 0 0 circuit_blocked']);
  });

  it('event-15: reject at a shutdown in queue order, each job on every account that held it', () => {
    const world = new World();
    const [a, b] = [gate('a'), gate('b')];
    world.ask(0, 'HA', demand(a));
    world.ask(0, 'HB', demand(b));
    world.ask(10, 'J', demand(a, b));
    world.ask(20, 'K', demand(a));
    world.clock.advanceTo(100);
    world.admission.stop();
    expect(world.lines.slice(-3)).toEqual([
      '100 REJECTED a J 1 90 shutdown',
      '100 REJECTED b J 0 90 shutdown',
      '100 REJECTED a K 0 80 shutdown',
    ]);
    expect(world.failed.map((line) => line.slice(0, 5))).toEqual(['100 J', '100 K']);
  });
});

describe('telling that fails', () => {
  /** A gate that can be asked and debited, but not described. */
  class Nameless extends AbstractAccount {
    declare name: string;
    readonly capacity = 1;
    descriptions = 0;
    #taken = 0;
    constructor() {
      super('x');
      Object.defineProperty(this, 'name', {
        get: () => {
          this.descriptions += 1;
          throw new Error('no name today');
        },
      });
    }
    inUse(): number {
      return this.#taken;
    }
    fits(): boolean {
      return this.#taken === 0;
    }
    tryTake(): boolean {
      this.#taken = 1;
      return true;
    }
    give(): void {
      this.#taken = 0;
    }
    earliestFit(): null {
      return null;
    }
  }
  const through = (account: AbstractAccount, listener?: (event: AdmissionEvent) => void): number => {
    const admission = createAdmission({ scheduler: new VirtualClock(0) });
    if (listener) admission.events$.subscribe(listener);
    const grant = admission.tryAcquire(demand(account));
    const taken = account.inUse();
    grant?.release();
    return taken;
  };

  it('status-02: with nobody listening no event is built, and nobody is asked to describe himself', () => {
    const account = new Nameless();
    expect([through(account), account.inUse(), account.descriptions]).toEqual([1, 0, 0]);
  });

  it('status-02: with a listener the event is dropped, and the job is granted and released as usual', () => {
    const account = new Nameless();
    const heard: unknown[] = [];
    expect([through(account, (event) => heard.push(event)), account.inUse(), heard]).toEqual([1, 0, []]);
    expect(account.descriptions).toBe(2);
  });

  it('status-02: a listener that throws costs the job nothing', () => {
    vi.useFakeTimers();
    try {
      const account = gate('slot');
      const fails = (): never => {
        throw new Error('the bus is down');
      };
      expect([through(account, fails), account.inUse()]).toEqual([1, 0]);
      // It is reported as RxJS reports such errors: later, to nobody's cost.
      expect(() => vi.runAllTimers()).toThrow('the bus is down');
    } finally {
      vi.useRealTimers();
    }
  });
});
