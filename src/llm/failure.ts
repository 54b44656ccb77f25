/** A failure of an upstream with what to do about it. */
import { UpstreamFailure, type UpstreamFailureFields } from '../index.js';
import type { ProviderName } from './providers/provider.js';

/**
 * - `wait`: our quota. Slower from now on, and again from `retryAt` where it is known.
 * - `capacity`: their trouble. Fewer at once; the quota has nothing to do with it.
 * - `transient`: a server's error or the network's. Says nothing about load; worth another attempt.
 * - `stop`: the same call never succeeds, or not before a `retryAt` that is too far away.
 * - `unrelated`: not the upstream's: an abort, a refusal of our own, a bug.
 */
export type FailureKind = 'wait' | 'capacity' | 'transient' | 'stop' | 'unrelated';

export interface ClassifiedFields extends UpstreamFailureFields {
  readonly kind: FailureKind;
  readonly reason: string;
  readonly retryAt?: number | null;
  readonly provider?: ProviderName | null;
}

/** An `UpstreamFailure` that says what to do: it goes into an outcome of pressure as it is. */
export class ClassifiedFailure extends UpstreamFailure {
  readonly kind: FailureKind;
  /** What happened, in a few words, such as `spend limit` or `overloaded`. */
  readonly reason: string;
  /** The instant, on the clock given to `classifyFailure`, that the server named; null where it named none. */
  readonly retryAt: number | null;
  /** Whose answer it is; null where that is not known. */
  readonly provider: ProviderName | null;

  constructor(fields: ClassifiedFields) {
    super(fields);
    this.kind = fields.kind;
    this.reason = fields.reason;
    this.retryAt = fields.retryAt ?? null;
    this.provider = fields.provider ?? null;
  }
}
