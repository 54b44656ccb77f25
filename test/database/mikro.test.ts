/** A session of MikroORM on the one connection it holds. */
import { createAdmission } from 'rx-admission';
import { mikroOrmProvider, withDatabase } from 'rx-admission/database';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { startPostgres, type Postgres } from '../postgres/postgres.js';
import { mikroOn, type Mikro } from './mikro.js';
import { BOUND } from './tables.js';

let postgres: Postgres;
let mikro: Mikro;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.close());
beforeEach(async () => {
  mikro = await mikroOn(postgres);
});
afterEach(() => mikro.orm.close(true));

const rows = async (): Promise<readonly string[]> => [...(await mikro.table.sides.rows())].sort();

it('flushes and commits what the work changed, and nothing of work that fails', async () => {
  const work = withDatabase(mikroOrmProvider({ ...BOUND, orm: mikro.orm }));
  const admission = createAdmission();
  await admission.run(work.demand(), work.work((em) => void em.create(mikro.schema, { row: 'new' }, { persist: true })));
  expect(await rows()).toEqual(['new']);
  await admission.run(work.demand(), work.work(async (em) => {
    const found = await em.findOneOrFail(mikro.schema, { row: 'new' });
    em.remove(found);
    em.create(mikro.schema, { row: 'newer' }, { persist: true });
  }));
  expect(await rows()).toEqual(['newer']);
  const failing = admission.run(work.demand(), work.work(async (em) => {
    em.create(mikro.schema, { row: 'lost' }, { persist: true });
    await em.flush();
    throw new Error('of the work');
  }));
  await expect(failing).rejects.toThrow('of the work');
  expect(await rows()).toEqual(['newer']);
  expect(mikro.out()).toBe(0);
});

it('runs everything of a session on one connection, nested transactions included', async () => {
  const work = withDatabase(mikroOrmProvider({ ...BOUND, orm: mikro.orm }));
  await createAdmission().run(work.demand(), work.work(async (em) => {
    const pid = async (): Promise<unknown> => em.execute('SELECT pg_backend_pid()');
    const first = await pid();
    await em.transactional(async (inner) => {
      inner.create(mikro.schema, { row: 'nested' }, { persist: true });
      expect(await inner.execute('SELECT pg_backend_pid()')).toEqual(first);
    });
    await expect(
      em.transactional(async (inner) => {
        await inner.execute(mikro.table.insert('undone'));
        throw new Error('inside');
      }),
    ).rejects.toThrow('inside');
    expect(await pid()).toEqual(first);
    expect(mikro.out()).toBe(1);
    expect(await rows()).toEqual([]);
  }));
  expect(await rows()).toEqual(['nested']);
});

it('keeps sessions apart: one does not see what another has not committed', async () => {
  const work = withDatabase(mikroOrmProvider({ ...BOUND, orm: mikro.orm }));
  const admission = createAdmission();
  let arrived = 0;
  const bothHave: (() => void)[] = [];
  const both = (step: number): Promise<void> =>
    new Promise((resolve) => {
      bothHave.push(resolve);
      arrived += 1;
      if (arrived === 2 * step) for (const go of bothHave) go();
    });
  const job = (row: string): Promise<number> =>
    admission.run(work.demand(), work.work(async (em) => {
      await em.execute(mikro.table.insert(row));
      await both(1);
      const seen = await em.count(mikro.schema);
      await both(2);
      return seen;
    }));
  expect(await Promise.all([job('a'), job('b')])).toEqual([1, 1]);
  expect(await rows()).toEqual(['a', 'b']);
});

it('flushes whole where the job has no transaction', async () => {
  const work = withDatabase(mikroOrmProvider({ ...BOUND, orm: mikro.orm }), { transaction: false });
  const admission = createAdmission();
  await mikro.orm.em.fork().execute(mikro.table.insert('taken'));
  await mikro.orm.em.fork().execute(`ALTER TABLE ${mikro.table.name} ADD UNIQUE (row)`);
  const failing = admission.run(work.demand(), work.work(async (em) => {
    em.create(mikro.schema, { row: 'first' }, { persist: true });
    em.create(mikro.schema, { row: 'taken' }, { persist: true });
    await em.flush();
  }));
  await expect(failing).rejects.toThrow('duplicate key');
  expect(await rows()).toEqual(['taken']);
  expect(mikro.out()).toBe(0);
});

it('says that nothing was committed where a failed statement was swallowed, and where the commit itself fails', async () => {
  const work = withDatabase(mikroOrmProvider({ ...BOUND, orm: mikro.orm }));
  const admission = createAdmission();
  const swallowing = admission.run(work.demand(), work.work(async (em) => {
    await em.execute(mikro.table.insert('lost'));
    await em.execute('SELECT 1/0').catch(() => undefined);
  }));
  await expect(swallowing).rejects.toThrow('nothing was committed');
  await mikro.orm.em.fork().execute(`ALTER TABLE ${mikro.table.name} ADD UNIQUE (row) DEFERRABLE INITIALLY DEFERRED`);
  const deferred = admission.run(work.demand(), work.work(async (em) => {
    await em.execute(mikro.table.insert('twice'));
    await em.execute(mikro.table.insert('twice'));
  }));
  await expect(deferred).rejects.toThrow('duplicate key');
  expect(await rows()).toEqual([]);
  await admission.run(work.demand(), work.work((em) => em.execute(mikro.table.insert('after'))));
  expect(await rows()).toEqual(['after']);
  expect(mikro.out()).toBe(0);
});

it('refuses writes of a session that only reads, and leaves nothing out where the hint cannot be given', async () => {
  const provider = mikroOrmProvider({ ...BOUND, orm: mikro.orm });
  const work = withDatabase(provider, { readOnly: true });
  const writing = createAdmission().run(work.demand(), work.work((em) => em.execute(mikro.table.insert('no'))));
  await expect(writing).rejects.toThrow('read-only');
  const handle = await provider.acquire();
  // The pool has no other connection yet: this is the one it hands out again.
  const { client: pool } = mikro.orm.em.getKnex() as unknown as {
    client: { acquireConnection(): Promise<object>; releaseConnection(connection: object): Promise<void> };
  };
  await provider.close(handle);
  const free = (await pool.acquireConnection()) as { query: unknown };
  free.query = () => Promise.reject(new Error('no'));
  await pool.releaseConnection(free);
  await expect(provider.acquire({ readOnly: true })).rejects.toMatchObject({ cause: { message: 'no' } });
  expect(mikro.out()).toBe(0);
});

it('hands nothing out where the connection cannot be had', async () => {
  const work = withDatabase(mikroOrmProvider({ ...BOUND, orm: mikro.orm }));
  await mikro.orm.close(true);
  const admission = createAdmission();
  const failing = admission.run(work.demand(), work.work(() => 'never'));
  await expect(failing).rejects.toMatchObject({ name: 'RefusedError', account: 'db:orders' });
  expect(admission.status().grants).toEqual([]);
});
