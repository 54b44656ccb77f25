/** The database contract finds providers that break it. */
import type { Pool, PoolClient } from 'pg';
import { countingProvider, pgProvider, type DatabaseProvider } from 'rx-admission/database';
import { ContractViolation, databaseProviderContract } from 'rx-admission/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startPostgres, type Postgres } from '../postgres/postgres.js';
import { BOUND, pooled, use } from './tables.js';

let postgres: Postgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.close());

type Verbs = Partial<DatabaseProvider<PoolClient>>;

/** The provider over `pg`, with some verbs of its own. */
function altered(provider: DatabaseProvider<PoolClient>, verbs: Verbs): DatabaseProvider<PoolClient> {
  return new Proxy(provider, {
    get: (target, key) => {
      const own: unknown = Reflect.get(verbs, key);
      const value: unknown = own ?? Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

const BROKEN: Readonly<Record<string, readonly [Title: string, says: RegExp, (real: DatabaseProvider<PoolClient>, pool: Pool) => Verbs]>> = {
  'has another bound': [
    'is bound by an account',
    /make the provider with maxConcurrent 2/,
    () => ({ admission: countingProvider({ name: 'orders', maxConcurrent: 3 }).admission }),
  ],
  'is named otherwise': ['is bound by an account', /is named "db:orders"/, () => ({ name: 'other' })],
  'takes permits in acquire': [
    'is bound by an account',
    /the permit is admission's/,
    (real) => ({
      acquire: (options) => {
        real.admission.tryTake([1], [], 0);
        return real.acquire(options);
      },
    }),
  ],
  'commits at close': [
    'rolls back what is open',
    /others see/,
    (real) => ({
      close: async (handle) => {
        await real.commit(handle).catch(() => undefined);
        await real.close(handle);
      },
    }),
  ],
  'forgets to close': ['holds one connection', /after close, 1 connections are out/, () => ({ close: () => Promise.resolve() })],
  'hears no hint': ['refuses writes when read-only', /is not refused/, (real) => ({ acquire: () => real.acquire() })],
  'takes any handle': [
    'refuses a handle of another instance',
    /commit of a handle of another provider is not refused/,
    () => ({ commit: () => Promise.resolve() }),
  ],
  'waits in abort': [
    'severs on abort',
    /it waits for nothing/,
    (real) => ({
      abort: new Proxy(real.abort.bind(real), { apply: (abort, _self, [handle]: [never]) => (abort(handle), Promise.resolve()) }),
    }),
  ],
  'never waits for a commit': [
    'frees those who await completion',
    /does not wait for a transaction that is open/,
    () => ({ awaitCompletion: () => Promise.resolve() }),
  ],
  'opens no transaction': ['never has more connections out than the bound: jobs fail', /others see/, () => ({ begin: () => Promise.resolve() })],
  'fails as its driver does': [
    'severs on abort',
    /and not with a RefusedError/,
    (real) => ({
      close: async (handle) => {
        await real.close(handle);
        throw new Error('raw');
      },
    }),
  ],
};

it.each(Object.entries(BROKEN))('finds a provider that %s', async (_what, [title, says, verbs]) => {
  const make = pooled((pool) => {
    const real = pgProvider({ ...BOUND, pool, log: { warn: () => undefined } });
    // What is left out would keep the pool from ending.
    const end = pool.end.bind(pool);
    pool.end = (() => {
      void end();
      return Promise.resolve();
    });
    return use(altered(real, verbs(real, pool)), (client, statement) => client.query(statement));
  });
  const rule = databaseProviderContract(() => make(postgres)).find((each) => each.title.startsWith(title));
  const error = await rule?.run().catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ContractViolation);
  expect((error as Error).message).toMatch(says);
});
