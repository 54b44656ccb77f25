/** What is known of one provider: the headers it sends, and what its errors mean. */
import type { FailureKind } from '../failure.js';
import type { Meter } from '../rate-limits.js';

export type ProviderName =
  | 'openai'
  | 'azure'
  | 'anthropic'
  | 'gemini'
  | 'bedrock'
  | 'groq'
  | 'mistral'
  | 'together'
  | 'openrouter'
  | 'cerebras'
  | 'ietf';

export const SECOND = 1_000;
export const MINUTE = 60_000;
export const DAY = 86_400_000;
/** As Mistral's monthly allowance: nobody refills it by the clock. */
export const MONTH = 30 * DAY;

/** Headers that speak of one limit; names in lower case. */
export interface HeaderGroup {
  readonly meter: Meter;
  /** ms; null where the provider does not say. */
  readonly period: number | null;
  /** A longer period that hides under the same names, ms: told by how long a reset takes. */
  readonly orPeriod?: number;
  readonly limit?: string;
  readonly remaining?: string;
  readonly reset?: string;
  readonly grain?: number;
  readonly pool?: string;
}

/** All conditions that a rule names must hold. */
export interface FailureRule {
  readonly kind: FailureKind;
  /** What happened, in a few words. */
  readonly reason: string;
  /** Throttle increments; none unless given. */
  readonly weight?: number;
  /** One of these is among the error's types, codes, names and quota ids. */
  readonly words?: readonly string[];
  readonly status?: readonly number[];
  /** What the message, or one of the words, says. */
  readonly says?: RegExp;
  /** Only where the error is known to be this provider's. */
  readonly of?: ProviderName;
}

export interface Provider {
  readonly name: ProviderName;
  /** Headers that no other provider has. */
  readonly marks: readonly string[];
  readonly rateLimits: readonly HeaderGroup[];
  /** The header that names what a call was charged. */
  readonly cost?: string;
  readonly failures: readonly FailureRule[];
}

/** The three headers of OpenAI's naming, which many copied. */
export const openaiGroup = (meter: Meter, unit: string, period: number, pool?: string): HeaderGroup => ({
  meter,
  period,
  limit: `x-ratelimit-limit-${unit}`,
  remaining: `x-ratelimit-remaining-${unit}`,
  reset: `x-ratelimit-reset-${unit}`,
  ...(pool === undefined ? {} : { pool }),
});
