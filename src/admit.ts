/** The operator: holds each item until its whole demand is granted, runs its inner observable, and releases with it. */
import { Observable, Subscriber, type ObservableInput, type ObservedValueOf, type OperatorFunction } from 'rxjs';
import type { Demand } from './demand.js';
import { CancelledError, StoppedError, type AdmissionError } from './errors.js';
import type { Ask, AskOptions, Consumer, Desk } from './desk.js';
import type { Outcome } from './evaluator/settle.js';
import { abortGrant, type Grant } from './grant.js';
import { toObservable } from './inner.js';

/** How an inner observable ended by itself. */
export type Ending = { readonly kind: 'C' } | { readonly kind: 'E'; readonly error: unknown };

/** A demand, or how to tell it from the item and its place in the source. */
export type DemandOf<T> = Demand | ((item: T, index: number) => Demand);

/** Options of every ask of one operator. */
export interface AdmitOptions<T = unknown, R extends ObservableInput<unknown> = ObservableInput<never>>
  extends Omit<AskOptions, 'job'> {
  /** The label of each ask, or how to tell it from the item and its place; unless given, the item itself. */
  readonly job?: unknown;
  /**
   * What the end of an inner tells the accounts of its grant. Unless given, complete is `success` and an error says
   * nothing about load. An unsubscribed inner never says anything.
   */
  readonly outcome?: ((ending: Ending) => Outcome) | undefined;
  /** What stands in for an item that was refused; unless given, the refusal fails the output. */
  readonly onRefused?: ((error: AdmissionError, item: T) => R) | undefined;
}

/** A call that has not started: an observable, or a function that starts it. */
export type Call<R> = Observable<R> | (() => ObservableInput<R>);

/** `admit`, taken out of its admission. */
export interface Admit {
  /**
   * Projects each item to an inner observable once its whole demand is granted, as `mergeMap` does once a slot is free.
   *
   * ```
   * source  a-b--------|
   * grants  a----b            one permit
   *   a     ---x|
   *   b          ---y|
   * output  ---x----y|
   * ```
   *
   * An item waits holding nothing. Its grant is released when its inner finalizes: teardown first, then the release (and
   * whoever that lets in is granted), then the terminal notification.
   *
   * @param demand what each item needs, or how to tell from it
   * @param project starts the work; it gets the grant, whose `signal` aborts on unsubscribe
   * @returns an operator whose output has the inner observables' values, in their own order
   *
   * @example
   * ```ts
   * prompts$.pipe(admit((p) => demand([gpt, p.tokens], http), (p, grant) => chat(p, { signal: grant.signal })));
   * ```
   */
  <T, O extends ObservableInput<unknown>, R extends ObservableInput<unknown> = ObservableInput<never>>(
    demand: DemandOf<T>,
    project: (item: T, grant: Grant, index: number) => O,
    options?: AdmitOptions<T, R>,
  ): OperatorFunction<T, ObservedValueOf<O> | ObservedValueOf<R>>;
  /**
   * Runs a stream of calls that have not started, as `mergeAll` does. A promise has started already: a `TypeError`.
   */
  <V, R extends ObservableInput<unknown> = ObservableInput<never>>(
    demand: DemandOf<Call<V>>,
    options?: AdmitOptions<Call<V>, R>,
  ): OperatorFunction<Call<V>, V | ObservedValueOf<R>>;
}

type Project<T> = (item: T, grant: Grant, index: number) => ObservableInput<unknown>;
type Options<T> = AdmitOptions<T, ObservableInput<unknown>>;

/** Binds `admit` to a desk. */
export function admitFrom(desk: Desk): Admit {
  const admit = <T>(
    demand: DemandOf<T>,
    projectOrOptions?: Project<T> | Options<T>,
    options?: Options<T>,
  ): OperatorFunction<T, unknown> => {
    const hasProject = typeof projectOrOptions === 'function';
    const project = hasProject ? projectOrOptions : (startCall as Project<T>);
    const chosen = (hasProject ? options : projectOrOptions) ?? {};
    return (source) =>
      new Observable((consumer) => {
        const run = new Run(desk, demand, project, chosen, consumer);
        const upstream = new Subscriber<T>(run);
        consumer.add(() => {
          run.tearDown();
        });
        run.upstream = upstream;
        source.subscribe(upstream);
      });
  };
  return admit as Admit;
}

function startCall(call: unknown): ObservableInput<unknown> {
  if (call instanceof Observable) return call;
  if (typeof call === 'function') return (call as () => ObservableInput<unknown>)();
  const what = call instanceof Promise ? 'a promise, which has started already' : `a ${typeof call}`;
  throw new TypeError(`admit(demand) takes observables or functions that start the work, not ${what}`);
}

/** One subscription of the operator: its waiters, its running inners, and its consumer. */
export class Run<T> {
  upstream: { unsubscribe(): void } | null = null;
  /** Runs after an ask left the line: there is room for another. */
  roomMade: (() => void) | null = null;
  readonly waiting = new Set<Ask>();
  readonly running = new Set<Item<T>>();
  closed = false;
  #index = 0;
  #sourceEnded = false;
  #stopped: StoppedError | null = null;

  constructor(
    readonly desk: Desk,
    readonly demand: DemandOf<T>,
    readonly project: Project<T>,
    readonly options: Options<T>,
    readonly consumer: Subscriber<unknown>,
  ) {}

  next(value: T): void {
    if (this.#stopped) return;
    const index = this.#index;
    this.#index += 1;
    const item = new Item(this, value, index);
    try {
      const demand = typeof this.demand === 'function' ? this.demand(value, index) : this.demand;
      const ask = this.desk.ask(demand, this.options, item, this.#jobOf(value, index));
      if (item.answered || this.closed) return;
      item.ask = ask;
      this.waiting.add(ask);
    } catch (error) {
      this.error(error);
    }
  }

  #jobOf(value: T, index: number): unknown {
    const { job } = this.options;
    if (typeof job === 'function') return (job as (item: T, index: number) => unknown)(value, index);
    return job === undefined ? value : job;
  }

  /** Fails the output: waiters withdraw, inners tear down, grants are released, and only then the consumer is told. */
  error(error: unknown): void {
    if (this.closed) return;
    this.tearDown();
    this.consumer.error(error);
  }

  complete(): void {
    this.#sourceEnded = true;
    this.endIfDone();
  }

  /** Admission has stopped: the source is left, and the output fails once what runs has ended. */
  stopped(error: StoppedError): void {
    this.#stopped ??= error;
    this.#sourceEnded = true;
    this.upstream?.unsubscribe();
    this.endIfDone();
  }

  endIfDone(): void {
    if (this.closed || !this.#sourceEnded || this.running.size > 0 || this.waiting.size > 0) return;
    this.closed = true;
    if (this.#stopped) this.consumer.error(this.#stopped);
    else this.consumer.complete();
  }

  tearDown(): void {
    if (this.closed) return;
    this.closed = true;
    this.upstream?.unsubscribe();
    // All waiters in one change, before anything is released: none of them is let in by its own siblings.
    if (this.waiting.size > 0) this.desk.withdraw([...this.waiting]);
    this.waiting.clear();
    for (const item of [...this.running]) item.cut();
  }
}

/** One item, from its ask to the end of its inner: who is asked for, and the inner's observer, in one object. */
class Item<T> implements Consumer {
  ask: Ask | null = null;
  answered = false;
  #grant: Grant | null = null;
  #inner: Subscriber<unknown> | null = null;
  #ending: Ending | null = null;

  constructor(
    readonly run: Run<T>,
    readonly value: T,
    readonly index: number,
  ) {}

  granted(grant: Grant): void {
    const { run } = this;
    this.#leaveLine();
    if (run.closed) {
      grant.rollback();
      return;
    }
    this.#grant = grant;
    run.running.add(this);
    let inner: Observable<unknown>;
    try {
      inner = toObservable(run.project(this.value, grant, this.index), grant);
    } catch (error) {
      run.running.delete(this);
      grant.rollback();
      run.error(error);
      return;
    }
    this.#start(inner);
    run.roomMade?.();
  }

  refused(error: AdmissionError): void {
    const { run } = this;
    this.#leaveLine();
    if (run.closed) return;
    const { onRefused } = run.options;
    if (onRefused) {
      run.running.add(this);
      try {
        this.#start(toObservable(onRefused(error, this.value), null));
      } catch (thrown) {
        run.running.delete(this);
        run.error(thrown);
      }
    } else if (error instanceof StoppedError) run.stopped(error);
    else run.error(error);
    run.roomMade?.();
  }

  next(value: unknown): void {
    this.run.consumer.next(value);
  }

  error(error: unknown): void {
    this.#ending = { kind: 'E', error };
  }

  complete(): void {
    this.#ending = { kind: 'C' };
  }

  /** The subscription tears down from outside: the work is told before it is cut. */
  cut(): void {
    this.#ending = null;
    if (this.#grant) abortGrant(this.#grant, new CancelledError('the work was unsubscribed'));
    // Not subscribed yet: `#start` sees that the run is closed.
    this.#inner?.unsubscribe();
  }

  /** The inner's teardown has run: now the grant, and after it the terminal. */
  unsubscribe(): void {
    const { run } = this;
    if (!run.running.delete(this)) return;
    const ending = run.closed ? null : this.#ending;
    try {
      if (ending === null) this.#grant?.release();
      else this.#grant?.release(this.#outcome(ending));
    } catch (error) {
      run.error(error);
      return;
    }
    if (ending?.kind === 'E') run.error(ending.error);
    else run.endIfDone();
  }

  #start(inner: Observable<unknown>): void {
    // Made before it subscribes, so that a synchronous inner can be cut in its middle.
    const subscriber = new Subscriber<unknown>(this);
    this.#inner = subscriber;
    if (this.run.closed) subscriber.unsubscribe();
    else inner.subscribe(subscriber);
    // Added last: it runs after the inner's own teardown, at once if that has happened already.
    subscriber.add(this);
  }

  #leaveLine(): void {
    this.answered = true;
    if (this.ask) this.run.waiting.delete(this.ask);
    this.ask = null;
  }

  #outcome(ending: Ending): Outcome {
    const { outcome } = this.run.options;
    if (outcome) return outcome(ending);
    return ending.kind === 'C' ? 'success' : 'ignored';
  }
}
