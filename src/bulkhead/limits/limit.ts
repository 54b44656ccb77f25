/** The contract of a limit algorithm: what it knows, what it is told of a window, and what it then knows. */

/** What an algorithm knows: an immutable record, with the limit in it. */
export interface LimitState {
  /** Permits. It need not be whole, and need not keep to the bounds: the gate holds it between `min` and `max`. */
  readonly limit: number;
  /** Fewer permits, while something is measured that load would hide; undefined as a rule. */
  readonly hold?: number | undefined;
}

/** A window of jobs that were all granted under the present limit, and ended well. */
export interface LatencySample {
  readonly kind: 'latency';
  /** Their mean, ms; above zero. */
  readonly latency: number;
  /** How many they were. */
  readonly count: number;
  /** The most permits that were out when one of them was measured. */
  readonly inFlight: number;
  /** Fewer than half of the permits were ever out: what ended says nothing of a higher limit. */
  readonly isAppLimited: boolean;
}

/** A job that was granted under the present limit, and came to grief by pressure. */
export interface DroppedSample {
  readonly kind: 'dropped';
  readonly inFlight: number;
}

export type LimitSample = LatencySample | DroppedSample;

/**
 * A limit algorithm. Both functions are pure: no clock, no randomness, no state elsewhere.
 *
 * What the gate sees to, so that no algorithm has to: the bounds, whole permits, that an app-limited window raises nothing,
 * and that one which throws or answers no number is set aside for the static limit.
 *
 * @example Half under pressure, a tenth more otherwise
 * ```ts
 * const tenths: Limit = {
 *   name: 'tenths',
 *   start: (limit) => ({ limit }),
 *   next: ({ limit }, sample) => ({ limit: limit * (sample.kind === 'dropped' ? 0.5 : 1.1) }),
 * };
 * ```
 */
export interface Limit<S extends LimitState = LimitState> {
  readonly name: string;
  /** What it knows when it knows nothing but a limit. */
  start(limit: number): S;
  next(state: S, sample: LimitSample): S;
}
