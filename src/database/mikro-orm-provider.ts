/** The provider of MikroORM sessions: a forked EntityManager on one connection of the ORM's own pool. */
import { boundDriver, type MikroDriver } from './mikro-orm-binding.js';
import type { HeldConnection } from './held-connection.js';
import { HoldingProvider, type HoldingProviderOptions } from './holding-provider.js';
import { PgConnection, nothingCommitted } from './pg-connection.js';

/** What the provider uses of an EntityManager of MikroORM 6. */
export interface MikroEntityManager {
  getDriver(): unknown;
  begin(): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

export interface MikroOrmProviderOptions<E extends MikroEntityManager> extends HoldingProviderOptions {
  /** MikroORM 6 on Postgres. Its pool stays its own; close it after the admission has drained. */
  readonly orm: { readonly em: E };
}

/** Holds connections of the ORM's pool, each under a session of its own. */
export class MikroOrmProvider<E extends MikroEntityManager> extends HoldingProvider<E> {
  readonly #em: E;

  constructor(options: MikroOrmProviderOptions<E>) {
    super(options);
    this.#em = options.orm.em;
  }

  protected async open({ readOnly }: { readonly readOnly: boolean }): Promise<HeldConnection<E>> {
    const driver = this.#em.getDriver() as MikroDriver;
    const { client: pool } = driver.getConnection('write').getKnex();
    const client = await pool.acquireConnection();
    try {
      const session = forkOn(this.#em, boundDriver(driver, client));
      const connection = new MikroConnection(client, session, (condition) => {
        // The pool looks at this mark before it hands a connection out, and destroys what bears it.
        if (condition === 'broken') client.__knex__disposed ??= 'severed';
        void pool.releaseConnection(client);
      });
      if (readOnly) await connection.refuseWrites();
      return connection;
    } catch (error) {
      client.__knex__disposed ??= 'not usable';
      await pool.releaseConnection(client);
      throw error;
    }
  }
}

/** A clean session whose driver is another one. A fork takes the driver of what it is forked from. */
function forkOn<E extends MikroEntityManager>(em: E, driver: MikroDriver): E {
  const parent = Object.create(em, { driver: { value: driver } }) as { fork(options: object): E };
  return parent.fork({ disableContextResolution: true, useContext: false });
}

/** Transactions are the session's own: its hooks run, and a commit flushes it first. */
class MikroConnection<E extends MikroEntityManager> extends PgConnection<E> {

  override begin(): Promise<void> {
    return this.value.begin();
  }

  override async commit(): Promise<void> {
    // The server may not have said yet how a statement ended whose failure was swallowed; an empty one waits for that.
    if (this.status === null) await this.client.query('');
    if (this.status === 'E') throw nothingCommitted();
    await this.value.commit();
  }

  override async rollback(): Promise<void> {
    try {
      await this.value.rollback();
    } catch (error) {
      // A commit that failed has ended the session's transaction, and perhaps not the server's.
      if (this.severed) throw error;
      if (this.status !== 'I') await super.rollback();
    }
  }
}

/**
 * Work gets an EntityManager of its own: everything it does, transactions included, runs on the one connection it holds.
 *
 * @throws RangeError when `maxConcurrent` is not a positive whole number.
 *
 * @example
 * ```ts
 * const orders = withDatabase(mikroOrmProvider({ name: 'orders', orm, maxConcurrent: 8 }));
 *
 * ids$.pipe(
 *   admit(orders.demand(), orders.project(async (id, em) => {
 *     const order = await em.findOneOrFail(Order, id);
 *     order.paid = true; // flushed and committed when the work completes
 *   })),
 * );
 * ```
 */
export const mikroOrmProvider = <E extends MikroEntityManager>(options: MikroOrmProviderOptions<E>): MikroOrmProvider<E> =>
  new MikroOrmProvider(options);
