/** An admission: one line in front of any number of accounts. It wires the parts together and owns no rule. */
import {
  distinctUntilChanged,
  map,
  merge,
  of,
  type Observable,
  type ObservableInput,
  type ObservedValueOf,
  type SchedulerLike,
} from 'rxjs';
import type { Log } from './accounts/account.js';
import type { HttpGate } from './accounts/counting-gate.js';
import type { MemoryGate } from './accounts/memory-gate.js';
import { nonNegative } from './accounts/validation.js';
import { admitFrom, single, type Admit, type AdmitOptions, type DemandOf } from './admit.js';
import { violationsOf, type Violation } from './check.js';
import { monotonicScheduler } from './clock.js';
import type { Demand } from './demand.js';
import { AskByHand, type AskOptions } from './ask.js';
import { Desk } from './desk.js';
import { drainDesk, type DrainOptions, type DrainReport } from './drain.js';
import { eachOf, type EachOptions, type Pullable } from './each.js';
import { handedOut, type QueueState } from './evaluator/evaluate.js';
import type { AdmissionEvent } from './events.js';
import type { Grant } from './grant.js';
import { follow, type NestedPolicy } from './nested.js';
import { assertOptions } from './options.js';
import { statusOf, type AdmissionStatus } from './status.js';
import { assertMaxHold, type LostGrants, type MaxHold } from './upkeep.js';
import type { AdmissionWarning } from './warnings.js';
import { assertWatchdog, type WatchdogOptions } from './watchdog.js';
import { assertWork, runWork, type RunOptions, type Work } from './work.js';

export interface AdmissionOptions {
  readonly name?: string | undefined;
  /** The heap gate that every demand with entries meets first. Off unless given: readings cost. */
  readonly memory?: MemoryGate | false | undefined;
  /** Added to every demand that names an account which needs an HTTP connection. */
  readonly http?: HttpGate | undefined;
  /** The clock and timer of the admission and of its accounts; monotonic unless given. */
  readonly scheduler?: SchedulerLike | undefined;
  /** How many may wait at once; unbounded unless given. */
  readonly maxWaiters?: number | undefined;
  /** Who goes when the line is full: the newcomer (default), or the one who waited longest. */
  readonly overflow?: 'reject' | 'drop-oldest' | undefined;
  /**
   * What becomes of a grant that `acquire` or `tryAcquire` gave and that was dropped unsettled, once the collector finds it:
   * its signal aborts and its permits are given back (`recover`, the default), or nothing (`report`). Both warn. `off` looks
   * for none, which spares each of these two calls some 0.3 µs.
   */
  readonly lostGrants?: LostGrants | undefined;
  /** ms of holding after which a grant is reported, or taken back too: `{ after: 60_000, recover: true }`. */
  readonly maxHold?: MaxHold | undefined;
  /** Every warning about a grant tells the stack that asked for it. A stack costs some µs an ask: for finding, not for keeping. */
  readonly trace?: boolean | undefined;
  /**
   * What becomes of an ask whose own job, one of `admit`, `defer`, `each` or `run`, holds what it asks for, and which could
   * so wait for itself: it is warned of, refused with a `NestedAskError`, or runs on its job's permits and asks for the rest
   * only (`lend`). Jobs are told by their asynchronous context, which makes every promise of the program dearer; `off`, the
   * default, follows nobody, and neither does a browser. `grant.defer` lends without any of it.
   */
  readonly nested?: NestedPolicy | undefined;
  /** Where warnings are written; `console` unless given. */
  readonly log?: Pick<Log, 'warn'> | undefined;
  /** Runs `check` every so often while somebody waits or holds something, and warns of what is new: `{ every: 10_000 }`. */
  readonly watchdog?: WatchdogOptions | undefined;
}

/** Options of an ask that does not wait. */
export type TryOptions = Pick<AskOptions, 'job' | 'maxHold'>;

/**
 * An admission that has started.
 *
 * @throws RangeError when an option is out of bounds; TypeError when there is no such option.
 *
 * @example
 * ```ts
 * const { admit } = createAdmission();
 * prompts$.pipe(admit((p) => demand([gpt, p.tokens], http), (p, grant) => chat(p, { signal: grant.signal })));
 * ```
 */
export function createAdmission(options: AdmissionOptions = {}): Admission {
  const admission = new Admission(options);
  admission.start();
  return admission;
}

/** The ways in are bound: any of them can be taken out of the admission by destructuring. */
export class Admission {
  readonly name: string;
  /** The operator. */
  readonly admit: Admit;
  /** Every transition of every job on every account, in order. */
  readonly events$: Observable<AdmissionEvent>;
  /** What an operator should hear of although nothing has failed: grants that were dropped or are held too long. */
  readonly warnings$: Observable<AdmissionWarning>;
  /** The immutable queue state: the present one at once, then each that follows. */
  readonly state$: Observable<QueueState>;
  /** `status()` now and after every change. */
  readonly status$: Observable<AdmissionStatus>;
  readonly #desk: Desk;
  #started = false;

  constructor(options: AdmissionOptions = {}) {
    assertOptions('createAdmission', options);
    const { memory = false, http, scheduler = monotonicScheduler, maxWaiters = Infinity, overflow = 'reject' } = options;
    if (maxWaiters !== Infinity) nonNegative('maxWaiters', maxWaiters);
    if (!['reject', 'drop-oldest'].includes(overflow)) {
      throw new RangeError(`overflow must be 'reject' or 'drop-oldest', not ${overflow as string}`);
    }
    this.name = options.name ?? 'admission';
    const { lostGrants = 'recover', maxHold, trace = false, log = console, watchdog, nested = 'off' } = options;
    if (!['recover', 'report', 'off'].includes(lostGrants)) {
      throw new RangeError(`lostGrants must be 'recover', 'report' or 'off', not ${lostGrants as string}`);
    }
    if (!['off', 'warn', 'refuse', 'lend'].includes(nested)) {
      throw new RangeError(`nested must be 'off', 'warn', 'refuse' or 'lend', not ${nested as string}`);
    }
    if (nested !== 'off') follow();
    assertMaxHold(maxHold);
    assertWatchdog(watchdog);
    const desk = new Desk({
      admission: this,
      scheduler,
      memory: memory === false ? null : memory,
      http,
      maxWaiters,
      overflow,
      lostGrants,
      maxHold,
      trace,
      log,
      watchdog,
      nested,
    });
    this.#desk = desk;
    this.admit = admitFrom(desk);
    this.events$ = desk.events$;
    this.warnings$ = desk.warnings.warnings$;
    const present$ = merge(of(undefined), desk.changes$);
    this.state$ = present$.pipe(
      map(() => desk.state),
      distinctUntilChanged(),
      map(handedOut),
    );
    this.status$ = present$.pipe(map(() => this.status()));
  }

  /** How many wait. */
  get queueSize(): number {
    return this.#desk.state.line.size;
  }

  /** The instant the evaluator sleeps to; null when only an event wakes it. */
  get nextDeadline(): number | null {
    return this.#desk.state.nextDeadline;
  }

  /** The instant on the admission's clock, ms. */
  now(): number {
    return this.#desk.now();
  }

  /**
   * Starts the one evaluator: those parked so far get their first pass.
   *
   * @throws Error on a second start, even after a stop.
   */
  start(): void {
    if (this.#started) throw new Error(`${this.name} has been started already: one admission has one evaluator`);
    this.#started = true;
    if (this.#desk.state.phase === 'created') this.#desk.start();
  }

  /**
   * One cold call, as `defer`: every subscription is a new demand, so `retry`, `repeat` and `concat` compose, and nothing
   * is held during a back-off.
   *
   * @example
   * ```ts
   * admission.defer(demand([gpt, 900]), (grant) => chat(prompt, grant.signal)).pipe(retry({ count: 3, delay: 1_000 }));
   * ```
   */
  readonly defer = <O extends ObservableInput<unknown>, R extends ObservableInput<unknown> = ObservableInput<never>>(
    demand: Demand | (() => Demand),
    factory: (grant: Grant) => O,
    options?: AdmitOptions<undefined, R>,
  ): Observable<ObservedValueOf<O> | ObservedValueOf<R>> => {
    assertWork('defer', factory);
    assertOptions('defer', options);
    return single(this.#desk, null, demand, (_nothing, grant) => factory(grant), options) as Observable<ObservedValueOf<O> | ObservedValueOf<R>>;
  };

  /**
   * Code without streams: the grant is released when the result settles, and rolled back when `work` throws at once.
   *
   * @example
   * ```ts
   * const rows = await admission.run(demand(db), () => pool.query(sql));
   * ```
   */
  readonly run = <T>(demand: Demand, work: Work<T>, options?: RunOptions): Promise<T> =>
    runWork(this.#desk, demand, work, options);

  /**
   * The grant itself, to settle by hand or by `using`.
   *
   * @example
   * ```ts
   * using grant = await admission.acquire(demand(pool), { maxWait: 5_000 });
   * ```
   */
  readonly acquire = (demand: Demand, options: AskOptions = {}): Promise<Grant> =>
    new Promise((granted, refused) => {
      assertOptions('acquire', options);
      this.#desk.ask(new AskByHand(this.#desk, demand, options, { granted, refused }));
    });

  /**
   * The grant if it can be had at once beside what the head reserves, else null; it never waits and never passes the head.
   *
   * @throws AdmissionError when the demand is refused for good or for now, or admission has stopped.
   */
  readonly tryAcquire = (demand: Demand, options: TryOptions = {}): Grant | null => {
    assertOptions('tryAcquire', options);
    return this.#desk.tryAsk(demand, options);
  };

  /**
   * Pulls from an iterable, an async iterable or a `ReadableStream` only while fewer than `prefetch` of its items wait.
   *
   * It drives the iterator itself: unsubscribing calls `return()` or `cancel()` in the same turn, without awaiting it.
   *
   * @example
   * ```ts
   * admission.each(rows, (row) => demand([gpt, row.tokens]), (row) => summarize(row)).subscribe(save);
   * ```
   */
  readonly each = <T, O extends ObservableInput<unknown>, R extends ObservableInput<unknown> = ObservableInput<never>>(
    source: Pullable<T>,
    demand: DemandOf<T>,
    project: (item: T, grant: Grant, index: number) => O,
    options?: EachOptions<T, R>,
  ): Observable<ObservedValueOf<O> | ObservedValueOf<R>> => {
    assertWork('each', project);
    assertOptions('each', options);
    return eachOf(this.#desk, source, demand, project, options);
  };

  /** Who waits for what and until when, who holds what and since when, and every account that is named. */
  status(): AdmissionStatus {
    return statusOf(this.#desk);
  }

  /**
   * What does not hold of what must always hold, empty when all does: the head is not kept from what is free; what is held
   * and what is free make up each capacity; every ask was granted, refused, withdrawn, or waits.
   *
   * It reads every grant and every account that is named. Call it in a turn of its own, not in the midst of a delivery,
   * when another admission may not have heard yet of what moved.
   *
   * @throws Error when an account calls it from inside an answer.
   *
   * @example
   * ```ts
   * for (const { rule, message } of admission.check()) console.error(rule, message);
   * ```
   */
  check(): Violation[] {
    return violationsOf(this.#desk);
  }

  /** Refuses everyone who waits and whoever asks later. Admitted work goes on and settles as ever. */
  stop(reason?: unknown): void {
    this.#desk.stop(reason);
  }

  /**
   * Stops, then waits for the grants.
   *
   * @returns what became of them; at the timeout every `grant.signal` aborts, and what is left is reported.
   */
  drain(options?: DrainOptions): Promise<DrainReport> {
    return drainDesk(this.#desk, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain();
  }
}
