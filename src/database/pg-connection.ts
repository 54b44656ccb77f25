/** One client of a `pg` pool as a held connection. */
import type { Condition, HeldConnection } from './held-connection.js';
import { severPg } from './pg-cancel.js';
import type { PgClient, PgInternals } from './pg-types.js';

/** The session's own default, which holds outside of transactions too. */
const READ_ONLY = 'default_transaction_read_only';

export class PgConnection<T> implements HeldConnection<T> {
  severed = false;
  /** What the pool gave the setting as; null where it was left alone. */
  #readOnlyBefore: string | null = null;
  #cancelled: Promise<void> | null = null;
  readonly #severed = (): void => {
    this.severed = true;
  };

  constructor(
    readonly client: PgClient,
    readonly value: T,
  ) {
    // A client that is out has no listener of its pool's, and an `error` that nobody hears ends the process.
    client.on('error', this.#severed);
    client.on('end', this.#severed);
  }

  /** Refuses writes from now on. */
  async refuseWrites(): Promise<void> {
    const [before] = (await this.client.query(`SHOW ${READ_ONLY}; SET ${READ_ONLY} = on`)) as Shown[];
    this.#readOnlyBefore = before?.rows[0]?.[READ_ONLY] ?? 'off';
  }

  begin(): PromiseLike<unknown> {
    return this.client.query('BEGIN');
  }

  async commit(): Promise<void> {
    const { command } = (await this.client.query('COMMIT')) as { readonly command?: string };
    // The server answers so, and without an error, where a statement of the transaction has failed.
    if (command === 'ROLLBACK') {
      throw new Error('nothing was committed: a statement of this transaction had failed, so the server rolled it back');
    }
  }

  rollback(): PromiseLike<unknown> {
    return this.client.query('ROLLBACK');
  }

  async restore(): Promise<void> {
    const client = this.client as PgInternals;
    const isIdle = client.readyForQuery === true && client.getTransactionStatus?.() === 'I';
    const statements: string[] = [];
    if (!isIdle) statements.push('ROLLBACK');
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
    client.release(condition === 'broken');
    client.removeListener('error', this.#severed);
    client.removeListener('end', this.#severed);
  }
}

interface Shown {
  readonly rows: readonly Readonly<Record<string, string>>[];
}
