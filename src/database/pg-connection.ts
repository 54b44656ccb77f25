/** One client of a `pg` pool as a held connection. */
import type { Condition, HeldConnection } from './held-connection.js';
import { severPg } from './pg-cancel.js';
import type { PgClient, PgInternals, PgPool, PgSession } from './pg-types.js';

/** The session's own default, which holds outside of transactions too. */
const READ_ONLY = 'default_transaction_read_only';

export class PgConnection<T> implements HeldConnection<T> {
  severed = false;
  /** What the pool gave the setting as; null where it was left alone. */
  #readOnlyBefore: string | null = null;
  #cancelled: Promise<void> | null = null;
  readonly #hand: (condition: Condition) => void;
  readonly #severed = (): void => {
    this.severed = true;
  };

  /** @param release hands it back to its pool, which destroys what is broken */
  constructor(
    readonly client: PgSession,
    readonly value: T,
    release: (condition: Condition) => void,
  ) {
    this.#hand = release;
    // A client that is out has no listener of its pool's, and an `error` that nobody hears ends the process.
    client.on('error', this.#severed);
    client.on('end', this.#severed);
  }

  /** Refuses writes from now on; where that cannot be, the connection is destroyed. */
  async refuseWrites(): Promise<void> {
    try {
      const [before] = (await this.client.query(`SHOW ${READ_ONLY}; SET ${READ_ONLY} = on`)) as Shown[];
      this.#readOnlyBefore = before?.rows[0]?.[READ_ONLY] ?? 'off';
    } catch (error) {
      this.#release('broken');
      throw error;
    }
  }

  /** `I`dle, in a `T`ransaction, or in one that has failed (`E`); null while a statement runs, and where `pg` cannot tell. */
  protected get status(): string | null {
    const client = this.client as PgInternals;
    return client.readyForQuery === true ? (client.getTransactionStatus?.() ?? null) : null;
  }

  begin(): PromiseLike<unknown> {
    return this.client.query('BEGIN');
  }

  async commit(): Promise<void> {
    const { command } = (await this.client.query('COMMIT')) as { readonly command?: string };
    // The server answers so, and without an error, where a statement of the transaction has failed.
    if (command === 'ROLLBACK') throw nothingCommitted();
  }

  rollback(): PromiseLike<unknown> {
    return this.client.query('ROLLBACK');
  }

  async restore(): Promise<void> {
    const statements: string[] = [];
    if (this.status !== 'I') statements.push('ROLLBACK');
    if (this.#readOnlyBefore !== null) statements.push(`SET ${READ_ONLY} = ${this.#readOnlyBefore}`);
    if (statements.length > 0) await this.client.query(statements.join('; '));
  }

  sever(): void {
    this.#cancelled = severPg(this.client);
  }

  giveBack(condition: Condition): PromiseLike<unknown> | undefined {
    if (this.#cancelled === null) {
      this.#release(condition);
      return undefined;
    }
    // Not before the server knows: its process counts against its own limit until then.
    return this.#cancelled.then(() => {
      this.#release('broken');
    });
  }

  #release(condition: Condition): void {
    const { client } = this;
    // First the pool's listener, then ours away: an error in between is never unheard.
    this.#hand(condition);
    client.removeListener('error', this.#severed);
    client.removeListener('end', this.#severed);
  }
}

/**
 * A connection of the pool, held in the very call that hands its client out: by the time a promise told, the server may
 * have ended it, and an `error` that nobody hears ends the process. What cannot be held is destroyed.
 */
export async function openedOf<C extends PgConnection<unknown>>(
  pool: PgPool,
  { readOnly }: { readonly readOnly: boolean },
  hold: (client: PgClient) => C,
): Promise<C> {
  const connection = await new Promise<C>((resolve, reject) => {
    const hand = (client: PgClient): void => {
      try {
        resolve(hold(client));
      } catch (defect) {
        client.release(true);
        reject(defect);
      }
    };
    const promised = pool.connect((error, client) => {
      if (client) hand(client);
      else reject(error ?? new Error('the pool handed out no client'));
    }) as Promise<PgClient | undefined> | undefined;
    promised?.then((client) => {
      if (client) hand(client);
    }, reject);
  });
  if (readOnly) await connection.refuseWrites();
  return connection;
}

export const nothingCommitted = (): Error =>
  new Error('nothing was committed: a statement of this transaction had failed, so the server rolled it back');

interface Shown {
  readonly rows: readonly Readonly<Record<string, string>>[];
}
