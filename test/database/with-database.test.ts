/** The operator side: permits in the demand, connections under the grant, and the order of it all. */
import {
  NEVER,
  concat,
  defaultIfEmpty,
  firstValueFrom,
  from,
  lastValueFrom,
  of,
  take,
  takeUntil,
  throwError,
  timer,
  toArray,
  type Observable,
} from 'rxjs';
import type { Pool, PoolClient } from 'pg';
import { CountingGate, RefusedError, TokenBucket, createAdmission, demand, type Admission } from 'rx-admission';
import { pgProvider, withDatabase, withDatabases } from 'rx-admission/database';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startPostgres, type Postgres } from '../postgres/postgres.js';
import { Recorded } from './recorded.js';
import { LINGER, poolOf, tableOn, type Table } from './tables.js';

let postgres: Postgres;
let table: Table;
let pool: Pool;
let admission: Admission;
let log: string[];
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.close());
beforeEach(async () => {
  table = await tableOn(postgres);
  pool = poolOf(table.url, 8);
  admission = createAdmission();
  log = [];
  admission.events$.subscribe(({ type, account }) => log.push(`${account} ${type}`));
});
afterEach(() => pool.end());

const silent = { warn: () => undefined };
const provider = (name: string, maxConcurrent = 1, on = pool): Recorded<PoolClient> =>
  new Recorded(pgProvider({ name, pool: on, maxConcurrent, log: silent }), log);
const rows = async (): Promise<readonly string[]> => [...(await table.sides.rows())].sort();
const out = (): number => pool.totalCount - pool.idleCount;
const bucket = (): TokenBucket => new TokenBucket({ name: 'm', tokensPerMinute: 60_000, requestsPerMinute: 60 });
const settled = async (): Promise<void> => {
  while (admission.status().grants.length > 0) await new Promise((resolve) => setTimeout(resolve, 2));
};
const turns = (ms = 30): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A pool of a server that is not there. */
const nowhere = (): Pool => poolOf('postgres://postgres@127.0.0.1:1/none');

describe('opening', () => {
  it('rolls the whole grant back where one cannot be opened, and closes those that were (database-04)', async () => {
    const tokens = bucket();
    const gone = nowhere();
    const [x, y] = [provider('x'), provider('y', 1, gone)];
    const both = withDatabases(x, y);
    let ran = false;
    const error = await lastValueFrom(
      of('A').pipe(
        admission.admit(
          both.demand(() => demand([tokens, 400])),
          both.project(() => {
            ran = true;
            return of(1);
          }),
        ),
      ),
      { defaultValue: null },
    ).catch((caught: unknown) => caught);
    await settled();
    expect(error).toBeInstanceOf(RefusedError);
    expect(error).toMatchObject({ readable: true, account: 'db:y', cause: { code: 'ECONNREFUSED' } });
    expect(log).toEqual([
      'm GRANTED_IMMEDIATE',
      'db:x GRANTED_IMMEDIATE',
      'db:y GRANTED_IMMEDIATE',
      'x acquire',
      'x begin',
      'y acquire',
      'x close',
      'm RELEASED',
      'db:x RELEASED',
      'db:y RELEASED',
    ]);
    expect([ran, tokens.tokens(), out()]).toEqual([false, 60_000, 0]);
    await gone.end();
  });

  it('lets nobody in who waits in the same output', async () => {
    const gone = nowhere();
    const work = withDatabase(provider('x', 1, gone));
    const ended = lastValueFrom(
      from(['a', 'b', 'c']).pipe(admission.admit(work.demand(), work.project(() => of(1)))),
      { defaultValue: null },
    );
    await expect(ended).rejects.toBeInstanceOf(RefusedError);
    await settled();
    expect(log.filter((line) => line === 'x acquire')).toHaveLength(1);
    await gone.end();
  });

  it('words the failure of a provider that has none to read', async () => {
    const x = provider('x');
    x.before.set('begin', () => {
      throw new Error('out of order');
    });
    const work = withDatabase(x);
    const error = await admission.run(work.demand(), work.work(() => 1)).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(RefusedError);
    expect((error as RefusedError).message).toBe('the work could not start on its database: out of order');
    expect(out()).toBe(0);
  });

  it('is given up where the job is unsubscribed meanwhile, metered debits included', async () => {
    const tokens = bucket();
    const x = provider('x');
    const work = withDatabase(x);
    const subscription = of('A')
      .pipe(admission.admit(work.demand(() => demand([tokens, 400])), work.project(() => NEVER)))
      .subscribe();
    expect(tokens.tokens()).toBeLessThan(59_900);
    subscription.unsubscribe();
    await settled();
    expect([tokens.tokens(), out()]).toEqual([60_000, 0]);
    expect(log.filter((line) => line.startsWith('x '))).not.toContain('x commit');
  });

  it('rolls the grant back where project throws, and passes its error on', async () => {
    const tokens = bucket();
    const work = withDatabase(provider('x'));
    const ended = lastValueFrom(
      of('A').pipe(
        admission.admit(
          work.demand(() => demand([tokens, 400])),
          work.project((): Observable<number> => {
            throw new Error('of project');
          }),
        ),
      ),
    );
    await expect(ended).rejects.toThrow('of project');
    await settled();
    expect([tokens.tokens(), out()]).toEqual([60_000, 0]);
  });
});

describe('ending', () => {
  it('closes every connection, even where one fails, before the grant is released (database-05)', async () => {
    const [x, y] = [provider('x'), provider('y')];
    y.before.set('close', () => {
      throw new Error('close of y');
    });
    const both = withDatabases(x, [y, { readOnly: true }]);
    const seen = await lastValueFrom(
      of('A').pipe(
        admission.admit(
          both.demand(),
          both.project(async (row: string, [writer, reader]) => {
            await writer.query(table.insert(row));
            await expect(reader.query(table.insert(row))).rejects.toThrow('read-only');
            await reader.query('ROLLBACK');
            log.push('work');
            return row;
          }),
        ),
      ),
      { defaultValue: null },
    );
    expect(seen).toBe('A');
    expect(log).toEqual([
      'db:x GRANTED_IMMEDIATE',
      'db:y GRANTED_IMMEDIATE',
      'x acquire',
      'x begin',
      'y acquire',
      'y begin',
      'work',
      'x commit',
      'y commit',
      'y close',
      'x close',
      'db:x RELEASED',
      'db:y RELEASED',
    ]);
    expect(await rows()).toEqual(['A']);
    expect(out()).toBe(0);
  });

  it('settles once where an abort and a close overlap (database-05)', async () => {
    const work = withDatabase(provider('x'));
    const cut = new AbortController();
    const running = admission.run(
      work.demand(),
      work.work(async (client) => {
        await client.query(table.insert('cut'));
        const closing = client.query(LINGER);
        closing.catch(() => undefined);
        setTimeout(() => {
          cut.abort('enough');
        }, 20);
        throw new Error('of the work');
      }),
      { signal: cut.signal },
    );
    await expect(running).rejects.toThrow('of the work');
    await settled();
    expect(log.filter((line) => line === 'db:x RELEASED')).toHaveLength(1);
    expect([await rows(), out()]).toEqual([[], 0]);
  });

  it('rolls back work that errors, and passes its error unchanged', async () => {
    const work = withDatabase(provider('x'));
    const failure = new Error('of the work');
    const ended = lastValueFrom(
      of('lost').pipe(
        admission.admit(
          work.demand(),
          work.project((row, client) => concat(from(client.query(table.insert(row))), throwError(() => failure))),
        ),
      ),
      { defaultValue: null },
    );
    await expect(ended).rejects.toBe(failure);
    expect([await rows(), out()]).toEqual([[], 0]);
  });

  it('passes the failure of a commit on, and leaves nothing', async () => {
    const work = withDatabase(provider('x'));
    await pool.query(`ALTER TABLE ${table.name} ADD UNIQUE (row) DEFERRABLE INITIALLY DEFERRED`);
    const ended = admission.run(work.demand(), work.work(async (client) => {
      await client.query(table.insert('twice'));
      await client.query(table.insert('twice'));
    }));
    await expect(ended).rejects.toMatchObject({ code: '23505' });
    expect([await rows(), out()]).toEqual([[], 0]);
  });

  it('keeps the last value until it is committed: whoever takes the first of one undoes nothing', async () => {
    const work = withDatabase(provider('x'));
    const insert = (row: string): Observable<string> =>
      admission.defer(
        work.demand(),
        work.factory((client) => from(client.query(table.insert(row)).then(() => row))),
      );
    expect(await firstValueFrom(insert('one'))).toBe('one');
    expect(await rows()).toEqual(['one']);
    expect(await lastValueFrom(insert('two').pipe(take(1)))).toBe('two');
    expect(await rows()).toEqual(['one', 'two']);
    // The connection that was used twice is still the same: nothing was severed.
    expect([out(), pool.totalCount]).toEqual([0, 1]);
  });

  it('lets values through as the next one comes, in their order', async () => {
    const work = withDatabase(provider('x'), { transaction: false });
    const values = admission.defer(work.demand(), work.factory(() => of(1, 2, 3)));
    expect(await lastValueFrom(values.pipe(toArray()))).toEqual([1, 2, 3]);
    const none = admission.defer(work.demand(), work.factory(() => of()));
    expect(await lastValueFrom(none, { defaultValue: 'none' })).toBe('none');
  });

  it('commits each statement by itself without a transaction', async () => {
    const work = withDatabase(provider('x'), { transaction: false });
    const ended = admission.run(work.demand(), work.work(async (client) => {
      await client.query(table.insert('kept'));
      throw new Error('of the work');
    }));
    await expect(ended).rejects.toThrow('of the work');
    expect(await rows()).toEqual(['kept']);
    expect(log).not.toContain('x begin');
  });
});

describe('cutting', () => {
  it('severs a connection in the middle of a statement, in the turn of the unsubscribe', async () => {
    const work = withDatabase(provider('x'));
    const gate = new CountingGate({ name: 'g', capacity: 1 });
    const subscription = of('cut')
      .pipe(
        admission.admit(
          work.demand(demand(gate)),
          work.project((row, client) => from(client.query(table.insert(row)).then(() => client.query(LINGER)))),
        ),
      )
      .subscribe();
    await turns(80);
    expect(out()).toBe(1);
    subscription.unsubscribe();
    expect(log.at(-1)).toBe('x abort');
    expect(gate.inUse()).toBe(1);
    await settled();
    expect(log.slice(-3)).toEqual(['x close', 'g RELEASED', 'db:x RELEASED']);
    expect([await rows(), out(), pool.totalCount]).toEqual([[], 0, 0]);
    const left = await pool.query(
      `SELECT pid FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND application_name = '${table.name}' AND pid <> pg_backend_pid()`,
    );
    expect(left.rows).toEqual([]);
  });

  it('severs it where the deadline of the ask passes, and the statement fails', async () => {
    const work = withDatabase(provider('x'));
    const ended = admission.run(work.demand(), work.work((client) => client.query(LINGER)), {
      deadline: admission.now() + 100,
    });
    await expect(ended).rejects.toThrow();
    expect(admission.status().grants).toEqual([]);
    expect(out()).toBe(0);
  });

  it('severs it while it commits, and leaves all of it or nothing', async () => {
    const x = provider('x');
    const work = withDatabase(x);
    const subscription = of('cut')
      .pipe(
        admission.admit(
          work.demand(),
          work.project((row, client) => from(client.query(table.insert(row)).then(() => client.query(table.insert(row))))),
        ),
      )
      .subscribe();
    await new Promise<void>((resolve) => {
      x.before.set('commit', async () => {
        subscription.unsubscribe();
        resolve();
        await turns(1);
      });
    });
    await settled();
    expect([0, 2]).toContain((await rows()).length);
    expect(out()).toBe(0);
  });

  it('severs it where the work alone is unsubscribed, and the output goes on', async () => {
    const work = withDatabase(provider('x'));
    const lingering = work.project((row: string, client: PoolClient) =>
      from(client.query(table.insert(row)).then(() => client.query(LINGER))),
    );
    const ended = lastValueFrom(
      from(['a', 'b']).pipe(
        admission.admit(work.demand(), (row, grant, index) =>
          lingering(row, grant, index).pipe(takeUntil(timer(60)), defaultIfEmpty(null)),
        ),
        toArray(),
      ),
    );
    expect(await ended).toEqual([null, null]);
    await settled();
    expect([await rows(), out(), pool.totalCount]).toEqual([[], 0, 0]);
  });

  it('keeps the grant of a promise that goes on, without its connection', async () => {
    const work = withDatabase(provider('x'));
    let finish: () => void = () => undefined;
    const going = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const subscription = of('A').pipe(admission.admit(work.demand(), work.project(() => going))).subscribe();
    await turns(60);
    subscription.unsubscribe();
    await turns(60);
    expect([out(), admission.status().grants.length]).toEqual([0, 1]);
    finish();
    await settled();
    expect(log.at(-1)).toBe('db:x RELEASED');
  });

  it('tells an iterator to return, and waits for it', async () => {
    const work = withDatabase(provider('x'), { transaction: false });
    const steps: string[] = [];
    const subscription = of('A')
      .pipe(
        admission.admit(
          work.demand(),
          work.project(async function* (_item, client) {
            try {
              for (let value = 1; ; value += 1) {
                await client.query('SELECT 1');
                yield value;
              }
            } finally {
              await turns(20);
              steps.push('cleaned up');
            }
          }),
        ),
      )
      .subscribe((value) => {
        if (value === 3) subscription.unsubscribe();
      });
    await turns(80);
    await settled();
    expect([steps, out()]).toEqual([['cleaned up'], 0]);
  });

  it('ends where an iterator ends, and where it fails', async () => {
    const work = withDatabase(provider('x'));
    const counting = (fails: number): Promise<number[]> =>
      lastValueFrom(
        admission
          .defer(
            work.demand(),
            work.factory(async function* (client) {
              for (let value = 1; value <= 3; value += 1) {
                if (value === fails) throw new Error(`fails at ${fails}`);
                await client.query(table.insert(`${fails}: ${value}`));
                yield value;
              }
            }),
          )
          .pipe(toArray()),
      );
    expect(await counting(4)).toEqual([1, 2, 3]);
    await expect(counting(2)).rejects.toThrow('fails at 2');
    expect(await rows()).toEqual(['4: 1', '4: 2', '4: 3']);
  });

  it('lets an aborted ask open nothing', async () => {
    const work = withDatabase(provider('x'));
    const cut = new AbortController();
    const ended = admission.run(work.demand(), work.work(() => 'never'), { signal: cut.signal });
    cut.abort('enough');
    await expect(ended).rejects.toMatchObject({ reason: 'cancelled' });
    expect(log.filter((line) => line === 'x begin')).toEqual([]);
    expect(out()).toBe(0);
  });
});

describe('demanding', () => {
  it('adds one permit of each database to a demand, to a function of the item, or to nothing', () => {
    const [x, y] = [provider('x', 2), provider('y', 2)];
    const gate = new CountingGate({ name: 'g', capacity: 5 });
    const names = ({ entries }: { entries: readonly { account: { name: string }; amounts: readonly unknown[] }[] }) =>
      entries.map(({ account, amounts }) => `${account.name} ${amounts.join('+')}`);
    expect(names(withDatabase(x).demand())).toEqual(['db:x 1']);
    expect(names(withDatabases(x, [y, {}]).demand(demand([gate, 3])))).toEqual(['g 3', 'db:x 1', 'db:y 1']);
    expect(names(withDatabases(x, x).demand((n: number) => demand([gate, n]))(4, 0))).toEqual(['g 4', 'db:x 1+1']);
  });
});
