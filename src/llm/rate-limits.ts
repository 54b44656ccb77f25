/** What one answer says about the provider's limits. */
import type { ProviderName } from './providers/provider.js';

/** What a limit counts. */
export type Meter = 'requests' | 'tokens' | 'input-tokens' | 'output-tokens';

/** One limit of a provider; `null` is "not said". */
export interface RateLimit {
  readonly meter: Meter;
  /** Length of the period it counts in, ms. */
  readonly period: number | null;
  readonly limit: number | null;
  readonly remaining: number | null;
  /** ms from the answer until it is *full* again, which is not when one unit is free. */
  readonly resetIn: number | null;
  /** `remaining` is rounded to a multiple of this (Anthropic: 1,000 tokens); 1 where it is exact. */
  readonly grain: number;
  /** A pool beside the ordinary one, such as `priority` or `project`; null for the ordinary one. */
  readonly pool: string | null;
}

export interface RateLimitsRead {
  /** Whose headers these are; null where nobody's were recognised. */
  readonly provider: ProviderName | null;
  readonly limits: readonly RateLimit[];
  /** ms that the server asks to wait; null where it does not. */
  readonly retryAfter: number | null;
  /** What the provider charged this call, in tokens, where it says so (Mistral). */
  readonly cost: number | null;
}
