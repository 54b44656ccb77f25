/** The provider over a pool of `pg`: one checked-out client for each permit. */
import type { Condition, HeldConnection } from './held-connection.js';
import { HoldingProvider, type HoldingProviderOptions } from './holding-provider.js';
import { openedOf, PgConnection } from './pg-connection.js';
import type { ClientOf, PgClient, PgPool } from './pg-types.js';

export interface PgProviderOptions<P extends PgPool> extends HoldingProviderOptions {
  /** The host's pool. It stays the host's: give it an `error` listener, and end it after the admission has drained. */
  readonly pool: P;
}

/** Holds clients of a `pg` pool; work gets what `bind` makes of one. */
export class PgProvider<T> extends HoldingProvider<T> {
  readonly #pool: PgPool;
  readonly #bind: (client: PgClient) => T;

  constructor(options: HoldingProviderOptions & { readonly pool: PgPool }, bind: (client: PgClient) => T) {
    super(options);
    this.#pool = options.pool;
    this.#bind = bind;
  }

  protected open(options: { readonly readOnly: boolean }): Promise<HeldConnection<T>> {
    return openedOf(this.#pool, options, (client) => {
      const release = (condition: Condition): void => {
        client.release(condition === 'broken');
      };
      return new PgConnection(client, this.#bind(client), release);
    });
  }
}

/**
 * Work gets the pool's own client, and must not release it.
 *
 * @throws RangeError when `maxConcurrent` is not a positive whole number.
 *
 * @example
 * ```ts
 * const orders = withDatabase(pgProvider({ name: 'orders', pool, maxConcurrent: 8 }));
 * ids$.pipe(
 *   admit(orders.demand(), orders.project((id, client) => client.query('UPDATE orders SET paid = true WHERE id = $1', [id]))),
 * );
 * ```
 */
export const pgProvider = <P extends PgPool>(options: PgProviderOptions<P>): PgProvider<ClientOf<P>> =>
  new PgProvider(options, (client) => client as ClientOf<P>);

export interface DrizzleProviderOptions<P extends PgPool, D> extends PgProviderOptions<P> {
  /** Makes the query builder of one client: `(client) => drizzle(client, { schema })`. */
  readonly drizzle: (client: ClientOf<P>) => D;
}

/**
 * Work gets Drizzle on its own connection.
 *
 * @throws RangeError when `maxConcurrent` is not a positive whole number.
 *
 * @example
 * ```ts
 * import { drizzle } from 'drizzle-orm/node-postgres';
 *
 * const orders = drizzleProvider({ name: 'orders', pool, maxConcurrent: 8, drizzle: (client) => drizzle(client) });
 * ```
 */
export const drizzleProvider = <P extends PgPool, D>(options: DrizzleProviderOptions<P, D>): PgProvider<D> =>
  new PgProvider(options, (client) => options.drizzle(client as ClientOf<P>));
