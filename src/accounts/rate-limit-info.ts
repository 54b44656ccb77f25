/** What a provider's answer says about its limits. */

/** Too many at once, too steep a ramp, or nobody said. */
export type RateLimitKind = 'CAPACITY' | 'ACCELERATION' | 'UNKNOWN';

export interface RateLimitFields {
  readonly model: string;
  readonly tokensLimit?: number | null;
  readonly tokensRemaining?: number | null;
  /** Instant at which the tokens are back. */
  readonly tokensReset?: Date | null;
  readonly requestsLimit?: number | null;
  readonly requestsRemaining?: number | null;
  /** Seconds. */
  readonly retryAfter?: number | null;
  readonly wasRateLimited: boolean;
  readonly type?: RateLimitKind | null;
}

/** 32 bits, as the providers' counters are. */
const MAX_INT = 2 ** 31 - 1;
/** What to wait, in seconds, after a limit that said nothing. */
const SILENT_RETRY_AFTER = 60;

/**
 * A reading of one answer's rate-limit headers; `null` is "not said".
 *
 * @example
 * ```ts
 * const info = RateLimitInfo.fromHeaders('gpt-5', parseIntOrNull(h.get('x-ratelimit-limit-tokens')), 400, null);
 * accounts.updateLimits(spec, info); // ignored unless both ceilings are known
 * ```
 */
export class RateLimitInfo {
  readonly model: string;
  readonly tokensLimit: number | null;
  readonly tokensRemaining: number | null;
  readonly tokensReset: Date | null;
  readonly requestsLimit: number | null;
  readonly requestsRemaining: number | null;
  readonly retryAfter: number | null;
  readonly wasRateLimited: boolean;
  readonly type: RateLimitKind;
  /** The wall-clock instant this record was made. */
  readonly capturedAt: Date;

  constructor(fields: RateLimitFields) {
    this.model = fields.model;
    this.tokensLimit = fields.tokensLimit ?? null;
    this.tokensRemaining = fields.tokensRemaining ?? null;
    this.tokensReset = fields.tokensReset ?? null;
    this.requestsLimit = fields.requestsLimit ?? null;
    this.requestsRemaining = fields.requestsRemaining ?? null;
    this.retryAfter = fields.retryAfter ?? null;
    this.wasRateLimited = fields.wasRateLimited;
    this.type = fields.type ?? 'UNKNOWN';
    this.capturedAt = new Date();
  }

  /** A limit that was hit, and nothing more known: nothing remains, try again in a minute. */
  static rateLimited(model: string): RateLimitInfo {
    return new RateLimitInfo({
      model,
      tokensRemaining: 0,
      requestsRemaining: 0,
      retryAfter: SILENT_RETRY_AFTER,
      wasRateLimited: true,
    });
  }

  /** The reading of an answer that met no limit. */
  static fromHeaders(
    model: string,
    tokensLimit: number | null,
    tokensRemaining: number | null,
    tokensReset: Date | null,
  ): RateLimitInfo {
    return new RateLimitInfo({
      model,
      tokensLimit,
      tokensRemaining,
      tokensReset,
      wasRateLimited: false,
      type: 'CAPACITY',
    });
  }

  /** The token ceiling; zero when it was not said. */
  get tokensPerMinute(): number {
    return this.tokensLimit ?? 0;
  }

  /** The request ceiling; zero when it was not said. */
  get requestsPerMinute(): number {
    return this.requestsLimit ?? 0;
  }
}

/** A whole decimal number of 32 bits, trimmed; null for anything else, as `parseInt` would not say. */
export function parseIntOrNull(text: string | null | undefined): number | null {
  const trimmed = text?.trim() ?? '';
  if (!/^[+-]?\d+$/.test(trimmed)) return null;
  const value = Number(trimmed);
  return value > MAX_INT || value < -MAX_INT - 1 ? null : value;
}
