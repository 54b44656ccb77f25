/** The connection of a running job, as the code of the host meets it in place of a client of its pool. */
import type { PgClient } from './pg-types.js';

/** A transaction of its own that the host's code begins, commits or rolls back. */
const CONTROL = /^\s*(begin|start\s+transaction|commit|end|rollback)(?:\s+(?:work|transaction))?\s*(.*?)[\s;]*$/is;

const SAVEPOINT = 'rx_admission';

/** What a client of the host's pool answers to. */
type Query = (...args: readonly unknown[]) => unknown;

export class JobClient {
  /** The client, except that a release keeps it and transactions nest. */
  readonly client: PgClient;
  /** The provider has a transaction open around the job. */
  inTransaction = false;
  hasEnded = false;
  readonly #account: string;
  #depth = 0;

  constructor(client: PgClient, account: string) {
    this.#account = account;
    const query: Query = (...args) => this.#query(client, args);
    // It is out for the whole of the job: whoever gives it back keeps it.
    const release = (): void => undefined;
    this.client = overlaid(client, { query, release });
  }

  /** @throws Error once the job has ended: elsewhere its code would write outside of the job's transaction. */
  assertRuns(): void {
    if (!this.hasEnded) return;
    throw new Error(
      `${this.#account}: the job that this code was started by has ended, and its connection is gone; ` +
        'wait for all of it inside the job, or use the pool itself',
    );
  }

  #query(client: PgClient, args: readonly unknown[]): unknown {
    try {
      this.assertRuns();
      return (client.query as Query).apply(client, [...this.#nested(args)]);
    } catch (error) {
      const callback = args.at(-1);
      if (typeof callback !== 'function') return Promise.reject(error);
      queueMicrotask(() => {
        (callback as (failure: unknown) => void)(error);
      });
      return undefined;
    }
  }

  /** A transaction inside the job's is a savepoint: its commit is the job's to make. */
  #nested(args: readonly unknown[]): readonly unknown[] {
    const [first, ...rest] = args;
    const text = textOf(first);
    const control = this.inTransaction && text !== null ? CONTROL.exec(text) : null;
    if (control === null) return args;
    const statement = this.#savepoint(control[1]?.toLowerCase() ?? '', control[2] ?? '');
    if (statement === null) return args;
    return [typeof first === 'string' ? statement : { ...(first as object), text: statement }, ...rest];
  }

  #savepoint(verb: string, rest: string): string | null {
    if (verb.startsWith('begin') || verb.startsWith('start')) {
      if (rest !== '') throw this.#misuse(`a transaction inside the job's cannot have modes of its own (${rest})`);
      this.#depth += 1;
      return `SAVEPOINT ${SAVEPOINT}_${this.#depth}`;
    }
    // ROLLBACK TO SAVEPOINT, COMMIT PREPARED and the like: the host's own business.
    if (rest !== '') return null;
    if (this.#depth === 0) throw this.#misuse('the transaction is the job’s, which ends it when its work has ended');
    const name = `${SAVEPOINT}_${this.#depth}`;
    this.#depth -= 1;
    return verb === 'rollback' ? `ROLLBACK TO SAVEPOINT ${name}` : `RELEASE SAVEPOINT ${name}`;
  }

  #misuse(what: string): Error {
    return new Error(`${this.#account}: ${what}`);
  }
}

/** The text of what `pg` takes as a query; null for what brings its own, such as a cursor. */
function textOf(query: unknown): string | null {
  const text = typeof query === 'object' && query !== null ? (query as { readonly text?: unknown }).text : query;
  const submits = typeof query === 'object' && query !== null && 'submit' in query;
  return typeof text === 'string' && !submits ? text : null;
}

/** `target`, with some members of its own; the others see the target as `this`. */
export function overlaid<T extends object>(target: T, members: Readonly<Record<string, Query>>): T {
  return new Proxy(target, {
    get: (_target, key) => {
      const member = typeof key === 'string' && Object.hasOwn(members, key) ? members[key] : undefined;
      if (member !== undefined) return member;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' && key !== 'constructor' ? (value.bind(target) as unknown) : value;
    },
    set: (_target, key, value) => Reflect.set(target, key, value, target),
  });
}
