/** Every shipped provider passes the contract on every Postgres that this machine has. */
import { drizzle } from 'drizzle-orm/node-postgres';
import { sql } from 'drizzle-orm';
import { countingProvider, drizzleProvider, pgProvider } from 'rx-admission/database';
import { databaseProviderContract, type DatabaseContractOptions, type DatabaseSubject } from 'rx-admission/testing';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { kindsOfPostgres, startPostgres, type Postgres } from '../postgres/postgres.js';
import { BOUND, pooled } from './tables.js';

type Make = (postgres: Postgres) => Promise<DatabaseSubject<unknown>>;

const PROVIDERS: Readonly<Record<string, readonly [Make, DatabaseContractOptions?]>> = {
  pg: [
    (postgres) =>
      pooled(postgres, {
        provider: (pool) => pgProvider({ ...BOUND, pool }),
        run: (client, statement) => client.query(statement),
      }) as Promise<DatabaseSubject<unknown>>,
  ],
  drizzle: [
    (postgres) =>
      pooled(postgres, {
        provider: (pool) => drizzleProvider({ ...BOUND, pool, drizzle: (client) => drizzle(client) }),
        run: (db, statement) => db.execute(sql.raw(statement)),
      }) as Promise<DatabaseSubject<unknown>>,
  ],
  counting: [
    (postgres) =>
      pooled(postgres, {
        provider: () => countingProvider(BOUND),
        run: (_nothing, statement, pool) => pool.query(statement),
      }) as Promise<DatabaseSubject<unknown>>,
    { holds: 'nothing' },
  ],
};

describe.each(kindsOfPostgres())('on the Postgres that is %s', (kind) => {
  let postgres: Postgres;
  beforeAll(async () => {
    postgres = await startPostgres(kind);
  });
  afterAll(() => postgres.close());

  describe.each(Object.entries(PROVIDERS))('%s', (_name, [make, options]) => {
    const without = kind === 'given' ? (['server'] as const) : [];
    for (const { title, run } of databaseProviderContract(() => make(postgres), { without, ...options })) {
      it(title, run, 60_000);
    }
  });
});
