/** The provider for code that was written against the host's pool: inside a job that pool is the job's connection. */
import { contextStorage } from '#platform';
import type { Condition, HeldConnection } from './held-connection.js';
import { HoldingProvider } from './holding-provider.js';
import { JobClient, overlaid } from './job-client.js';
import { openedOf, PgConnection } from './pg-connection.js';
import type { PgProviderOptions } from './pg-provider.js';
import type { ClientOf, PgClient, PgPool } from './pg-types.js';
import type { DatabaseContext } from './provider.js';

/** Holds clients of a `pg` pool, and binds each to the asynchronous context of its job. */
export class TransactionProvider<P extends PgPool> extends HoldingProvider<ClientOf<P>> {
  /**
   * The host's pool, as the host's code should know it: inside a job `connect` and `query` are the job's connection and
   * transaction; outside of any they are the pool's own.
   */
  readonly pool: P;
  readonly #host: P;
  readonly #jobs = contextStorage<JobClient>();

  constructor(options: PgProviderOptions<P>) {
    super(options);
    this.#host = options.pool;
    this.pool = overlaid(options.pool, {
      connect: (...args) => this.#connect(args),
      query: (...args) => this.#query(args),
    });
  }

  protected open(options: { readonly readOnly: boolean }): Promise<HeldConnection<ClientOf<P>>> {
    const before = this.#jobs.getStore();
    return openedOf(this.#host, options, (client) => {
      const job = new JobClient(client, this.admission.name);
      const context: DatabaseContext = {
        enter: (work) => this.#jobs.run(job, work),
        leave: (work) => this.#jobs.run(before, work),
      };
      return new JobConnection<ClientOf<P>>(client, job, context);
    });
  }

  #connect(args: readonly unknown[]): unknown {
    const job = this.#jobs.getStore();
    if (job === undefined) return (this.#host.connect as (...given: readonly unknown[]) => unknown)(...args);
    const [callback] = args as readonly [Connected?];
    try {
      job.assertRuns();
    } catch (error) {
      if (callback === undefined) return Promise.reject(error);
      queueMicrotask(() => {
        callback(error);
      });
      return undefined;
    }
    if (callback === undefined) return Promise.resolve(job.client);
    queueMicrotask(() => {
      callback(undefined, job.client, () => undefined);
    });
    return undefined;
  }

  #query(args: readonly unknown[]): unknown {
    const target = this.#jobs.getStore()?.client ?? (this.#host as unknown as PgClient);
    return (target.query as (...given: readonly unknown[]) => unknown).apply(target, [...args]);
  }
}

type Connected = (error: unknown, client?: PgClient, done?: () => void) => void;

/** A client that tells its job what becomes of the transaction. */
class JobConnection<T> extends PgConnection<T> {
  readonly #job: JobClient;

  constructor(
    client: PgClient,
    job: JobClient,
    readonly context: DatabaseContext,
  ) {
    super(client, job.client as T, (condition) => {
      client.release(condition === 'broken');
    });
    this.#job = job;
  }

  override async begin(): Promise<void> {
    await super.begin();
    this.#job.inTransaction = true;
  }

  override async commit(): Promise<void> {
    await super.commit();
    this.#job.inTransaction = false;
  }

  override async rollback(): Promise<void> {
    await super.rollback();
    this.#job.inTransaction = false;
  }

  override sever(): void {
    this.#job.hasEnded = true;
    super.sever();
  }

  override giveBack(condition: Condition): PromiseLike<unknown> | undefined {
    this.#job.hasEnded = true;
    return super.giveBack(condition);
  }
}

/**
 * Code inside `project` uses the host's own query builder, and no handle is handed around: Kysely, Drizzle, knex, whatever
 * takes a pool of `pg`. A transaction that such code opens inside the job's is a savepoint of it.
 *
 * @throws RangeError when `maxConcurrent` is not a positive whole number; Error where the runtime keeps no asynchronous
 *   context (Node, Bun and Deno do).
 *
 * @example
 * ```ts
 * const orders = transactionProvider({ name: 'orders', pool, maxConcurrent: 8 });
 * const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: orders.pool }) }); // instead of `pool`
 * const work = withDatabase(orders);
 *
 * ids$.pipe(admit(work.demand(), work.project((id) => markPaid(id)))); // markPaid uses db, and knows nothing of this
 * ```
 */
export const transactionProvider = <P extends PgPool>(options: PgProviderOptions<P>): TransactionProvider<P> =>
  new TransactionProvider(options);
