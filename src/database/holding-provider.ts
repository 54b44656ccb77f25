/** A provider that holds one connection for each permit, from acquire to close: the contract over any driver. */
import { CancelledError, DatabaseGate, RefusedError, type Log } from '../index.js';
import { DeferredEnd } from './deferred-end.js';
import { Handle } from './handle.js';
import type { HeldConnection } from './held-connection.js';
import type { AcquireOptions, DatabaseHandle, DatabaseProvider } from './provider.js';

export interface ProviderOptions {
  /** The database's name: its account is `db:<name>`. */
  readonly name: string;
  /** How many connections may be held at once, a positive whole number. The pool's size is the host's; none is inferred. */
  readonly maxConcurrent: number;
}

export interface HoldingProviderOptions extends ProviderOptions {
  /** Hears of connections that could not be handed back whole; the console unless given. */
  readonly log?: Pick<Log, 'warn'> | undefined;
}

/**
 * The base of providers: it knows every rule of the contract, and what extends it knows one driver.
 *
 * @throws RangeError when `maxConcurrent` is not a positive whole number.
 *
 * @example
 * ```ts
 * class SqliteProvider extends HoldingProvider<Database> {
 *   protected async open({ readOnly }: { readOnly: boolean }): Promise<HeldConnection<Database>> {
 *     return new SqliteConnection(await this.pool.acquire(), readOnly);
 *   }
 * }
 * ```
 */
export abstract class HoldingProvider<T> implements DatabaseProvider<T> {
  readonly name: string;
  readonly admission: DatabaseGate;
  readonly #log: Pick<Log, 'warn'>;

  constructor({ name, maxConcurrent, log = console }: HoldingProviderOptions) {
    this.name = name;
    this.admission = new DatabaseGate({ name, capacity: maxConcurrent });
    this.#log = log;
  }

  /** Checks a connection out. When it fails, nothing may be left out. */
  protected abstract open(options: { readonly readOnly: boolean }): PromiseLike<HeldConnection<T>>;

  async acquire({ readOnly = false, signal }: AcquireOptions = {}): Promise<DatabaseHandle<T>> {
    this.#assertWanted(signal);
    let connection: HeldConnection<T>;
    try {
      connection = await this.open({ readOnly });
    } catch (cause) {
      throw this.#refusal('no connection could be opened', cause);
    }
    const handle = new Handle(this, this.admission.name, connection);
    if (signal?.aborted) {
      // No pool can be told to stop connecting: what comes too late goes back, and only then the caller is told.
      await this.close(handle).catch(() => undefined);
      this.#assertWanted(signal);
    }
    return handle;
  }

  async begin(given: DatabaseHandle<T>): Promise<void> {
    const handle = this.#own(given);
    handle.assertUsable();
    if (handle.transaction) {
      throw new Error(`${this.admission.name}: a transaction is open already; commit it or roll it back first`);
    }
    await handle.answered(() => handle.connection.begin());
    handle.transaction = new DeferredEnd();
  }

  async commit(given: DatabaseHandle<T>): Promise<void> {
    const handle = this.#own(given);
    handle.assertUsable();
    if (handle.transaction === null) return;
    // One that fails stays open here: nobody knows what the server has left of it, and a rollback is harmless.
    await handle.answered(() => handle.connection.commit());
    handle.endTransaction();
  }

  async awaitCompletion(given: DatabaseHandle<T>): Promise<void> {
    await this.#own(given).transaction?.promise;
  }

  async rollback(given: DatabaseHandle<T>): Promise<void> {
    const handle = this.#own(given);
    if (handle.transaction === null || handle.aborted || handle.closing) return;
    try {
      await handle.answered(() => handle.connection.rollback());
      handle.endTransaction();
    } catch (error) {
      if (!handle.connection.severed) throw error;
      handle.endTransaction();
    }
  }

  async close(given: DatabaseHandle<T>): Promise<void> {
    const handle = this.#own(given);
    handle.closing ??= this.#close(handle);
    await handle.closing;
  }

  abort(given: DatabaseHandle<T>): void {
    const handle = this.#own(given);
    if (handle.aborted || handle.returned) return;
    handle.aborted = true;
    handle.connection.sever();
    handle.severing.end();
    handle.endTransaction();
  }

  async #close(handle: Handle<T>): Promise<void> {
    const { connection } = handle;
    const hasTransaction = handle.transaction !== null;
    handle.endTransaction();
    const failures: unknown[] = [];
    const attempt = async (step: () => PromiseLike<unknown> | undefined): Promise<void> => {
      try {
        await step();
      } catch (error) {
        failures.push(error);
      }
    };
    if (hasTransaction && isWhole(handle)) await attempt(() => handle.answered(() => connection.rollback()));
    if (isWhole(handle) && failures.length === 0) await attempt(() => handle.answered(() => connection.restore()));
    const whole = isWhole(handle) && failures.length === 0;
    // What failed because it was severed lost nothing: the server has rolled back.
    if (!isWhole(handle)) failures.length = 0;
    handle.returned = true;
    await attempt(() => connection.giveBack(whole ? 'whole' : 'broken'));
    if (failures.length === 0) return;
    const refusal = this.#refusal('a connection could not be handed back whole, and was destroyed', failures[0]);
    this.#log.warn(refusal.message);
    throw refusal;
  }

  #own(handle: DatabaseHandle<T>): Handle<T> {
    if (handle instanceof Handle && handle.owner === this) return handle as Handle<T>;
    const what = handle instanceof Handle ? `a handle of another provider (${handle.name})` : 'no handle of a provider';
    throw new TypeError(`${this.admission.name}: this is ${what}; give it to the provider that it was acquired from`);
  }

  #assertWanted(signal: AbortSignal | undefined): void {
    if (!signal?.aborted) return;
    throw new CancelledError(`${this.admission.name}: the connection is not wanted any more`, { cause: signal.reason });
  }

  #refusal(what: string, cause: unknown): RefusedError {
    const why = cause instanceof Error ? cause.message : String(cause);
    return new RefusedError(`${this.admission.name}: ${what}: ${why}`, { account: this.admission.name, cause });
  }
}

const isWhole = ({ aborted, connection }: Handle<unknown>): boolean => !aborted && !connection.severed;
