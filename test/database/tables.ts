/** Subjects of the database contract on a real Postgres: a pool of four, a bound of two, an empty table each. */
import { Pool } from 'pg';
import type { DatabaseProvider } from 'rx-admission/database';
import type { DatabaseSubject } from 'rx-admission/testing';
import { execute, rowsOf, type Postgres } from '../postgres/postgres.js';

export const BOUND = { name: 'orders', maxConcurrent: 2 };

let tables = 0;

/** The sides of a subject that are the server's, over a table of its own; `application` tells whose backends are whose. */
export interface Table {
  readonly name: string;
  readonly url: string;
  readonly insert: (row: string) => string;
  readonly sides: Pick<DatabaseSubject<unknown>, 'rows' | 'killBackends' | 'server'>;
}

export const LINGER = 'SELECT pg_sleep(60)';

export async function tableOn(postgres: Postgres): Promise<Table> {
  tables += 1;
  const name = `rows_${process.pid}_${tables}`;
  await execute(postgres.url, `CREATE TABLE ${name} (row text NOT NULL)`);
  const url = new URL(postgres.url);
  url.searchParams.set('application_name', name);
  return {
    name,
    url: url.href,
    insert: (row) => `INSERT INTO ${name} VALUES ('${row}')`,
    sides: {
      rows: async () => (await rowsOf(postgres.url, `SELECT row FROM ${name}`)).map(({ row }) => String(row)),
      killBackends: () =>
        execute(postgres.url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '${name}'`),
      ...(postgres.server && { server: postgres.server }),
    },
  };
}

/** A provider, and how work runs a statement: on what it was given, or by the host's own stack. */
export interface Use<T> {
  readonly provider: DatabaseProvider<T>;
  readonly run: (value: T, statement: string) => PromiseLike<unknown>;
}

export const use = <T>(provider: DatabaseProvider<T>, run: Use<T>['run']): Use<T> => ({ provider, run });

/** A subject of a provider over `pg.Pool`. */
export const pooled =
  <T>(useOf: (pool: Pool) => Use<T>) =>
  async (postgres: Postgres): Promise<DatabaseSubject<unknown>> => {
    const table = await tableOn(postgres);
    const pool = poolOf(table.url);
    const { provider, run } = useOf(pool);
    return {
      ...table.sides,
      provider,
      out: () => pool.totalCount - pool.idleCount,
      write: (value, row) => run(value as T, table.insert(row)),
      linger: (value) => run(value as T, LINGER),
      dispose: () => pool.end(),
    };
  };

export function poolOf(connectionString: string, max = 4): Pool {
  const pool = new Pool({ connectionString, max });
  // An idle client that the server ends is the pool's to forget; unheard, it would end the process.
  pool.on('error', () => undefined);
  return pool;
}

