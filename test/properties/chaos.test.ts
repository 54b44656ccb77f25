/**
 * Everything that runs user code does something to the admission in its middle: whatever comes of it, each event has its
 * counterpart, snapshots stay as they were, and nothing is left behind.
 */
import fc from 'fast-check';
import { Subject, finalize, type Subscription } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { CountingGate, createAdmission, demand, type Admission, type AdmissionEvent, type Demand, type Grant } from 'rx-admission';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { reports } from '../admit/reports.js';
import { Random } from '../oracle/random.js';

const RUNS = Number(process.env.CHAOS_RUNS ?? 80);

interface Job {
  readonly name: number;
  readonly inner: Subject<number>;
  readonly controller: AbortController;
  readonly source: Subject<number>;
  subscription: Subscription | null;
  ends: number;
}

class Chaos {
  readonly clock = new CountingScheduler();
  readonly admission: Admission;
  readonly other: Admission;
  readonly gates: readonly CountingGate[];
  readonly events: AdmissionEvent[] = [];
  readonly faults: string[] = [];
  readonly #random: Random;
  readonly #jobs: Job[] = [];
  readonly #grants: Grant[] = [];
  readonly #kept: { readonly line: () => readonly unknown[]; readonly then: readonly unknown[] }[] = [];
  readonly #watches: Subscription[] = [];
  #budget: number;
  #depth = 0;
  #lastSize = 0;

  constructor(seed: number, budget: number) {
    const { clock } = this;
    this.#random = new Random(seed);
    this.#budget = budget;
    this.gates = [3, 2].map((capacity, n) => new CountingGate({ name: `g${n}`, capacity, scheduler: clock }));
    this.admission = createAdmission({ scheduler: clock, maxWaiters: 12, overflow: this.#random.of(['reject', 'drop-oldest'] as const) });
    this.other = createAdmission({ scheduler: clock });
    this.#watches.push(
      this.admission.events$.subscribe((event) => {
        this.events.push(event);
        this.meddle();
      }),
      this.admission.state$.subscribe((state) => {
        const size = state.queueSize;
        // Half of them are looked at when they come, half only at the end.
        const then = this.#random.chance(0.5) ? state.line : null;
        if (then !== null) this.#kept.push({ line: () => state.line, then: [...then] });
        this.#lastSize = size;
        this.meddle();
        if (state.line.length !== size) this.faults.push(`a state of ${size} shows ${state.line.length}`);
      }),
      this.admission.status$.subscribe((status) => {
        if (status.queueSize !== status.waiters.length) this.faults.push('a status that contradicts itself');
        this.meddle();
      }),
    );
  }

  get lastSize(): number {
    return this.#lastSize;
  }

  meddle(): void {
    if (this.#budget <= 0 || this.#depth > 6 || !this.#random.chance(0.35)) return;
    this.act();
  }

  act(): void {
    this.#budget -= 1;
    this.#depth += 1;
    try {
      this.#act();
    } finally {
      this.#depth -= 1;
    }
  }

  #act(): void {
    const random = this.#random;
    const job = this.#jobs.length === 0 ? null : random.of(this.#jobs);
    const gate = random.of(this.gates);
    switch (random.whole(0, 15)) {
      case 0:
      case 1:
      case 2:
      case 3:
        this.#ask(random.chance(0.8) ? this.admission : this.other);
        return;
      case 4:
        return job?.source.next(1);
      case 5:
        return job?.source.complete();
      case 6:
        return job?.inner.complete();
      case 7:
        return job?.inner.next(1);
      case 8:
        return random.chance(0.5) ? job?.inner.error(new Error('inner')) : job?.source.error(new Error('source'));
      case 9:
        return job?.subscription?.unsubscribe();
      case 10:
        return job?.controller.abort();
      case 11:
        if (this.#grants.length > 0) random.of(this.#grants)[random.of(['release', 'rollback'] as const)]();
        return;
      case 12:
        gate.resize(random.whole(1, 4));
        return;
      case 13:
        gate[random.of(['pause', 'resume'] as const)]();
        return;
      case 14:
        try {
          const grant = this.admission.tryAcquire(this.#demand());
          if (grant !== null) this.#grants.push(grant);
        } catch {
          // Refused: as good an answer as any.
        }
        return;
      case 15:
        if (random.chance(0.02)) this.admission.stop();
        else this.clock.advanceTo(this.clock.now() + random.whole(0, 20));
    }
  }

  #demand(): Demand {
    const [one, two] = this.gates as [CountingGate, CountingGate];
    const random = this.#random;
    return random.of([demand(one), demand(two), demand([one, 2]), demand(one, two), demand([one, 4]), demand()]);
  }

  #ask(admission: Admission): void {
    const random = this.#random;
    const job: Job = {
      name: this.#jobs.length,
      inner: new Subject(),
      controller: new AbortController(),
      source: new Subject(),
      subscription: null,
      ends: 0,
    };
    this.#jobs.push(job);
    const meddle = (): void => this.meddle();
    const kind = random.whole(0, 3);
    job.controller.signal.addEventListener('abort', meddle);
    const output = job.source.pipe(
      admission.admit(
        () => (meddle(), this.#demand()),
        (_, grant) => {
          grant.signal.addEventListener('abort', meddle);
          if (random.chance(0.2)) this.#grants.push(grant);
          meddle();
          if (kind === 0) throw new Error('project');
          if (kind === 1) return [1, 2];
          return job.inner.pipe(finalize(meddle));
        },
        {
          signal: job.controller.signal,
          job: () => (meddle(), job.name),
          maxWait: random.of([Infinity, 0, 10]),
          outcome: () => (meddle(), 'success'),
          ...(random.chance(0.3) ? { onRefused: () => (meddle(), [0]) } : {}),
        },
      ),
      finalize(meddle),
    );
    const ended = (): void => {
      job.ends += 1;
      meddle();
    };
    const subscription = output.subscribe({ next: meddle, error: ended, complete: ended });
    job.subscription = subscription;
    job.source.next(0);
  }

  finish(): void {
    this.#budget = 0;
    for (const gate of this.gates) gate.resume();
    for (const { subscription } of this.#jobs) subscription?.unsubscribe();
    for (const grant of this.#grants) grant.release();
    expect(this.clock.pending, 'timers while nobody waits').toBe(0);
    expect(this.faults).toEqual([]);
    expect(this.gates.map((gate) => gate.inUse())).toEqual([0, 0]);
    for (const { queueSize, status } of [this.admission, this.other].map((one) => ({ queueSize: one.queueSize, status: one.status() }))) {
      expect([queueSize, status.waiters, status.grants, status.accounts]).toEqual([0, [], [], []]);
    }
    expect(this.lastSize).toBe(0);
    for (const gate of this.gates) expect([gate.capacityChanges.observed, gate.shrinks.observed]).toEqual([false, false]);
    for (const { ends } of this.#jobs) expect(ends).toBeLessThanOrEqual(1);
    for (const { line, then } of this.#kept) expect(line()).toEqual(then);
    this.#balance();
    for (const watch of this.#watches) watch.unsubscribe();
  }

  /** Each HELD ends once, each grant is given back once. */
  #balance(): void {
    const count = new Map<string, number>();
    const add = (key: string, by: number): void => void count.set(key, (count.get(key) ?? 0) + by);
    for (const { type, account, amount, wait, reason } of this.events) {
      if (type === 'HELD') add(`held on ${account}`, 1);
      if (type === 'GRANTED_FROM_HOLD') add(`held on ${account}`, -1);
      if (type === 'REJECTED' && (reason !== 'circuit_blocked' || wait > 0)) add(`held on ${account}`, -1);
      if (type.startsWith('GRANTED')) add(`out on ${account}`, amount);
      if (type === 'RELEASED') add(`out on ${account}`, -amount);
    }
    for (const [key, left] of count) if (key.startsWith('out')) expect(`${key}: ${left}`).toBe(`${key}: 0`);
    for (const account of this.gates) {
      const marked = this.events.filter((event) => event.account === account.name).at(-1)?.waiters ?? 0;
      expect(marked, `marked on ${account.name} at the end`).toBe(0);
    }
  }
}

describe('chaos', () => {
  it('leaves nothing behind, whoever re-enters from where', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.integer({ min: 5, max: 150 }), async (seed, budget) => {
        let chaos: Chaos | null = null;
        const reported = await reports(() => {
          chaos = new Chaos(seed, budget);
          for (let n = 0; n < budget / 2; n += 1) chaos.act();
          chaos.finish();
        });
        expect(reported.map(String).filter((text) => !/Error: (inner|source|project)/.test(text))).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });
});
