/** Vegas: the limit that keeps a short queue at what it protects, told by how much slower it is than without load. */
import type { Limit } from './limit.js';
import { numbersOf } from './numbers.js';
import { interrupted, probe, unprobed, type Probing } from './probe.js';

export interface VegasOptions {
  /** Jobs in the queue below which the limit goes up: 3 for each digit of the limit after the first, at least 3, unless given. */
  readonly alpha?: number | undefined;
  /** Jobs in the queue above which it goes down; twice alpha unless given. */
  readonly beta?: number | undefined;
  /** Latency windows between two measurements without load; 60 unless given, Infinity for the first one only. */
  readonly probeEvery?: number | undefined;
}

interface VegasState extends Probing {
  /** ms; null before the first window. */
  readonly noLoad: number | null;
}

/** A minute of windows of a second: some three of them then run at a half or less of the limit. */
const PROBE_EVERY = 60;

/** Of `VegasLimit` in Netflix concurrency-limits: steps and queues grow with the decades of the limit. */
const decades = (limit: number): number => Math.max(1, Math.floor(Math.log10(limit)));
const ALPHA = 3;

/**
 * TCP Vegas (Brakmo and Peterson, 1995) as Netflix concurrency-limits has it: `queue = limit × (1 − noLoad / latency)`, up
 * while that is below alpha, down above beta. What differs is in docs/bulkheads.md.
 *
 * @throws RangeError when a number is out of bounds.
 *
 * @example
 * ```ts
 * const gate = adaptiveGate({ name: 'search', limit: vegas(), min: 4, max: 200, initial: 20 });
 * ```
 */
export function vegas(options: VegasOptions = {}): Limit {
  const numbers = numbersOf('vegas', options);
  const fixedAlpha = numbers.aboveOrNull('alpha', 0);
  const fixedBeta = numbers.aboveOrNull('beta', fixedAlpha ?? 0);
  const every = numbers.above('probeEvery', PROBE_EVERY, 1);
  const limit: Limit<VegasState> = {
    name: 'vegas',
    // The first probe comes after one window, since the limit it starts with may be far too high.
    start: (initial) => ({ ...unprobed, limit: initial, noLoad: null, windows: Infinity }),
    next: (state, sample) => {
      const step = decades(state.limit);
      if (sample.kind === 'dropped') return { ...interrupted(state), limit: state.limit - step };
      const { latency } = sample;
      const noLoad = Math.min(state.noLoad ?? latency, latency);
      // Nothing queues: as good as a probe, and no ground for another limit.
      if (sample.isAppLimited) return { ...interrupted(state), noLoad };
      const probed = probe(state, latency, every);
      if (probed.measured !== null) return { ...probed.state, noLoad: probed.measured };
      if (state.hold !== undefined || state.noLoad === null) return { ...probed.state, noLoad };
      const alpha = fixedAlpha ?? ALPHA * step;
      const beta = fixedBeta ?? 2 * alpha;
      return { ...probed.state, noLoad, limit: moved(state.limit, noLoad / latency, { step, alpha, beta }) };
    },
  };
  return limit;
}

interface Steps {
  readonly step: number;
  readonly alpha: number;
  readonly beta: number;
}

/** `unloaded`: the share of the latency that is no waiting. */
function moved(limit: number, unloaded: number, { step, alpha, beta }: Steps): number {
  const queue = limit * (1 - unloaded);
  if (queue <= step) return limit + beta;
  if (queue < alpha) return limit + step;
  if (queue <= beta) return limit;
  // Far above the knee there is no need to feel the way: limit × unloaded are served, and alpha may queue.
  return queue > 2 * beta ? Math.max(limit * unloaded + alpha, limit / 2) : limit - step;
}
