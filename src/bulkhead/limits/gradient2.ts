/** Gradient: the limit follows how the latency of now stands to that of a long time. */
import type { Limit } from './limit.js';
import { numbersOf } from './numbers.js';
import { interrupted, probe, unprobed, type Probing } from './probe.js';

export interface Gradient2Options {
  /** How many times slower than in the long run is still no queueing; 1.5 unless given. */
  readonly tolerance?: number | undefined;
  /** Permits that it may always add: the queue it allows; 4 unless given. */
  readonly queueSize?: number | undefined;
  /** Share of each new value that is taken over; 0.2 unless given. */
  readonly smoothing?: number | undefined;
  /** Windows in the long average; 600 unless given. */
  readonly longWindow?: number | undefined;
  /** Latency windows between two measurements without load; 60 unless given, Infinity for the first one only. */
  readonly probeEvery?: number | undefined;
}

interface GradientState extends Probing {
  /** ms; null before the first window. */
  readonly long: number | null;
}

/** Those of `Gradient2Limit` in Netflix concurrency-limits; the probe is ours, a minute of windows of a second. */
const DEFAULTS = { tolerance: 1.5, queueSize: 4, smoothing: 0.2, longWindow: 600, probeEvery: 60 } as const;

/** The gradient is never lower: a window halves the limit at most, before smoothing. Of the same class. */
const LEAST_GRADIENT = 0.5;

/** Latency fell to less than half of the long average: that is no load any more, and it follows by a tenth a window. */
const FALLEN = 2;
const FALLS_BY = 0.9;

/**
 * `Gradient2Limit` of Netflix concurrency-limits: `limit × gradient + queueSize`, smoothed, where the gradient is
 * `tolerance × long / latency` between 0.5 and 1. What differs is in docs/bulkheads.md.
 *
 * @throws RangeError when a number is out of bounds.
 *
 * @example
 * ```ts
 * const gate = adaptiveGate({ name: 'search', limit: gradient2({ tolerance: 1.2 }), min: 4, max: 200, initial: 20 });
 * ```
 */
export function gradient2(options: Gradient2Options = {}): Limit {
  const numbers = numbersOf('gradient2', options);
  const tolerance = numbers.from('tolerance', DEFAULTS.tolerance, 1);
  const queueSize = numbers.above('queueSize', DEFAULTS.queueSize, 0);
  const smoothing = numbers.within('smoothing', DEFAULTS.smoothing, 0, 1);
  const share = 2 / (1 + numbers.from('longWindow', DEFAULTS.longWindow, 1));
  const every = numbers.above('probeEvery', DEFAULTS.probeEvery, 1);
  const towards = (limit: number, gradient: number, queue: number): number =>
    limit * (1 - smoothing) + (limit * gradient + queue) * smoothing;
  const limit: Limit<GradientState> = {
    name: 'gradient2',
    start: (initial) => ({ ...unprobed, limit: initial, long: null, windows: Infinity }),
    next: (state, sample) => {
      if (sample.kind === 'dropped') return { ...interrupted(state), limit: towards(state.limit, LEAST_GRADIENT, 0) };
      const { latency } = sample;
      const averaged = state.long === null ? latency : state.long + (latency - state.long) * share;
      const long = averaged > FALLEN * latency ? averaged * FALLS_BY : averaged;
      if (sample.isAppLimited) return { ...interrupted(state), long };
      const probed = probe(state, latency, every);
      if (probed.measured !== null) return { ...probed.state, long: probed.measured };
      // What a probe measures is not what the load makes of it.
      if (state.hold !== undefined) return probed.state;
      if (state.long === null) return { ...probed.state, long };
      const gradient = Math.max(LEAST_GRADIENT, Math.min(1, (tolerance * long) / latency));
      return { ...probed.state, long, limit: towards(state.limit, gradient, queueSize) };
    },
  };
  return limit;
}
