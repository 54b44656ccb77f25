/** Additive increase, multiplicative decrease: up by a little as long as it goes well, down by a share under pressure. */
import type { Limit, LimitState } from './limit.js';
import { numbersOf } from './numbers.js';

export interface AimdOptions {
  /** What is left of the limit after pressure: 0.9 unless given; TCP keeps 0.5. */
  readonly backoff?: number | undefined;
  /** Permits added by a window that went well: 1 unless given. */
  readonly increase?: number | undefined;
  /** ms; a window that is slower in the mean is pressure as well. Latency says nothing unless given. */
  readonly maxLatency?: number | undefined;
}

/** 0.9 is that of Netflix concurrency-limits (`AIMDLimit`); RFC 5681 halves, which suits loss that is rare. */
const BACKOFF = 0.9;

/**
 * AIMD, as TCP avoids congestion (RFC 5681, 3.1), a window of samples in place of a round trip. It needs an upstream that
 * says no (an outcome of pressure) or a `maxLatency`: it goes up until it hears one.
 *
 * @throws RangeError when a number is out of bounds.
 *
 * @example
 * ```ts
 * const limit = aimd({ backoff: 0.7, maxLatency: 2_000 });
 * ```
 */
export function aimd(options: AimdOptions = {}): Limit {
  const numbers = numbersOf('aimd', options);
  const backoff = numbers.within('backoff', BACKOFF, 0, 1);
  const increase = numbers.above('increase', 1, 0);
  const maxLatency = numbers.above('maxLatency', Infinity, 0);
  const less = (limit: number): LimitState => ({ limit: Math.min(limit - 1, limit * backoff) });
  return {
    name: 'aimd',
    start: (limit) => ({ limit }),
    next: (state, sample) => {
      if (sample.kind === 'dropped' || sample.latency > maxLatency) return less(state.limit);
      return sample.isAppLimited ? state : { limit: state.limit + increase };
    },
  };
}
