/** Every shipped provider passes the contract on every Postgres that this machine has. */
import { drizzle } from 'drizzle-orm/node-postgres';
import { sql } from 'drizzle-orm';
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely';
import { countingProvider, drizzleProvider, pgProvider, transactionProvider } from 'rx-admission/database';
import { databaseProviderContract, type DatabaseContractOptions, type DatabaseSubject } from 'rx-admission/testing';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { kindsOfPostgres, startPostgres, type Postgres } from '../postgres/postgres.js';
import { mikroSubject } from './mikro.js';
import { BOUND, pooled, use } from './tables.js';

type Make = (postgres: Postgres) => Promise<DatabaseSubject<unknown>>;

const PROVIDERS: Readonly<Record<string, readonly [Make, DatabaseContractOptions?]>> = {
  pg: [pooled((pool) => use(pgProvider({ ...BOUND, pool }), (client, statement) => client.query(statement)))],
  drizzle: [
    pooled((pool) =>
      use(drizzleProvider({ ...BOUND, pool, drizzle: (client) => drizzle(client) }), (db, statement) =>
        db.execute(sql.raw(statement)),
      ),
    ),
  ],
  'kysely on the host’s pool': [
    pooled((pool) => {
      const provider = transactionProvider({ ...BOUND, pool });
      const db = new Kysely<object>({ dialect: new PostgresDialect({ pool: provider.pool }) });
      return use(provider, (_client, statement) => db.executeQuery(CompiledQuery.raw(statement)));
    }),
  ],
  mikroorm: [mikroSubject],
  counting: [
    pooled((pool) => use(countingProvider(BOUND), (_nothing, statement) => pool.query(statement))),
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
