/** The transitions of the line, as admission tells them; no account emits for itself. */
import type { RefusalReason } from './errors.js';

/**
 * - `GRANTED_IMMEDIATE`: granted on an account that never refused the job.
 * - `HELD`: the job fell short of the account, once per account and wait.
 * - `GRANTED_FROM_HOLD`: granted on an account that had held the job.
 * - `REJECTED`: the job left ungranted, with a reason.
 * - `RELEASED`: the account got its amounts back, by release or rollback.
 */
export type AdmissionEventType = 'GRANTED_IMMEDIATE' | 'HELD' | 'GRANTED_FROM_HOLD' | 'REJECTED' | 'RELEASED';

/** One transition of one job on one account. */
export interface AdmissionEvent {
  readonly type: AdmissionEventType;
  /** Instant, ms on the admission's clock. */
  readonly at: number;
  /** The account's name. */
  readonly account: string;
  readonly category: string;
  readonly capacity: number;
  /** In use after the transition. */
  readonly inUse: number;
  /** Jobs held on the account after the transition: `HELD` counts its own, a grant or rejection does not. */
  readonly waiters: number;
  /** What was asked of the account; 1 on memory and on every `REJECTED`. */
  readonly amount: number;
  /** ms since the job was held on the account; 0 where it was not. */
  readonly wait: number;
  readonly reason: RefusalReason | null;
  /** The account's indicator: null when nominal. */
  readonly indicator: string | null;
  /** The label or snapshot given with the ask, whoever's act caused the transition. */
  readonly job: unknown;
}
