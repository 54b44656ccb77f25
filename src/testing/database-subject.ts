/** What the rules of the database contract work with: a provider over a real pool, and how to see what it does. */
import type { DatabaseHandle, DatabaseProvider } from '../database/index.js';
import { ContractViolation } from './account-subject.js';
import { show } from './show.js';

/** A real database behind a real pool, empty, with a provider that holds two of at least four connections. */
export interface DatabaseSubject<T> {
  readonly provider: DatabaseProvider<T>;
  /** Connections that are out of the pool now, as the pool itself counts them. */
  readonly out: () => number;
  /** Writes a row on the connection that work was given. */
  readonly write: (value: T, row: string) => PromiseLike<unknown>;
  /** Keeps the connection busy on the server for a minute: `SELECT pg_sleep(60)`. */
  readonly linger: (value: T) => PromiseLike<unknown>;
  /** The rows that another connection sees, one outside of the pool. */
  readonly rows: () => PromiseLike<readonly string[]>;
  /** Ends every connection of the pool from the server's side; not given where that cannot be done. */
  readonly killBackends?: (() => PromiseLike<unknown>) | undefined;
  /** The server itself; not given where it is not ours to stop. */
  readonly server?: { stop(): PromiseLike<unknown>; start(): PromiseLike<unknown> } | undefined;
  /** Takes all of it away. Called once, after the last answer. */
  readonly dispose: () => PromiseLike<unknown>;
}

/** Long enough for any server; only what never comes takes it. */
const PATIENCE_MS = 15_000;

/** Runs `work` as a job of the handle runs: where the connection is found, if it is found by its context. */
export const inside = <T, R>(handle: DatabaseHandle<T>, work: () => R): R => 
  handle.context ? handle.context.enter(work) : work();

export function holds(isSo: boolean, otherwise: string): asserts isSo {
  if (!isSo) throw new ContractViolation(otherwise);
}

/** Polls, since a server and its sockets answer when they do. */
export async function eventually(isSo: () => boolean | PromiseLike<boolean>, otherwise: () => string): Promise<void> {
  const until = Date.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (Date.now() > until) throw new ContractViolation(`${otherwise()}, after ${PATIENCE_MS / 1_000} s`);
    await pause(5);
  }
}

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** What `work` rejects with. */
export async function rejection(what: string, work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new ContractViolation(`${what} is not refused`);
}

/** Fails where the promise is still pending after the patience of this contract. */
export async function prompt<R>(what: string, work: PromiseLike<R>): Promise<R> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new ContractViolation(`${what} is still pending after ${PATIENCE_MS / 1_000} s`));
    }, PATIENCE_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

export async function rowsAre(subject: Pick<DatabaseSubject<unknown>, 'rows'>, expected: readonly string[], when: string): Promise<void> {
  const rows = [...(await subject.rows())].sort();
  holds(show(rows) === show([...expected].sort()), `${when}, others see ${show(rows)} and not ${show(expected)}`);
}

export function outIs({ out }: Pick<DatabaseSubject<unknown>, 'out'>, expected: number, when: string): void {
  const actual = out();
  holds(actual === expected, `${when}, ${actual} connections are out of the pool and not ${expected}`);
}
