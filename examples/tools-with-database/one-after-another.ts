/** The tools as they are often written: each takes what it needs when it needs it, and holds what it has. */
import pLimit from 'p-limit';
import type { Pool, PoolClient } from 'pg';
import { askModel, calls, write, type ToolCall } from './tools.js';

export interface Outcome {
  readonly done: number;
  /** Who held what and waited for what when it stood still; empty where it never did. */
  readonly stuck: readonly string[];
}

/** Nothing that ended, for this long, and it stands still: a call takes a tenth of it. */
const STILL_MS = 1_500;

export async function takeOneAfterAnother(pool: Pool, baseUrl: string, places: number): Promise<Outcome> {
  const place = pLimit(places);
  const state = new Map<number, string>();
  const held = new Set<PoolClient>();
  const note = (call: ToolCall, what: string): void => void state.set(call.id, what);
  let done = 0;
  let over = false;
  let lastEnd = performance.now();

  const connect = async (): Promise<PoolClient> => {
    const client = await pool.connect();
    if (over) {
      client.release();
      throw new Error('the program was ended');
    }
    held.add(client);
    return client;
  };
  const inTransaction = async (client: PoolClient, work: () => Promise<void>): Promise<void> => {
    await client.query('BEGIN');
    await work();
    await client.query('COMMIT');
    held.delete(client);
    client.release();
  };

  // The connection first, and the place in the middle of the transaction.
  const answer = async (call: ToolCall): Promise<void> => {
    note(call, 'waits for a connection');
    const client = await connect();
    await inTransaction(client, async () => {
      note(call, 'holds a connection, waits for a place');
      await write(client, call, await place(() => askModel(baseUrl, call)));
    });
  };
  // The place first, and the connection while the model's answer is still held.
  const report = (call: ToolCall): Promise<void> => {
    note(call, 'waits for a place');
    return place(async () => {
      const text = await askModel(baseUrl, call);
      note(call, 'holds a place, waits for a connection');
      const client = await connect();
      await inTransaction(client, () => write(client, call, text));
    });
  };

  const all = calls.map(async (call) => {
    await (call.kind === 'answer' ? answer(call) : report(call));
    state.delete(call.id);
    done += 1;
    lastEnd = performance.now();
  });
  const ended = Promise.allSettled(all).then(() => true);
  const tick = (): Promise<false> => new Promise((resolve) => setTimeout(resolve, 50, false));
  while (!(await Promise.race([ended, tick()]))) {
    if (performance.now() - lastEnd < STILL_MS) continue;
    const stuck = [...state.values()];
    // Nothing but a restart gets such a program going: here its connections are destroyed, and its calls fail.
    over = true;
    place.clearQueue();
    for (const client of held) client.release(true);
    return { done, stuck };
  }
  return { done, stuck: [] };
}
