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
import type { HttpGate } from './accounts/counting-gate.js';
import type { MemoryGate } from './accounts/memory-gate.js';
import { nonNegative } from './accounts/validation.js';
import { admitFrom, type Admit, type AdmitOptions, type DemandOf, type Ending } from './admit.js';
import { monotonicScheduler } from './clock.js';
import type { Demand } from './demand.js';
import { AskFor, type AskOptions, type Consumer } from './ask.js';
import { Desk } from './desk.js';
import { drainDesk, type DrainOptions, type DrainReport } from './drain.js';
import { eachOf, type EachOptions, type Pullable } from './each.js';
import { handedOut, type QueueState } from './evaluator/evaluate.js';
import type { Outcome } from './evaluator/settle.js';
import type { AdmissionEvent } from './events.js';
import type { Grant } from './grant.js';
import { statusOf, type AdmissionStatus } from './status.js';

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
}

/** Options of `run`: those of one ask, and what its end tells the accounts. */
export interface RunOptions extends AskOptions {
  readonly outcome?: ((ending: Ending) => Outcome) | undefined;
}

/**
 * An admission that has started.
 *
 * @throws RangeError when an option is out of bounds.
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

export class Admission {
  readonly name: string;
  /** The operator, bound: it can be taken out of the admission by destructuring. */
  readonly admit: Admit;
  /** Every transition of every job on every account, in order. */
  readonly events$: Observable<AdmissionEvent>;
  /** The immutable queue state: the present one at once, then each that follows. */
  readonly state$: Observable<QueueState>;
  /** `status()` now and after every change. */
  readonly status$: Observable<AdmissionStatus>;
  readonly #desk: Desk;
  #started = false;

  constructor(options: AdmissionOptions = {}) {
    const { memory = false, http, scheduler = monotonicScheduler, maxWaiters = Infinity, overflow = 'reject' } = options;
    if (maxWaiters !== Infinity) nonNegative('maxWaiters', maxWaiters);
    if (!['reject', 'drop-oldest'].includes(overflow)) {
      throw new RangeError(`overflow must be 'reject' or 'drop-oldest', not ${overflow as string}`);
    }
    this.name = options.name ?? 'admission';
    const desk = new Desk({ scheduler, memory: memory === false ? null : memory, http, maxWaiters, overflow });
    this.#desk = desk;
    this.admit = admitFrom(desk);
    this.events$ = desk.events$;
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
  defer<O extends ObservableInput<unknown>, R extends ObservableInput<unknown> = ObservableInput<never>>(
    demand: Demand | (() => Demand),
    factory: (grant: Grant) => O,
    options?: AdmitOptions<undefined, R>,
  ): Observable<ObservedValueOf<O> | ObservedValueOf<R>> {
    return of(undefined).pipe(this.admit(demand, (_nothing: undefined, grant) => factory(grant), options));
  }

  /**
   * Code without streams: the grant is released when the result settles, and rolled back when `work` throws at once.
   *
   * @example
   * ```ts
   * const rows = await admission.run(demand(db), () => pool.query(sql));
   * ```
   */
  run<T>(demand: Demand, work: (grant: Grant) => T | PromiseLike<T>, options: RunOptions = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const end = (grant: Grant, ending: Ending): void => {
        let outcome: Outcome = 'ignored';
        try {
          if (options.outcome) outcome = options.outcome(ending);
          else if (ending.kind === 'C') outcome = 'success';
        } finally {
          grant.release(outcome);
        }
      };
      this.#ask(demand, options, {
        refused: reject,
        granted: (grant) => {
          let result: T | PromiseLike<T>;
          try {
            result = work(grant);
          } catch (error) {
            reject(error);
            grant.rollback();
            return;
          }
          Promise.resolve(result)
            .then(
              (value) => {
                end(grant, { kind: 'C' });
                resolve(value);
              },
              (error: unknown) => {
                end(grant, { kind: 'E', error });
                reject(error);
              },
            )
            .catch(reject);
        },
      });
    });
  }

  /**
   * The grant itself, to settle by hand or by `using`.
   *
   * @example
   * ```ts
   * using grant = await admission.acquire(demand(pool), { maxWait: 5_000 });
   * ```
   */
  acquire(demand: Demand, options: AskOptions = {}): Promise<Grant> {
    return new Promise((resolve, reject) => {
      this.#ask(demand, options, { granted: resolve, refused: reject });
    });
  }

  /**
   * The grant if it can be had at once beside what the head reserves, else null; it never waits and never passes the head.
   *
   * @throws AdmissionError when the demand is refused for good or for now, or admission has stopped.
   */
  tryAcquire(demand: Demand, { job }: Pick<AskOptions, 'job'> = {}): Grant | null {
    return this.#desk.tryAsk(demand, job);
  }

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
  each<T, O extends ObservableInput<unknown>, R extends ObservableInput<unknown> = ObservableInput<never>>(
    source: Pullable<T>,
    demand: DemandOf<T>,
    project: (item: T, grant: Grant, index: number) => O,
    options?: EachOptions<T, R>,
  ): Observable<ObservedValueOf<O> | ObservedValueOf<R>> {
    return eachOf(this.#desk, source, demand, project, options);
  }

  /** Who waits for what and until when, who holds what and since when, and every account that is named. */
  status(): AdmissionStatus {
    return statusOf(this.#desk);
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

  #ask(demand: Demand, options: AskOptions, consumer: Consumer): void {
    this.#desk.ask(new AskFor(this.#desk, demand, options, consumer));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain();
  }
}
