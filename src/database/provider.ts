/** The contract of a database provider: what one held connection can be told, and what each verb promises. */
import type { DatabaseGate } from '../index.js';

/** How a connection is wanted. */
export interface AcquireOptions {
  /** Nothing will be written: the connection refuses writes until it is closed. A hint never outlives its handle. */
  readonly readOnly?: boolean | undefined;
  /** Aborted: `acquire` rejects with a `CancelledError`, once nothing is left out. */
  readonly signal?: AbortSignal | undefined;
}

/** One held connection, opaque. It belongs to the provider that made it, and to nobody else. */
export interface DatabaseHandle<T = unknown> {
  /**
   * What work uses: a client, a session, a query builder.
   *
   * @throws Error once the handle has been closed or aborted: the connection may be somebody else's by now.
   */
  unwrap(): T;
  /** Set where code that was written against the host's own pool finds this connection by its context. */
  readonly context?: DatabaseContext | undefined;
}

/** Where code finds a connection without being handed one. */
export interface DatabaseContext {
  /** Runs `work`, and what it starts, where the connection is found. */
  enter<R>(work: () => R): R;
  /** Runs `work` where it is not: in the context from before. */
  leave<R>(work: () => R): R;
}

/**
 * A database as admission sees it: a bound that is an account, and connections that are held under its permits.
 *
 * `acquire`, any number of `begin`, `commit` and `awaitCompletion`, then `close`; or `abort` and then `close`.
 * Every verb rejects with a `TypeError` (`abort` throws it) for a handle of another provider instance.
 *
 * Write your own on {@link HoldingProvider}, and prove it with `databaseProviderContract` of `rx-admission/testing`.
 */
export interface DatabaseProvider<T = unknown> {
  readonly name: string;
  /** The bound, `db:<name>`: one permit is one held connection. The permit is admission's, never the provider's. */
  readonly admission: DatabaseGate;
  /**
   * A connection, under a permit that is held already. It never waits for a permit.
   *
   * @throws RefusedError when none can be opened, with the failure as cause.
   */
  acquire(options?: AcquireOptions): Promise<DatabaseHandle<T>>;
  /** Opens a transaction: auto-commit is off until its end. A second one in it is an `Error`. */
  begin(handle: DatabaseHandle<T>): Promise<void>;
  /**
   * Commits; nothing without a transaction. Rejects with the driver's own error, and on a handle that was aborted or
   * closed: whoever commits must hear that nothing was.
   */
  commit(handle: DatabaseHandle<T>): Promise<void>;
  /** Settles once other connections see the commit, or once there is none to wait for: rolled back, closed, aborted. */
  awaitCompletion(handle: DatabaseHandle<T>): Promise<void>;
  /** Rolls back; nothing without a transaction, or where the connection was severed and the server did it. Idempotent. */
  rollback(handle: DatabaseHandle<T>): Promise<void>;
  /**
   * Rolls back what is open, leaves the connection as the pool gave it, and hands it back, even where that fails.
   * Idempotent. Ends a pending `awaitCompletion`.
   *
   * @throws RefusedError afterwards, when the connection could not be handed back whole. The pool is whole anyway.
   */
  close(handle: DatabaseHandle<T>): Promise<void>;
  /** Severs the connection, now, waiting for nothing; what runs on it fails. Idempotent. Only `close` is left to do. */
  abort(handle: DatabaseHandle<T>): void;
}
