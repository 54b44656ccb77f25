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

/** How to use what a provider over `pg.Pool` hands out. */
export interface Uses<T> {
  readonly provider: (pool: Pool) => DatabaseProvider<T>;
  /** Runs a statement on what work was given, or on the host's own stack. */
  readonly run: (value: T, sql: string, pool: Pool) => PromiseLike<unknown>;
}

export async function pooled<T>(postgres: Postgres, { provider, run }: Uses<T>): Promise<DatabaseSubject<T>> {
  const table = await tableOn(postgres);
  const pool = poolOf(table.url);
  return {
    ...table.sides,
    provider: provider(pool),
    out: () => pool.totalCount - pool.idleCount,
    write: (value, row) => run(value, table.insert(row), pool),
    linger: (value) => run(value, LINGER, pool),
    dispose: () => pool.end(),
  };
}

export function poolOf(connectionString: string, max = 4): Pool {
  const pool = new Pool({ connectionString, max });
  // An idle client that the server ends is the pool's to forget; unheard, it would end the process.
  pool.on('error', () => undefined);
  return pool;
}

