/** The operator: holds each item until its whole demand is granted, runs its inner observable, and releases with it. */
import { Observable, Subscriber, type ObservableInput, type ObservedValueOf, type OperatorFunction } from 'rxjs';
import type { Demand } from './demand.js';
import type { AdmissionError } from './errors.js';
import type { AskOptions } from './ask.js';
import type { Desk } from './desk.js';
import type { Outcome } from './evaluator/settle.js';
import type { Grant } from './grant.js';
import { isPromiseLike } from './inner.js';
import type { Nest } from './nest.js';
import { assertOptions } from './options.js';
import { Run } from './run.js';
import { assertWork } from './work.js';

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
   * What the end of an inner tells the accounts of its grant, which is not settled yet. Unless given, complete is `success`
   * and an error says nothing about load. An unsubscribed inner never says anything.
   */
  readonly outcome?: ((ending: Ending, grant: Grant) => Outcome) | undefined;
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

/** Starts the work of one item. */
export type Project<T> = (item: T, grant: Grant, index: number) => ObservableInput<unknown>;
type Options<T> = AdmitOptions<T, ObservableInput<unknown>>;

/** Binds `admit` to a desk, and to a job whose part all of it is. */
export function admitFrom(desk: Desk, parent: Nest | null = null): Admit {
  const admit = <T>(
    demand: DemandOf<T>,
    projectOrOptions?: Project<T> | Options<T>,
    options?: Options<T>,
  ): OperatorFunction<T, unknown> => {
    if (typeof projectOrOptions === 'function') {
      assertOptions('admit', options);
      return operator(desk, parent, demand, projectOrOptions, options ?? {});
    }
    // A second argument that is meant as the work, such as a promise, is told so.
    if (isPromiseLike(projectOrOptions) || options !== undefined) assertWork('admit', projectOrOptions);
    assertOptions('admit', projectOrOptions);
    const demandOfCall: DemandOf<T> = (call, index) => {
      // Before it asks: what has started already gains nothing by waiting.
      assertCall(call);
      return typeof demand === 'function' ? demand(call, index) : demand;
    };
    return operator(desk, parent, demandOfCall, startCall as Project<T>, projectOrOptions ?? {});
  };
  return admit as Admit;
}

function operator<T>(
  desk: Desk,
  parent: Nest | null,
  demand: DemandOf<T>,
  project: Project<T>,
  options: Options<T>,
): OperatorFunction<T, unknown> {
  return (source) =>
    new Observable((consumer) => {
      const run = new Run(desk, demand, project, options, consumer, parent);
      const upstream = new Subscriber<T>(run);
      run.upstream = upstream;
      consumer.add(() => {
        run.tearDown();
      });
      // A consumer that has had enough already leaves no source behind.
      if (!consumer.closed) source.subscribe(upstream);
    });
}

/** One call: what `admit` makes of a source of one item, without the source. */
export function single(
  desk: Desk,
  parent: Nest | null,
  demand: DemandOf<undefined>,
  project: Project<undefined>,
  options: Options<undefined> = {},
): Observable<unknown> {
  return new Observable((consumer) => {
    const run = new Run(desk, demand, project, options, consumer, parent);
    consumer.add(() => {
      run.tearDown();
    });
    if (consumer.closed) return;
    run.next(undefined);
    run.complete();
  });
}

function assertCall(call: unknown): asserts call is Call<unknown> {
  if (call instanceof Observable || typeof call === 'function') return;
  const what = isPromiseLike(call) ? 'a promise, which has started already' : `one of type ${typeof call}`;
  throw new TypeError(`admit(demand) takes observables or functions that start the work, not ${what}`);
}

const startCall = (call: Call<unknown>): ObservableInput<unknown> => (typeof call === 'function' ? call() : call);
