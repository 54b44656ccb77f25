/** A world in which everything that can end a wait or a hold happens in any order, accounts fail at random, and each keeps books. */
import { getEventListeners } from 'node:events';
import {
  AdmissionError,
  CountingGate,
  NestedAskError,
  TokenBucket,
  createAdmission,
  demand,
  type Account,
  type Admission,
  type AdmitOptions,
  type AskOptions,
  type Demand,
  type Grant,
} from 'rx-admission';
import { partitioned, type Partitioned } from 'rx-admission/bulkhead';
import { EMPTY, NEVER, Subject, UnsubscriptionError, of, type Observable, type Subscription } from 'rxjs';
import { expect } from 'vitest';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import type { Random } from '../oracle/random.js';

/** What an account throws when its turn to fail comes: it has done its work, and says that something else went wrong. */
class Fault extends Error {}

/** A fault, or several as one: of accounts that failed together, or of subscriptions that ended together. */
export function isFault(error: unknown): boolean {
  if (error instanceof AggregateError || error instanceof UnsubscriptionError) return error.errors.every(isFault);
  return error instanceof Fault;
}

/** Each take with the receipt it came with: a give must be of one that is out, of just what was taken, and once. */
class Books {
  readonly wrong: string[] = [];
  /** All that was ever given back. */
  given = 0;
  readonly #out = new Map<object, number>();

  constructor(readonly account: Account, fails: () => boolean) {
    const tryTake = account.tryTake.bind(account);
    const give = account.give.bind(account);
    account.tryTake = (mine, reserved, at, receipt = this) => {
      if (fails()) throw new Fault(`${account.name}: tryTake`);
      if (!tryTake(mine, reserved, at, receipt)) return false;
      if (this.#out.has(receipt)) this.wrong.push(`${account.name}: taken twice on one receipt`);
      this.#out.set(receipt, sum(mine));
      return true;
    };
    account.give = (amounts, at, receipt = this) => {
      if (this.#out.get(receipt) !== sum(amounts)) {
        this.wrong.push(`${account.name}: ${sum(amounts)} given back of ${String(this.#out.get(receipt))} that were taken`);
      }
      this.#out.delete(receipt);
      this.given += sum(amounts);
      give(amounts, at, receipt);
      if (fails()) throw new Fault(`${account.name}: give`);
    };
  }

  get out(): number {
    return sum([...this.#out.values()]);
  }
}

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

/** One ask, and all that came of it. */
interface Job {
  readonly controller: AbortController;
  readonly inner: Subject<number>;
  readonly until: { resolve: () => void; reject: (error: Error) => void }[];
  subscription: Subscription | null;
  grant: Grant | null;
  granted: number;
  /** Somebody settled it by hand, or tried to. */
  settling: boolean;
  ended: number;
}

type Work = (grant: Grant) => Observable<number>;
type Options = AdmitOptions<undefined, Observable<never>>;

const AN_HOUR = 3_600_000;
const SILENT = { warn: (): void => undefined, info: (): void => undefined };

export class EndingsWorld {
  readonly clock = new CountingScheduler();
  readonly seen = new Set<string>();
  readonly #admissions: readonly Admission[];
  readonly #gates: readonly CountingGate[];
  readonly #pool: Partitioned;
  readonly #bucket: TokenBucket;
  readonly #books: readonly Books[];
  readonly #jobs: Job[] = [];
  readonly #drains: Promise<unknown>[] = [];
  #faulty = true;
  #depth = 0;
  /** Iterators of `each` that were started and have not been left. */
  #pulling = 0;

  constructor(private readonly random: Random) {
    const scheduler = this.clock;
    const share = random.of([0, 0, 0.02, 0.1]);
    const fails = (): boolean => this.#faulty && random.chance(share);
    this.#gates = [3, 2].map((capacity, n) => new CountingGate({ name: `gate ${n}`, capacity, scheduler }));
    this.#pool = partitioned({ name: 'pool', capacity: 4, shares: { a: 2 }, scheduler });
    this.#bucket = new TokenBucket({ name: 'bucket', tokensPerMinute: 600, requestsPerMinute: 600, scheduler, log: SILENT });
    // Held by the books, so that a partition keeps the methods that they put in the place of its own.
    this.#books = [...this.#gates, this.#pool.of('a'), this.#pool.of('b'), this.#bucket].map((account) => new Books(account, fails));
    const [one] = this.#gates as [CountingGate];
    // Whoever answers `fits` by itself is asked one by one, and may fail there too.
    const fits = one.fits.bind(one);
    if (random.chance(0.3)) {
      one.fits = (...asked) => {
        if (fails()) throw new Fault('gate 0: fits');
        return fits(...asked);
      };
    }
    const lostGrants = 'off';
    this.#admissions = [0, 1].map(() =>
      createAdmission({
        scheduler,
        log: SILENT,
        lostGrants,
        maxWaiters: random.of([Infinity, 4]),
        overflow: random.of(['reject', 'drop-oldest']),
        nested: random.of(['off', 'off', 'warn', 'refuse', 'lend']),
        ...(random.chance(0.3) ? { maxHold: { after: 40, recover: true } } : {}),
      }),
    );
  }

  step(): void {
    const { random } = this;
    const job = this.#jobs[random.whole(0, Math.max(0, this.#jobs.length - 1))];
    const gate = random.of(this.#gates);
    this.#guarded(() => {
      const act = random.weighted({ ask: 12, each: 2, acquire: 4, run: 4, nested: 5, tryAcquire: 3, settle: 5, inner: 6, leave: 4, until: 2, charge: 2, account: 5, pool: 3, time: 5, admission: 0.15 });
      const acts = {
        ask: () => { this.#ask(); },
        each: () => { this.#each(); },
        acquire: () => { this.#acquire(); },
        run: () => { this.#run(); },
        nested: () => { this.#nested(job); },
        tryAcquire: () => { this.#tryAcquire(); },
        settle: () => { this.#settle(job); },
        inner: () => { this.#inner(job); },
        leave: () => { this.#leave(job); },
        until: () => { this.#until(job); },
        charge: () => {
          this.seen.add('charge');
          job?.grant?.charge(random.of([this.#bucket, gate]), random.whole(0, 30));
        },
        account: () => { this.#change(gate); },
        pool: () => { this.#changePool(); },
        time: () => { this.clock.advanceTo(this.clock.now() + random.whole(0, 30)); },
        admission: () => { this.#end(random.of(this.#admissions)); },
      };
      acts[act]();
    });
  }

  /** What is out by the accounts' own count is what receipts are out for, and never was more given back than taken. */
  check(): void {
    // Plain comparisons: half a million of them are made, and an expectation costs as much as a step.
    const must = (holds: boolean, what: () => string): void => {
      if (!holds) throw new Error(what());
    };
    const at = this.clock.now();
    for (const { account, wrong, out } of this.#books) {
      must(wrong.length === 0, () => wrong.join('; '));
      if (account.replenishment === 'release') must(account.inUse(at) === out, () => `${account.name} has ${account.inUse(at)} in use, and ${out} were taken and not given back`);
    }
    must(this.#pool.inUse() === this.#pool.of('a').inUse() + this.#pool.of('b').inUse(), () => this.#pool.status().summary());
    for (const { granted, ended } of this.#jobs) must(granted <= 1 && ended <= 1, () => `granted ${granted} times, ended ${ended} times`);
  }

  /** Everything ends: then nothing is out, waits, is armed or listens, and every ask is accounted for. */
  async finish(): Promise<void> {
    this.#faulty = false;
    // Nobody meddles any more: what is begun from here on would not be ended.
    this.#depth = Infinity;
    for (const gate of this.#gates) gate.resume();
    this.#pool.of('a').resume();
    for (const { subscription, grant, until } of this.#jobs) {
      this.#guarded(() => subscription?.unsubscribe());
      this.#guarded(() => grant?.release());
      for (const { resolve } of until) resolve();
    }
    // Work that was held settles, in turns of promises; and what nobody holds any more can be collected.
    await new Promise((done) => setImmediate(done));
    // A promise cannot be unsubscribed: what waits for more than there is, or for time, is told to go.
    const waiting = this.#admissions.reduce((sum, { queueSize }) => sum + queueSize, 0);
    if (waiting > 0) {
      for (const { controller } of this.#jobs) controller.abort();
      await new Promise((done) => setImmediate(done));
    }
    this.check();
    await Promise.all(this.#drains);
    for (const { account, out } of this.#books) if (account.replenishment === 'release') expect([account.name, out]).toEqual([account.name, 0]);
    for (const admission of this.#admissions) {
      // It looks at every admission that the collector has not got to yet, of all runs: one world in fifty is enough.
      if (this.random.chance(0.02)) expect(admission.check()).toEqual([]);
      const { grants, counts: { accepted, granted, refused, withdrawn, settled } } = admission.status();
      expect([admission.queueSize, grants, accepted, granted]).toEqual([0, [], granted + refused + withdrawn, settled]);
    }
    for (const { capacityChanges, shrinks } of this.#gates) expect([capacityChanges.observed, shrinks.observed]).toEqual([false, false]);
    const listeners = this.#jobs.reduce((sum, { controller: { signal } }) => sum + getEventListeners(signal, 'abort').length, 0);
    expect([this.clock.pending, listeners, this.#pulling]).toEqual([0, 0, 0]);
    // Whatever was spent and not given back, time brings back.
    this.clock.advanceTo(this.clock.now() + AN_HOUR);
    expect(this.#bucket.inUse(this.clock.now())).toBe(0);
  }

  #guarded(work: () => unknown): void {
    try {
      work();
    } catch (error) {
      // A caller who settles hears what accounts threw; so does one who charges what counts exactly, or is told no.
      const told = isFault(error) || error instanceof AdmissionError || error instanceof TypeError || error instanceof RangeError;
      if (!told) throw error;
      this.seen.add(`threw ${(error as Error).constructor.name}`);
    }
  }

  #demand(): Demand {
    const { random } = this;
    const [one, two] = this.#gates as [CountingGate, CountingGate];
    const [a, b] = [this.#pool.of('a'), this.#pool.of('b')];
    return random.of([
      demand(one), demand([one, 2]), demand(one, two), demand([one, 3]), demand(a), demand([a, 2]), demand(b),
      demand(a, b), demand(a, one), demand(b, [this.#bucket, 10]), demand([this.#bucket, 25], one), demand(),
    ]);
  }

  #job(controller = new AbortController(), subscription: Subscription | null = null): Job {
    const job: Job = { controller, inner: new Subject(), until: [], subscription, grant: null, granted: 0, ended: 0, settling: false };
    this.#jobs.push(job);
    return job;
  }

  #options({ controller: { signal } }: Job): AskOptions {
    const { random } = this;
    return { signal, maxWait: random.of([Infinity, Infinity, 0, 15]), deadline: random.of([Infinity, Infinity, this.clock.now() + 25]) };
  }

  /** The job has its grant. */
  #granted(job: Job, grant: Grant, how: string): void {
    job.grant = grant;
    job.granted += 1;
    this.seen.add(`granted: ${how}`);
    this.#meddle();
  }

  #ended(job: Job, how: string): void {
    job.ended += 1;
    this.seen.add(how);
    this.#meddle();
  }

  #failed(job: Job, error: unknown): void {
    const { name } = (error as Error).constructor;
    this.#ended(job, `error: ${error instanceof AdmissionError && !(error instanceof NestedAskError) ? error.reason : name}`);
  }

  /** A call whose work ends, or does not, in any of the ways that a stream can. */
  #ask(way?: (work: Work, options: Options) => Observable<number>): void {
    const { random, seen } = this;
    const job = this.#job();
    const kind = random.of(['inner', 'inner', 'inner', 'throws', 'empty', 'fails', 'by hand'] as const);
    const options: Options = {
      ...this.#options(job),
      outcome: () => random.of(['success', 'ignored']),
      ...(random.chance(0.2) ? { onRefused: () => (seen.add('onRefused'), EMPTY) } : {}),
    };
    const work = (grant: Grant): Observable<number> => {
      this.#granted(job, grant, kind);
      if (kind === 'throws') throw new Fault('project');
      if (kind === 'empty') return random.chance(0.5) ? EMPTY : of(1, 2);
      if (kind === 'by hand') return NEVER;
      return job.inner;
    };
    const admission = random.of(this.#admissions);
    const calls = way?.(work, options) ?? (random.chance(0.5) ? admission.defer(this.#demand(), work, options) : of(undefined).pipe(admission.admit(() => this.#demand(), (_, grant) => work(grant), options)));
    this.#subscribe(job, calls);
    if (kind === 'fails') this.#guarded(() => job.inner.error(new Fault('inner')));
  }

  #subscribe(job: Job, calls: Observable<number>): void {
    job.subscription = calls.subscribe({
      next: () => {
        // A consumer may do anything from inside a value.
        this.#meddle();
      },
      error: (error: unknown) => {
        this.#failed(job, error);
      },
      complete: () => {
        this.#ended(job, 'complete');
      },
    });
  }

  /** A call inside a job: it may run on what its job holds. */
  #nested(job: Job | undefined): void {
    const grant = job?.grant ?? null;
    if (grant === null) return;
    this.seen.add(grant.settled ? 'nested in what is over' : 'nested');
    this.#ask((work, options) => grant.defer(this.#demand(), work, options));
  }

  /** Each item is a job of its own; who leaves one of them leaves the source. */
  #each(): void {
    const { random } = this;
    const job = this.#job();
    const items = random.whole(1, 4);
    const source = random.of([() => this.#items(items), () => this.#itemsInTime(items)])();
    const project = (_: number, grant: Grant): Observable<number> => {
      const item = this.#job(job.controller, job.subscription);
      this.#granted(item, grant, 'each');
      if (random.chance(0.1)) throw new Fault('project');
      return this.#depth === Infinity || random.chance(0.2) ? of(1) : item.inner;
    };
    this.#subscribe(job, random.of(this.#admissions).each<number, Observable<number>>(source, () => this.#demand(), project, { ...this.#options(job), prefetch: random.whole(1, 3) }));
  }

  *#items(count: number): Generator<number> {
    this.#pulling += 1;
    try {
      for (let n = 0; n < count; n += 1) {
        yield n;
        this.#meddle();
      }
    } finally {
      this.#pulling -= 1;
    }
  }

  async *#itemsInTime(count: number): AsyncGenerator<number> {
    for (const item of this.#items(count)) {
      await Promise.resolve();
      yield item;
    }
  }

  #acquire(): void {
    const job = this.#job();
    const granted = (grant: Grant): void => {
      this.#granted(job, grant, 'acquire');
      if (this.#depth === Infinity) grant.release();
    };
    this.random.of(this.#admissions).acquire(this.#demand(), this.#options(job)).then(granted, (error: unknown) => {
      this.#failed(job, error);
    });
  }

  #run(): void {
    const { random } = this;
    const job = this.#job();
    const kind = random.of(['promise', 'promise', 'value', 'throws'] as const);
    const work = (grant: Grant): Promise<void> | undefined => {
      this.#granted(job, grant, `run, ${kind}`);
      if (kind === 'throws') throw new Fault('work');
      return kind === 'value' || this.#depth === Infinity ? undefined : new Promise<void>((resolve, reject) => job.until.push({ resolve, reject }));
    };
    const options = { ...this.#options(job), ...(random.chance(0.1) ? { outcome: () => { throw new Fault('outcome'); } } : {}) };
    random.of(this.#admissions).run(this.#demand(), work, options).then(
      () => {
        this.#ended(job, 'run resolves');
      },
      (error: unknown) => {
        this.#failed(job, error);
      },
    );
  }

  #tryAcquire(): void {
    const job = this.#job();
    job.grant = this.random.of(this.#admissions).tryAcquire(this.#demand());
    this.seen.add(job.grant === null ? 'tryAcquire: no' : 'tryAcquire: yes');
  }

  #settle(job: Job | undefined): void {
    if (job === undefined || job.grant === null) return;
    const verb = this.random.of(['release', 'rollback', 'dispose'] as const);
    this.seen.add(verb);
    const before = this.#books.map(({ given }) => given);
    const wasSettled = job.grant.settled || job.settling;
    job.settling = true;
    try {
      if (verb === 'dispose') job.grant[Symbol.dispose]();
      else job.grant[verb]();
    } finally {
      if (!wasSettled && job.grant.settled) this.#assertGivenBack(job.grant.demand, verb, before);
    }
    // Once is all: none of these gives anything back again.
    job.grant.release();
    job.grant.rollback();
  }

  /** A release gives back what work holds, a rollback what time replenishes as well. */
  #assertGivenBack(whole: Demand, verb: string, before: readonly number[]): void {
    this.#books.forEach(({ account, given }, index) => {
      const owed = whole.entries.filter((entry) => entry.account === account).flatMap(({ amounts }) => amounts as number[]);
      if (account.replenishment === 'time' && verb !== 'rollback') return;
      if (given - (before[index] ?? 0) < sum(owed)) throw new Error(`${verb} gave ${account.name} less than it took`);
    });
  }

  /** Something else happens in the midst of it, wherever user code runs. */
  #meddle(): void {
    if (this.#depth > 2 || !this.random.chance(0.15)) return;
    this.#depth += 1;
    this.step();
    this.#depth -= 1;
  }

  #inner(job: Job | undefined): void {
    const how = this.random.of(['next', 'complete', 'error'] as const);
    if (how === 'next') job?.inner.next(1);
    else if (how === 'complete') job?.inner.complete();
    else job?.inner.error(new Fault('inner'));
  }

  #leave(job: Job | undefined): void {
    if (job === undefined) return;
    const how = this.random.of(['unsubscribe', 'abort'] as const);
    this.seen.add(`${how} while ${job.grant === null ? 'waiting' : 'granted'}`);
    if (how === 'abort') job.controller.abort();
    else job.subscription?.unsubscribe();
  }

  /** Work that cannot be torn down; now and then some of it ends. */
  #until(job: Job | undefined): void {
    const { random } = this;
    const open = this.#jobs.flatMap(({ until }) => until);
    if (open.length > 0 && random.chance(0.5)) {
      this.seen.add('until settles');
      const { resolve, reject } = random.of(open);
      if (random.chance(0.5)) resolve();
      else reject(new Fault('work'));
      return;
    }
    if (job === undefined || job.grant === null || job.grant.settled) return;
    this.seen.add('until');
    job.grant.until(new Promise<void>((resolve, reject) => job.until.push({ resolve, reject })));
  }

  #change(gate: CountingGate): void {
    const { random } = this;
    const change = random.of(['resize', 'resize', 'pause', 'resume', 'limits', 'pressure'] as const);
    this.seen.add(change);
    if (change === 'resize') gate.resize(random.whole(1, 4));
    else if (change === 'limits') this.#bucket.setConfig({ tokensPerMinute: random.whole(200, 900), requestsPerMinute: random.whole(200, 900) });
    else if (change === 'pressure') this.#bucket.record429();
    else gate[change]();
  }

  #changePool(): void {
    const { random } = this;
    const change = random.of(['pause', 'resume', 'resume', 'resize', 'reshare'] as const);
    this.seen.add(`pool: ${change}`);
    if (change === 'resize') this.#pool.resize(random.whole(2, 6), { a: 2 });
    else if (change === 'reshare') this.#pool.resize(5, random.of([{ a: 1 }, { b: 2 }, { a: 2, b: 1 }, {}]));
    else this.#pool.of('a')[change]();
  }

  #end(admission: Admission): void {
    const how = this.random.of(['stop', 'drain'] as const);
    this.seen.add(how);
    if (how === 'stop') admission.stop();
    else this.#drains.push(admission.drain({ timeout: 20 }));
  }
}
