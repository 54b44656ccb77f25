/** Work on databases as a part of a demand: the permit is taken with all else, the connection is held under it. */
import { of, type Observable, type ObservableInput, type ObservedValueOf } from 'rxjs';
import { Demand, type DemandOf, type Grant } from '../index.js';
import type { DatabaseOptions, Use } from './connections.js';
import { heldWork } from './held-work.js';
import { isPromiseLike } from './inner.js';
import type { DatabaseProvider } from './provider.js';

/**
 * A database or several, as work wants them: what to add to a demand, and what to wrap around the work.
 *
 * Connections are acquired under the grant, in the order of declaration, and closed in reverse before it is released. Work
 * that completes is committed; work that errors, is unsubscribed, or whose `grant.signal` aborts is rolled back, and an
 * unsubscribe or an abort severs the connection in that turn. Where a connection cannot be had, or `project` throws, the
 * grant is rolled back whole, metered debits included.
 *
 * The last value is held until the work is committed and its connections are back: whoever takes the first value of one,
 * and leaves, does not undo it.
 */
export class DatabaseWork<V> {
  readonly #uses: readonly Use[];
  readonly #view: (values: readonly unknown[]) => V;

  constructor(uses: readonly Use[], view: (values: readonly unknown[]) => V) {
    this.#uses = uses;
    this.#view = view;
  }

  /** What the work needs: the given demand, or nothing, and one permit of each database. */
  demand(rest?: Demand): Demand;
  demand<T>(rest: (item: T, index: number) => Demand): (item: T, index: number) => Demand;
  demand<T>(rest: DemandOf<T> = Demand.empty): DemandOf<T> {
    if (typeof rest === 'function') return (item, index) => this.#added(rest(item, index));
    return this.#added(rest);
  }

  /** The work of one item, for `admit` and `each`. */
  project<T, O extends ObservableInput<unknown>>(
    project: (item: T, database: V, grant: Grant, index: number) => O,
  ): (item: T, grant: Grant, index: number) => Observable<ObservedValueOf<O>> {
    return (item, grant, index) => this.#held(grant, (database) => project(item, database, grant, index));
  }

  /** One cold call, for `defer`. */
  factory<O extends ObservableInput<unknown>>(
    factory: (database: V, grant: Grant) => O,
  ): (grant: Grant) => Observable<ObservedValueOf<O>> {
    return (grant) => this.#held(grant, (database) => factory(database, grant));
  }

  /** Code without streams, for `run`. */
  work<R>(work: (database: V, grant: Grant) => R | PromiseLike<R>): (grant: Grant) => Promise<R> {
    return (grant) =>
      new Promise<R>((resolve, reject) => {
        const result = heldWork<R>(this.#uses, grant, (values) => {
          const answer = work(this.#view(values), grant);
          return isPromiseLike<R>(answer) ? answer : of(answer);
        });
        result.subscribe({ next: resolve, error: reject });
      });
  }

  #held<O extends ObservableInput<unknown>>(grant: Grant, start: (database: V) => O): Observable<ObservedValueOf<O>> {
    return heldWork(this.#uses, grant, (values) => start(this.#view(values)) as ObservableInput<ObservedValueOf<O>>);
  }

  #added(rest: Demand): Demand {
    return this.#uses.reduce((whole, { provider }) => whole.add(provider.admission), rest);
  }
}

/**
 * Work on one database.
 *
 * @param options one transaction around the work unless `transaction` is `false`; `readOnly` refuses writes
 *
 * @example
 * ```ts
 * const orders = withDatabase(pgProvider({ name: 'orders', pool, maxConcurrent: 8 }));
 *
 * prompts$.pipe(
 *   admit(
 *     orders.demand((p: Prompt) => demand([gpt, p.tokens], http)),
 *     orders.project((p, client, grant) => answer(p, client, grant.signal)),
 *   ),
 * );
 * ```
 */
export const withDatabase = <T>(provider: DatabaseProvider<T>, options: DatabaseOptions = {}): DatabaseWork<T> =>
  new DatabaseWork([{ provider, options }], ([value]) => value as T);

/** A database, or a database with how it is used. */
export type DatabasePart = DatabaseProvider | readonly [DatabaseProvider, DatabaseOptions];

/** What work gets of each. */
export type ValuesOf<P extends readonly DatabasePart[]> = { readonly [K in keyof P]: ValueOf<P[K]> };
type ValueOf<P> = P extends DatabaseProvider<infer T> | readonly [DatabaseProvider<infer T>, DatabaseOptions] ? T : never;

/**
 * Work on several databases: acquired in this order, closed in reverse. Each has a transaction of its own, committed in
 * this order; nothing makes them one.
 *
 * @example
 * ```ts
 * const both = withDatabases(orders, [reports, { readOnly: true }]);
 * admission.run(both.demand(), both.work(async ([client, readers]) => move(client, readers)));
 * ```
 */
export function withDatabases<const P extends readonly DatabasePart[]>(...parts: P): DatabaseWork<ValuesOf<P>> {
  const uses = parts.map((part): Use => {
    const [provider, options] = isList(part) ? part : [part, {}];
    return { provider, options };
  });
  return new DatabaseWork(uses, (values) => values as ValuesOf<P>);
}

const isList = (part: DatabasePart): part is readonly [DatabaseProvider, DatabaseOptions] => Array.isArray(part);
