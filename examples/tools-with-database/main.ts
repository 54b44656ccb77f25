/** Tools that call a model and write its answer: all they need at once, against the same tools one thing after another. */
import { LLMock } from '@copilotkit/aimock';
import { Pool } from 'pg';
import { from, lastValueFrom, toArray } from 'rxjs';
import { HttpGate, TokenBucket, createAdmission, demand } from 'rx-admission';
import { pgProvider, withDatabase } from 'rx-admission/database';
import { startPostgres } from '../../test/postgres/postgres.js';
import { takeOneAfterAnother } from './one-after-another.js';
import { SCHEMA, askModel, calls, write, type ToolCall } from './tools.js';

const PLACES = 2;
const CONNECTIONS = 2;

const model = new LLMock({ port: 0, host: '127.0.0.1' });
model.onMessage(/./, { content: 'It is as you say.' }, { latency: 40 });
await model.start();
const postgres = await startPostgres();

/** A pool of the host's, and an empty table; what is counted is the server's own view of it. */
async function onEmptyTable<R>(work: (pool: Pool) => Promise<R>): Promise<R & { rows: number; mostOut: number }> {
  const pool = new Pool({ connectionString: postgres.url, max: CONNECTIONS });
  pool.on('error', () => undefined);
  let mostOut = 0;
  pool.on('acquire', () => (mostOut = Math.max(mostOut, pool.totalCount - pool.idleCount)));
  await pool.query(`DROP TABLE IF EXISTS answers; ${SCHEMA}`);
  const result = await work(pool);
  const { rows } = await pool.query<{ count: number }>('SELECT count(*)::int AS count FROM answers');
  await pool.end();
  return { ...result, rows: rows[0]?.count ?? 0, mostOut };
}

async function allAtOnce(pool: Pool): Promise<{ done: number; mostPlaces: number }> {
  const tokens = new TokenBucket({ name: 'gpt-5', tokensPerMinute: 600_000 });
  const http = new HttpGate({ capacity: PLACES });
  const answers = withDatabase(pgProvider({ name: 'answers', pool, maxConcurrent: CONNECTIONS }));
  const { admit, events$ } = createAdmission();
  let mostPlaces = 0;
  events$.subscribe(({ account, inUse }) => {
    if (account === 'http') mostPlaces = Math.max(mostPlaces, inUse);
  });
  const done = await lastValueFrom(
    from(calls).pipe(
      admit(
        answers.demand((call: ToolCall) => demand([tokens, call.tokens], http)),
        answers.project(async (call, client, grant) => {
          await write(client, call, await askModel(model.url, call, grant.signal));
          return call.id;
        }),
      ),
      toArray(),
    ),
    { defaultValue: [] },
  );
  return { done: done.length, mostPlaces };
}

console.log(`${calls.length} tool calls, ${CONNECTIONS} connections, ${PLACES} places at the model (${postgres.kind} Postgres)\n`);

const apart = await onEmptyTable((pool) => takeOneAfterAnother(pool, model.url, PLACES));
console.log(`one after another: ${apart.done} of ${calls.length} done, ${apart.rows} rows`);
const byState = new Map<string, number>();
for (const state of apart.stuck) byState.set(state, (byState.get(state) ?? 0) + 1);
for (const [state, count] of byState) console.log(`  ${String(count).padStart(2)} ${state}`);

const together = await onEmptyTable(allAtOnce);
console.log(`all at once:       ${together.done} of ${calls.length} done, ${together.rows} rows`);
console.log(`   at most ${together.mostOut} connections and ${together.mostPlaces} places in use`);

await model.stop();
await postgres.close();

const stalled = apart.stuck.length > 0 && apart.rows < calls.length;
const went = together.done === calls.length && together.rows === calls.length;
const within = together.mostOut <= CONNECTIONS && together.mostPlaces <= PLACES;
const kept = stalled && went && within;
console.log(kept ? '\nKept: one after another stood still; all at once ended, within every limit.' : '\nBroken.');
process.exitCode = kept ? 0 : 1;
