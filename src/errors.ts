/** Every way an ask can end without a grant, as errors that name the reason, the account and the remedy. */

/** Why an ask ended without a grant; the same word stands in the `REJECTED` events. */
export type RefusalReason = 'circuit_blocked' | 'aborted' | 'cancelled' | 'shutdown' | 'timeout' | 'overflow';

export interface AdmissionErrorOptions {
  readonly reason: RefusalReason;
  /** Name of the account the error is about, where it is about one. */
  readonly account?: string | undefined;
  /** Instant (ms on the admission's clock) at which the same ask could succeed, where one is known. */
  readonly retryAt?: number | undefined;
  readonly cause?: unknown;
}

/**
 * The base of every error that admission itself raises. Errors of your own streams pass unchanged.
 *
 * @example
 * ```ts
 * catchError((error) => (error instanceof AdmissionError ? of(`not now: ${error.reason}`) : throwError(() => error)));
 * ```
 */
export class AdmissionError extends Error {
  override name = 'AdmissionError';
  readonly reason: RefusalReason;
  declare readonly account?: string;
  declare readonly retryAt?: number;

  constructor(message: string, options: AdmissionErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.reason = options.reason;
    if (options.account !== undefined) this.account = options.account;
    if (options.retryAt !== undefined) this.retryAt = options.retryAt;
  }
}

/**
 * An account said no: for good (the demand can never fit) or for now (a circuit is open).
 *
 * The message is written for a language model to read. `readable` is false where the cause is a bug in an account
 * (`reason` is then `aborted`), so that nobody shows a stack trace to a model.
 */
export class RefusedError extends AdmissionError {
  override name = 'RefusedError';
  readonly readable: boolean;

  constructor(message: string, options: Partial<AdmissionErrorOptions> = {}) {
    super(message, { reason: 'circuit_blocked', ...options });
    this.readable = this.reason !== 'aborted';
  }
}

/** The job that asks holds the same account already, and could wait for itself: the admission's `nested` is `refuse`. */
export class NestedAskError extends RefusedError {
  override name = 'NestedAskError';
}

/** The ask was cancelled through its `AbortSignal`; `cause` is the signal's reason, `name` is `AbortError`. */
export class CancelledError extends AdmissionError {
  override name = 'AbortError';

  constructor(message = 'the ask was cancelled', options: Partial<AdmissionErrorOptions> = {}) {
    super(message, { reason: 'cancelled', ...options });
  }
}

/** Admission has stopped or is draining: parked and later asks end with this; admitted work is never cut. */
export class StoppedError extends CancelledError {
  constructor(cause?: unknown) {
    super('admission has been stopped (shutdown): nothing new is admitted', { reason: 'shutdown', cause });
  }
}

/** The wait passed the ask's `maxWait` or `deadline`. Nothing was charged. */
export class WaitTimeoutError extends AdmissionError {
  override name = 'WaitTimeoutError';

  constructor(message: string, options: Partial<AdmissionErrorOptions> = {}) {
    super(message, { reason: 'timeout', ...options });
  }
}

/** The line was full (`maxWaiters` of the admission, or of `account`) and the overflow policy chose this ask. */
export class QueueFullError extends AdmissionError {
  override name = 'QueueFullError';

  constructor(maxWaiters: number, account?: string) {
    const [whose, its] = account === undefined ? ['', ''] : [` for ${account}`, 'its '];
    super(`the line${whose} is full: ${String(maxWaiters)} may wait; ask later, or raise ${its}maxWaiters`, { reason: 'overflow', account });
  }
}
