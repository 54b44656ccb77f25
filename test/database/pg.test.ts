/** The provider over `pg.Pool`: what the contract leaves to it, and the scenarios of the statement on a real server. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { Client, type Pool, type PoolClient } from 'pg';
import { from, lastValueFrom, toArray } from 'rxjs';
import { RefusedError, createAdmission } from 'rx-admission';
import { type PgProvider, pgProvider, transactionProvider, withDatabase, type PgPool } from 'rx-admission/database';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { rowsOf, startPostgres, type Postgres } from '../postgres/postgres.js';
import { BOUND, LINGER, poolOf, tableOn, type Table } from './tables.js';

let postgres: Postgres;
let table: Table;
let pool: Pool;
let provider: PgProvider<PoolClient>;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.close());
beforeEach(async () => {
  table = await tableOn(postgres);
  pool = poolOf(table.url);
  provider = pgProvider({ ...BOUND, pool, log: { warn: () => undefined } });
});
afterEach(() => pool.end());

const rows = async (): Promise<readonly string[]> => [...(await table.sides.rows())].sort();
const out = (): number => pool.totalCount - pool.idleCount;
const readOnly = async (client: PoolClient): Promise<unknown> =>
  (await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only')).rows[0]?.transaction_read_only;

describe('a held connection', () => {
  it('is out from acquire to close, and at no other time (database-06)', async () => {
    const counts = [out()];
    const handle = await provider.acquire();
    counts.push(out());
    await provider.begin(handle);
    await handle.unwrap().query(table.insert('kept'));
    await provider.commit(handle);
    await provider.awaitCompletion(handle);
    counts.push(out());
    await provider.close(handle);
    counts.push(out());
    expect(counts).toEqual([0, 1, 1, 0]);
    expect(await rows()).toEqual(['kept']);
  });

  it('is severed by abort, which waits for nothing, and handed back by close (database-09)', async () => {
    for (const usesIt of [true, false]) {
      const handle = await provider.acquire();
      await provider.begin(handle);
      const client = handle.unwrap();
      await client.query(table.insert('lost'));
      provider.abort(handle);
      provider.abort(handle);
      if (usesIt) await expect(client.query('SELECT 1')).rejects.toThrow();
      await provider.close(handle);
      expect([out(), pool.totalCount, await rows()]).toEqual([0, 0, []]);
    }
  });

  it('is cancelled on the server too, where a statement runs', async () => {
    const handle = await provider.acquire();
    const lingering = handle.unwrap().query(LINGER);
    lingering.catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 50));
    provider.abort(handle);
    await provider.close(handle);
    await expect(lingering).rejects.toThrow();
    const busy = `SELECT count(*)::int AS busy FROM pg_stat_activity
      WHERE application_name = '${table.name}' AND query = '${LINGER}'`;
    await vi.waitFor(async () => {
      expect(await rowsOf(postgres.url, busy)).toEqual([{ busy: 0 }]);
    }, 5_000);
  });

  it('refuses writes by a hint that does not stick (database-10)', async () => {
    const first = await provider.acquire({ readOnly: true });
    const client = first.unwrap();
    expect(await readOnly(client)).toBe('on');
    await provider.close(first);
    const second = await provider.acquire({ readOnly: false });
    expect(second.unwrap()).toBe(client);
    expect(await readOnly(client)).toBe('off');
    await provider.close(second);
  });

  it('goes back as the pool gave it, if that was read-only as well', async () => {
    const reading = poolOf(table.url, 1);
    const preset = await reading.connect();
    await preset.query('SET default_transaction_read_only = on');
    preset.release();
    const readers = pgProvider({ ...BOUND, pool: reading });
    const handle = await readers.acquire({ readOnly: true });
    await readers.close(handle);
    const again = await readers.acquire();
    expect(await readOnly(again.unwrap())).toBe('on');
    await readers.close(again);
    await reading.end();
  });

  it('frees who awaits completion when it is closed or aborted (database-11)', async () => {
    for (const end of ['close', 'abort'] as const) {
      const handle = await provider.acquire();
      await provider.begin(handle);
      await handle.unwrap().query(table.insert('lost'));
      const waiting = provider.awaitCompletion(handle);
      setTimeout(() => void provider[end](handle), 100);
      await waiting;
      await provider.close(handle);
    }
    expect([await rows(), out()]).toEqual([[], 0]);
  });

  it('goes back without the transaction that work began by hand and left open', async () => {
    const handle = await provider.acquire();
    const client = handle.unwrap();
    await client.query('BEGIN');
    await client.query(table.insert('half-open'));
    await provider.close(handle);
    expect(await rows()).toEqual([]);
    const next = await provider.acquire();
    expect(next.unwrap()).toBe(client);
    await next.unwrap().query(table.insert('next'));
    expect(await rows()).toEqual(['next']);
    await provider.close(next);
  });

  it('says that nothing was committed where a failed statement was swallowed', async () => {
    const handle = await provider.acquire();
    await provider.begin(handle);
    await handle.unwrap().query(table.insert('lost'));
    await handle.unwrap().query('SELECT 1/0').catch(() => undefined);
    await expect(provider.commit(handle)).rejects.toThrow('nothing was committed');
    await provider.close(handle);
    expect([await rows(), out(), pool.idleCount]).toEqual([[], 0, 1]);
  });

  it('does not end the process when the server ends it, and is destroyed', async () => {
    const handle = await provider.acquire();
    await table.sides.killBackends?.();
    await vi.waitFor(() => expect(handle.unwrap().query('SELECT 1')).rejects.toThrow());
    await provider.close(handle);
    expect([out(), pool.totalCount]).toEqual([0, 0]);
  });

  it('is destroyed, and says so in words that can be read out, where it cannot be handed back whole', async () => {
    const warnings: string[] = [];
    const noting = pgProvider({ ...BOUND, pool, log: { warn: (line) => warnings.push(line) } });
    const handle = await noting.acquire({ readOnly: true });
    const client = handle.unwrap();
    client.query = (() => Promise.reject(new Error('out of order')));
    const error = await noting.close(handle).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(RefusedError);
    expect((error as Error).message).toBe(
      'db:orders: a connection could not be handed back whole, and was destroyed: out of order',
    );
    expect(warnings).toEqual([(error as Error).message]);
    expect([out(), pool.totalCount]).toEqual([0, 0]);
    await expect(noting.close(handle)).rejects.toBe(error);
  });
});

describe('acquire', () => {
  it('waits until a connection that is no longer wanted is back, and then rejects', async () => {
    const late = new AbortController();
    const acquiring = provider.acquire({ signal: late.signal });
    late.abort('never mind');
    await expect(acquiring).rejects.toMatchObject({ name: 'AbortError', cause: 'never mind' });
    expect([out(), pool.idleCount]).toEqual([0, 1]);
  });

  it('leaves nothing out where the connection is no use', async () => {
    const broken = pgProvider({ ...BOUND, pool: failing(pool, 'SHOW') });
    await expect(broken.acquire({ readOnly: true })).rejects.toMatchObject({ cause: { message: 'no' } });
    expect([out(), pool.totalCount]).toEqual([0, 0]);
  });

  it('refuses in words that can be read out, with the failure as cause', async () => {
    const gone = poolOf('postgres://postgres@127.0.0.1:1/none');
    const error = await pgProvider({ ...BOUND, pool: gone }).acquire().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(RefusedError);
    expect(error).toMatchObject({ account: 'db:orders', readable: true, cause: { code: 'ECONNREFUSED' } });
    await gone.end();
  });
});

/** The pool, whose clients fail statements that begin so. */
function failing(under: Pool, start: string): PgPool {
  return {
    connect: async () => {
      const client = await under.connect();
      const query = client.query.bind(client) as (text: string) => Promise<unknown>;
      client.query = ((text: string) => (text.startsWith(start) ? Promise.reject(new Error('no')) : query(text))) as never;
      return client;
    },
  };
}

describe('jobs', () => {
  it('never have more connections out than the bound (database-13)', async () => {
    const admission = createAdmission();
    const work = withDatabase(provider);
    let most = 0;
    const done = await lastValueFrom(
      from([1, 2, 3, 4, 5, 6]).pipe(
        admission.admit(
          work.demand(),
          work.project(async (job: number, client) => {
            most = Math.max(most, out());
            await client.query(table.insert(`job ${job}`));
            await client.query('SELECT pg_sleep(0.05)');
            most = Math.max(most, out());
            return job;
          }),
        ),
        toArray(),
      ),
      { defaultValue: [] },
    );
    expect([done.length, most, out(), (await rows()).length]).toEqual([6, 2, 0, 6]);
  });

  it('leave nothing when they are all unsubscribed at random, and the server agrees', async () => {
    const admission = createAdmission();
    const work = withDatabase(provider);
    for (let round = 0; round < 15; round += 1) {
      const subscription = from(['a', 'b', 'c', 'd'])
        .pipe(
          admission.admit(
            work.demand(),
            work.project(async (row: string, client) => {
              await client.query(table.insert(`${round} ${row} begun`));
              await client.query('SELECT pg_sleep(0.004)');
              await client.query(table.insert(`${round} ${row} done`));
            }),
          ),
        )
        .subscribe();
      await new Promise((resolve) => setTimeout(resolve, round * 2));
      subscription.unsubscribe();
      await vi.waitFor(() => {
        expect(admission.status().grants).toEqual([]);
      });
      expect([out(), provider.admission.inUse()]).toEqual([0, 0]);
    }
    const left = await rows();
    const begun = left.filter((row) => row.endsWith('begun'));
    expect(left).toEqual([...begun, ...begun.map((row) => row.replace('begun', 'done'))].sort());
    const open = `SELECT count(*)::int AS open FROM pg_stat_activity
      WHERE application_name = '${table.name}' AND state LIKE 'idle in transaction%'`;
    await vi.waitFor(async () => {
      expect(await rowsOf(postgres.url, open)).toEqual([{ open: 0 }]);
    }, 5_000);
  });
});

describe('a client of another make', () => {
  it('is severed as far as it can be: without a wire of its own there is nobody to tell', async () => {
    const client = new Client(table.url);
    await client.connect();
    // What a native client shows: the numbers of its backend, and no protocol under it.
    const native = {
      query: (text: string) => client.query(text),
      release: () => undefined,
      on: (event: 'end' | 'error', listener: () => void) => client.on(event, listener),
      removeListener: (event: string, listener: () => void) => client.removeListener(event, listener),
      processID: 1,
      secretKey: 1,
      readyForQuery: false,
    };
    const odd = pgProvider({ ...BOUND, pool: { connect: () => Promise.resolve(native) } });
    const handle = await odd.acquire();
    odd.abort(handle);
    await odd.close(handle);
    expect(() => handle.unwrap()).toThrow('this connection was aborted');
    await client.end();
  });
});

describe('a client that the server ends with the packet that says it is ready', () => {
  const message = (type: string, body: Buffer): Buffer => {
    const head = Buffer.alloc(5);
    head.write(type);
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const terminated = 'SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0';
  const ready = [message('R', Buffer.alloc(4)), message('Z', Buffer.from('I')), message('E', Buffer.from(terminated))];
  let server: Server;
  let url: string;
  beforeAll(async () => {
    // A real server does so too where it is shut down at that moment; nobody can time that.
    server = createServer((socket) => socket.once('data', () => socket.end(Buffer.concat(ready)))).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `postgres://nobody@127.0.0.1:${(server.address() as AddressInfo).port}/none`;
  });
  afterAll(() => server.close());

  it.each([
    ['pg', pgProvider],
    ['a transaction', transactionProvider],
  ])('is severed, and the process goes on (%s)', async (_, providerOf) => {
    const doomed = poolOf(url);
    const brittle = providerOf({ ...BOUND, pool: doomed });
    const handle = await brittle.acquire();
    await expect(handle.unwrap().query('SELECT 1')).rejects.toThrow();
    await brittle.close(handle);
    expect([doomed.totalCount, doomed.idleCount]).toEqual([0, 0]);
    await doomed.end();
  });
});

it('takes a pool that hands its clients out by a promise only, or by a callback that it forwards', async () => {
  const pools: readonly PgPool[] = [
    { connect: () => pool.connect() },
    { connect: async (...given: readonly unknown[]) => (await (pool.connect as (...rest: readonly unknown[]) => unknown)(...given)) as PoolClient },
  ];
  for (const each of pools) {
    const odd = pgProvider({ ...BOUND, pool: each });
    const handle = await odd.acquire();
    expect(out()).toBe(1);
    await odd.close(handle);
    expect(out()).toBe(0);
  }
});
