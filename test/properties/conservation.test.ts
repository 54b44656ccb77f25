/**
 * Random demands over random accounts, with everything that can end a wait or a hold at any step: nothing is overdrawn,
 * lost or doubled, the head goes as soon as it fits, and nothing is left behind.
 */
import fc from 'fast-check';
import { Observable, type Subscription } from 'rxjs';
import { describe, expect, it } from 'vitest';
import {
  CountingGate,
  Demand,
  ElasticWindow,
  TokenBucket,
  createAdmission,
  type Account,
  type Admission,
  type Grant,
} from 'rx-admission';
import { CountingScheduler } from '../admit/counting-scheduler.js';

const RUNS = Number(process.env.PROPERTY_RUNS ?? 100);
const quiet = { warn: () => undefined, info: () => undefined };

type Act =
  | { readonly kind: 'ask'; readonly amounts: readonly (number | null)[]; readonly abortable: boolean }
  | { readonly kind: 'release' | 'rollback' | 'unsubscribe' | 'abort'; readonly which: number }
  | { readonly kind: 'resize'; readonly gate: number; readonly capacity: number }
  | { readonly kind: 'pause' | 'resume'; readonly gate: number }
  | { readonly kind: 'pressure' | 'success'; readonly clocked: number }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'stop' };

const which = fc.nat(1_000);
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      amounts: fc.array(fc.option(fc.integer({ min: 1, max: 4 }), { freq: 2 }), { minLength: 4, maxLength: 4 }),
      abortable: fc.boolean(),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('release' as const, 'rollback' as const), which }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('unsubscribe' as const, 'abort' as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('resize' as const), gate: fc.nat(1), capacity: fc.integer({ min: 1, max: 6 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('pause' as const, 'resume' as const), gate: fc.nat(1) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('pressure' as const, 'success' as const), clocked: fc.nat(1) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 5_000 }) }) },
);

class Job {
  grant: Grant | null = null;
  ended: 'no' | 'refused' | 'withdrawn' | 'settled' = 'no';
  subscription: Subscription | null = null;
  readonly controller = new AbortController();

  constructor(readonly demand: Demand) {}
}

class World {
  readonly scheduler = new CountingScheduler();
  readonly gates: readonly CountingGate[];
  readonly bucket: TokenBucket;
  readonly window: ElasticWindow;
  readonly admission: Admission;
  readonly jobs: Job[] = [];
  stopped = false;

  constructor(capacities: readonly [number, number]) {
    const { scheduler } = this;
    this.gates = capacities.map((capacity, index) => new CountingGate({ name: `gate ${index}`, capacity, scheduler }));
    this.bucket = new TokenBucket({ name: 'bucket', tokensPerMinute: 60, requestsPerMinute: 30, scheduler, log: quiet });
    this.window = new ElasticWindow({ name: 'window', maxRequests: 4, baseWindow: 700, maxThrottle: 2, scheduler, log: quiet });
    this.admission = createAdmission({ scheduler });
  }

  get accounts(): readonly Account[] {
    return [...this.gates, this.bucket, this.window];
  }

  do(step: Act): void {
    switch (step.kind) {
      case 'ask':
        this.#ask(step.amounts, step.abortable);
        return;
      case 'release':
      case 'rollback': {
        const job = pick(this.jobs.filter(({ grant, ended }) => grant !== null && ended === 'no'), step.which);
        if (job === undefined) return;
        job.ended = 'settled';
        job.grant?.[step.kind]();
        // A grant is settled once: neither verb does anything more.
        job.grant?.release();
        job.grant?.rollback();
        return;
      }
      case 'unsubscribe': {
        const job = pick(this.jobs.filter(({ grant, ended }) => grant === null && ended === 'no'), step.which);
        if (job === undefined) return;
        job.ended = 'withdrawn';
        job.subscription?.unsubscribe();
        return;
      }
      case 'abort':
        pick(this.jobs, step.which)?.controller.abort();
        return;
      case 'resize':
        this.gates[step.gate]?.resize(step.capacity);
        return;
      case 'pause':
      case 'resume':
        this.gates[step.gate]?.[step.kind]();
        return;
      case 'pressure':
        if (step.clocked === 0) this.bucket.record429();
        else this.window.recordAdvisory();
        return;
      case 'success':
        if (step.clocked === 0) this.bucket.onSuccess();
        else this.window.onSuccess();
        return;
      case 'pass':
        this.scheduler.advanceTo(this.scheduler.now() + step.ms);
        return;
      case 'stop':
        this.stopped = true;
        this.admission.stop();
    }
  }

  #ask(amounts: readonly (number | null)[], abortable: boolean): void {
    let whole = Demand.empty;
    this.accounts.forEach((account, index) => {
      const amount = amounts[index];
      if (amount != null) whole = whole.add(account, amount);
    });
    const job = new Job(whole);
    this.jobs.push(job);
    const options = abortable ? { signal: job.controller.signal } : {};
    job.subscription = this.admission
      .defer(
        whole,
        (grant) =>
          new Observable<never>(() => {
            job.grant = grant;
          }),
        options,
      )
      .subscribe({
        error: () => {
          job.ended = 'refused';
        },
      });
  }

  /** What is out is just what unsettled grants hold, and the head waits only for what it is short of. */
  check(): void {
    const holding = this.jobs.filter(({ grant }) => grant !== null && !grant.settled);
    for (const gate of this.gates) {
      const out = holding.reduce((sum, { demand }) => sum + amountOn(demand, gate), 0);
      expect(gate.inUse(), `${gate.name} in use`).toBe(out);
    }
    expect(this.bucket.tokens()).toBeGreaterThanOrEqual(0);
    expect(this.bucket.tokens()).toBeLessThanOrEqual(this.bucket.capacity);
    expect(this.window.inUse()).toBeLessThanOrEqual(this.window.capacity);
    const { waiters, grants, queueSize } = this.admission.status();
    expect(grants).toHaveLength(holding.length);
    const waiting = this.jobs.filter(({ grant, ended }) => grant === null && ended === 'no');
    expect(queueSize).toBe(waiting.length);
    expect(waiters).toHaveLength(waiting.length);
    const [head] = waiting;
    if (head === undefined) return;
    const at = this.scheduler.now();
    const fits = head.demand.entries.every(({ account, amounts }) => account.fits(amounts, [], at));
    expect(fits, 'the head fits and waits').toBe(false);
  }

  /** Everyone goes in the end: gates open wide, holders leave, time passes. */
  finish(): void {
    for (const gate of this.gates) {
      gate.resize(6);
      gate.resume();
    }
    for (let round = 0; round < 400 && this.jobs.some(({ ended }) => ended === 'no'); round += 1) {
      for (const job of this.jobs) {
        if (job.grant === null || job.ended !== 'no') continue;
        job.ended = 'settled';
        job.grant.release();
      }
      this.scheduler.advanceTo(this.scheduler.now() + 1_000);
    }
    expect(this.jobs.filter(({ ended }) => ended === 'no')).toHaveLength(0);
    expect(this.gates.map((gate) => gate.inUse())).toEqual([0, 0]);
    for (const { capacityChanges } of [...this.gates, this.bucket, this.window]) expect(capacityChanges.observed).toBe(false);
    expect(this.scheduler.pending, 'timers armed while nobody waits').toBe(0);
    for (const job of this.jobs) job.subscription?.unsubscribe();
    expect(this.admission.status()).toMatchObject({ queueSize: 0, nextDeadline: null, waiters: [], grants: [] });
  }
}

const pick = <T>(list: readonly T[], index: number): T | undefined => list[index % Math.max(1, list.length)];

const amountOn = (whole: Demand, account: Account): number =>
  whole.entries
    .filter((entry) => entry.account === account)
    .reduce((sum, { amounts }) => sum + amounts.reduce<number>((more, amount) => more + (amount as number), 0), 0);

const capacity = fc.integer({ min: 1, max: 5 });

describe('conservation', () => {
  it('holds after every step, and everyone goes in the end', () => {
    fc.assert(
      fc.property(fc.tuple(capacity, capacity), fc.array(act, { maxLength: 60, size: 'max' }), (capacities, acts) => {
        const world = new World(capacities);
        for (const step of acts) {
          world.do(step);
          world.check();
        }
        world.finish();
      }),
      { numRuns: RUNS },
    );
  });

  it('holds when admission stops at any step: the parked are refused, the granted settle', () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 30, size: 'max' }), fc.array(act, { maxLength: 15 }), (before, after) => {
        const world = new World([2, 3]);
        for (const step of [...before, { kind: 'stop' } as const, ...after]) {
          world.do(step);
          world.check();
        }
        expect(world.admission.queueSize).toBe(0);
        world.finish();
      }),
      { numRuns: RUNS },
    );
  });
});
