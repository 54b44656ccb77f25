/** What a driver has to offer so that one of its connections can be held: the port under every holding provider. */
import type { DatabaseContext } from './provider.js';

/** In which state a connection goes back: whole, to be used by others, or broken, to be destroyed. */
export type Condition = 'whole' | 'broken';

/**
 * One connection, checked out of the host's pool. It keeps no state of the contract: {@link HoldingProvider} does, and
 * calls each verb only when it is due.
 */
export interface HeldConnection<T> {
  /** What work uses. */
  readonly value: T;
  /** The server or the network ended it: whatever was open on it is rolled back already. */
  readonly severed: boolean;
  begin(): PromiseLike<unknown>;
  /** Resolves once other connections see it. */
  commit(): PromiseLike<unknown>;
  rollback(): PromiseLike<unknown>;
  /** Leaves it as the pool gave it: no transaction that work left half-open, no hint. */
  restore(): PromiseLike<unknown>;
  /** Ends it from this side, now. Never throws; what runs on it fails. */
  sever(): void;
  /** Back to the pool. Called once, and after it nothing. */
  giveBack(condition: Condition): PromiseLike<unknown> | undefined;
  /** Set where code finds the connection by its context. */
  readonly context?: DatabaseContext | undefined;
}
