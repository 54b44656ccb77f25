/** Code written against the host's pool runs on its job's connection, in its job's transaction. */
import { sql as drizzled } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import knexOf from 'knex';
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely';
import type { Pool } from 'pg';
import { from, lastValueFrom, toArray } from 'rxjs';
import { createAdmission } from 'rx-admission';
import { transactionProvider, withDatabase } from 'rx-admission/database';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startPostgres, type Postgres } from '../postgres/postgres.js';
import { BOUND, poolOf, tableOn, type Table } from './tables.js';

let postgres: Postgres;
let table: Table;
let pool: Pool;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.close());
beforeEach(async () => {
  table = await tableOn(postgres);
  pool = poolOf(table.url);
});
afterEach(() => pool.end());

const rows = async (): Promise<readonly string[]> => [...(await table.sides.rows())].sort();
const out = (): number => pool.totalCount - pool.idleCount;

interface Host {
  readonly run: (statement: string) => Promise<unknown>;
  /** The host's own transaction. */
  readonly transaction: (work: (run: (statement: string) => Promise<unknown>) => Promise<void>) => Promise<unknown>;
}

const HOSTS: Readonly<Record<string, (bound: Pool) => Host>> = {
  kysely: (bound) => {
    const db = new Kysely<object>({ dialect: new PostgresDialect({ pool: bound }) });
    return {
      run: (statement) => db.executeQuery(CompiledQuery.raw(statement)),
      transaction: (work) =>
        db.transaction().execute((trx) => work((statement) => trx.executeQuery(CompiledQuery.raw(statement)))),
    };
  },
  drizzle: (bound) => {
    const db = drizzle(bound);
    return {
      run: async (statement) => db.execute(drizzled.raw(statement)),
      transaction: (work) => db.transaction((tx) => work(async (statement) => tx.execute(drizzled.raw(statement)))),
    };
  },
  knex: (bound) => {
    const db = knexOf({ client: 'pg', connectionPool: bound, log: { warn: () => undefined } } as Parameters<typeof knexOf>[0]);
    return {
      run: async (statement) => (await db.raw(statement)) as unknown,
      transaction: (work) => db.transaction((trx) => work(async (statement) => (await trx.raw(statement)) as unknown)),
    };
  },
};

describe.each(Object.entries(HOSTS))('%s on the host’s pool', (_name, hostOn) => {
  const scene = (): { host: Host; admission: ReturnType<typeof createAdmission>; work: ReturnType<typeof withDatabase> } => {
    const provider = transactionProvider({ ...BOUND, pool });
    return { host: hostOn(provider.pool), admission: createAdmission(), work: withDatabase(provider) };
  };

  it('commits with its job, and rolls back with it', async () => {
    const { host, admission, work } = scene();
    const ended = from(['kept 1', 'kept 3', 'kept 2']).pipe(
      admission.admit(
        work.demand(),
        work.project(async (row: string) => {
          await host.run(table.insert(row));
          expect(await rows()).not.toContain(row);
          if (row === 'kept 2') expect(out()).toBeLessThanOrEqual(2);
          return row;
        }),
      ),
      toArray(),
    );
    expect(await lastValueFrom(ended)).toHaveLength(3);
    await expect(
      admission.run(work.demand(), work.work(async () => {
        await host.run(table.insert('rolled back'));
        throw new Error('of the work');
      })),
    ).rejects.toThrow('of the work');
    expect(await rows()).toEqual(['kept 1', 'kept 2', 'kept 3']);
    expect(out()).toBe(0);
  });

  it('runs each job’s statements on that job’s connection, however they interleave', async () => {
    const { host, admission, work } = scene();
    const pids = await lastValueFrom(
      from([1, 2]).pipe(
        admission.admit(
          work.demand(),
          work.project(async () => {
            const seen = new Set<string>();
            for (let step = 0; step < 4; step += 1) {
              seen.add((/"pg_backend_pid":(\d+)/.exec(JSON.stringify(await host.run('SELECT pg_backend_pid()'))))?.[1] ?? '');
              await new Promise((resolve) => setTimeout(resolve, 5));
            }
            return [...seen];
          }),
        ),
        toArray(),
      ),
    );
    expect(pids.map((seen) => seen.length)).toEqual([1, 1]);
    expect(new Set(pids.flat()).size).toBe(2);
  });

  it('nests its own transactions as savepoints of the job’s', async () => {
    const { host, admission, work } = scene();
    await admission.run(work.demand(), work.work(async () => {
      await host.run(table.insert('outer'));
      await host.transaction(async (run) => {
        await run(table.insert('inner'));
      });
      await expect(
        host.transaction(async (run) => {
          await run(table.insert('undone'));
          throw new Error('inside');
        }),
      ).rejects.toThrow('inside');
      // Committed inside, and not yet by the job.
      expect(await rows()).toEqual([]);
    }));
    expect(await rows()).toEqual(['inner', 'outer']);
    await expect(
      admission.run(work.demand(), work.work(async () => {
        await host.transaction(async (run) => {
          await run(table.insert('with the job'));
        });
        throw new Error('of the job');
      })),
    ).rejects.toThrow('of the job');
    expect(await rows()).toEqual(['inner', 'outer']);
  });

  it('is the pool itself outside of any job', async () => {
    const { host } = scene();
    await host.run(table.insert('outside'));
    await host.transaction(async (run) => {
      await run(table.insert('outside, begun'));
    });
    expect(await rows()).toEqual(['outside', 'outside, begun']);
  });

  it('refuses what a job left running once the job has ended', async () => {
    const { host, admission, work } = scene();
    let straggler: Promise<unknown> = Promise.resolve();
    await admission.run(work.demand(), work.work(() => {
      straggler = new Promise((resolve) => setTimeout(resolve, 30)).then(() => host.run(table.insert('late')));
      straggler.catch(() => undefined);
    }));
    const said = await straggler.catch((error: unknown) => error);
    // Some hosts wrap it.
    expect(String((said as Error).cause ?? said)).toContain('the job that this code was started by has ended');
    expect(await rows()).toEqual([]);
    expect(out()).toBe(0);
  });
});

describe('the bound pool', () => {
  it('serves callbacks as well as promises', async () => {
    const provider = transactionProvider({ ...BOUND, pool });
    const work = withDatabase(provider);
    const asked = (): Promise<unknown> =>
      new Promise((resolve, reject) => {
        provider.pool.connect((error, client, done) => {
          if (error || client === undefined) {
            reject(error instanceof Error ? error : new Error('no client'));
            return;
          }
          client.query('SELECT 1 AS one', (failure: Error | undefined, result: { rows: unknown[] } | undefined) => {
            done();
            if (failure) reject(failure);
            else resolve(result?.rows);
          });
        });
      });
    expect(await createAdmission().run(work.demand(), work.work(asked))).toEqual([{ one: 1 }]);
    expect(await asked()).toEqual([{ one: 1 }]);
    let late: Promise<unknown> = Promise.resolve();
    await createAdmission().run(work.demand(), work.work(() => {
      late = new Promise((resolve) => setTimeout(resolve, 20)).then(asked);
      late.catch(() => undefined);
    }));
    await expect(late).rejects.toThrow('has ended');
    await expect(asked()).resolves.toEqual([{ one: 1 }]);
  });

  it('refuses to end the job’s transaction, and modes for one inside it', async () => {
    const provider = transactionProvider({ ...BOUND, pool });
    const work = withDatabase(provider);
    const run = (statement: string): Promise<unknown> =>
      createAdmission().run(work.demand(), work.work(() => provider.pool.query(statement)));
    await expect(run('COMMIT')).rejects.toThrow('the transaction is the job’s');
    await expect(run('ROLLBACK;')).rejects.toThrow('the transaction is the job’s');
    const byCallback = createAdmission().run(
      work.demand(),
      work.work(
        () =>
          new Promise<void>((resolve, reject) => {
            provider.pool.query('COMMIT', (error) => {
              if (error instanceof Error) reject(error);
              else resolve();
            });
          }),
      ),
    );
    await expect(byCallback).rejects.toThrow('the transaction is the job’s');
    await expect(run('START TRANSACTION ISOLATION LEVEL SERIALIZABLE')).rejects.toThrow('modes of its own');
  });

  it('leaves transactions alone where the job has none', async () => {
    const provider = transactionProvider({ ...BOUND, pool });
    const work = withDatabase(provider, { transaction: false });
    await createAdmission().run(work.demand(), work.work(async () => {
      await provider.pool.query('BEGIN');
      await provider.pool.query(table.insert('by hand'));
      await provider.pool.query('COMMIT');
      expect(await rows()).toEqual(['by hand']);
      await provider.pool.query('BEGIN');
      await provider.pool.query(table.insert('half-open'));
    }));
    expect(await rows()).toEqual(['by hand']);
  });

  it('is left by what the consumer does with a value', async () => {
    const provider = transactionProvider({ ...BOUND, pool });
    const work = withDatabase(provider);
    const seen: Promise<{ rows: unknown[] }>[] = [];
    const values = from([1]).pipe(
      createAdmission().admit(
        work.demand(),
        work.project(async function* () {
          for (let value = 1; value <= 3; value += 1) {
            await provider.pool.query('SELECT 1');
            yield value;
          }
        }),
      ),
    );
    await new Promise<void>((resolve, reject) => {
      values.subscribe({
        next: () => seen.push(provider.pool.query('SELECT pg_current_xact_id_if_assigned()')),
        error: reject,
        complete: resolve,
      });
    });
    // Each went to the pool, those after the end of the job as well: none was refused.
    expect(await Promise.all(seen)).toHaveLength(3);
  });
});
