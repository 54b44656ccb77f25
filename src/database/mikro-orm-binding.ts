/** A driver of MikroORM 6 that knows one connection only: whatever asks it for one gets that. */
import type { PgSession } from './pg-types.js';

/** A client of `pg` in knex's pool, which is the one under MikroORM 6. */
export interface KnexConnection extends PgSession {
  /** Set: the pool destroys it instead of handing it out. */
  __knex__disposed?: unknown;
}

interface KnexClient {
  acquireConnection(): Promise<KnexConnection>;
  releaseConnection(connection: KnexConnection): Promise<unknown>;
}

interface Knex {
  readonly client: KnexClient;
  /** A copy with a client of its own. */
  withUserParams(params: object): Knex;
}

export interface MikroDriver {
  getConnection(type: 'write'): { getKnex(): Knex };
}

/** A copy of the query builder costs a deep copy of its settings, and a connection lives for many jobs. */
const bound = new WeakMap<KnexConnection, Knex>();

function knexOn(knex: Knex, connection: KnexConnection): Knex {
  const known = bound.get(connection);
  if (known !== undefined) return known;
  const copy = knex.withUserParams({});
  copy.client.acquireConnection = () => Promise.resolve(connection);
  // It is the holder's to release.
  copy.client.releaseConnection = () => Promise.resolve(true);
  bound.set(connection, copy);
  return copy;
}

/** `driver`, on `connection` alone: a held connection has no replicas to read from. */
export function boundDriver(driver: MikroDriver, connection: KnexConnection): MikroDriver {
  const pool = driver.getConnection('write');
  const one = Object.create(pool, { client: { value: knexOn(pool.getKnex(), connection) } }) as object;
  return Object.create(driver, { connection: { value: one }, replicas: { value: [] } }) as MikroDriver;
}
