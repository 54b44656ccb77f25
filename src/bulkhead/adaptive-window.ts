/** The window of samples that one decision about a limit is made from: so many of them, and so much time. */
import type { LatencySample } from './limits/limit.js';

export interface WindowRule {
  /** ms from one decision to the next, at least; twice the latency where that is more. */
  readonly ms: number;
  /** Samples, at least. */
  readonly count: number;
}

export interface Window {
  /** The last decision: what was granted before it tells of an earlier limit, and is not counted. */
  readonly openedAt: number;
  /** ms that it stays open, at least. */
  readonly length: number;
  readonly count: number;
  /** Sum of the latencies, ms. */
  readonly sum: number;
  /** The most permits out when one was measured. */
  readonly inFlight: number;
}

/**
 * Of those that are granted while it is open, the first half then end in it: a window of one latency would count only those
 * that happen to be fast.
 */
const LATENCIES = 2;

/** In windows: a latency beyond belief, told once, must not stop the deciding for a day. */
const LONGEST = 60;

/** A window that opens at a decision; `latency` is that of the window before it, 0 where there was none. */
export const opened = (openedAt: number, latency: number, { ms }: WindowRule): Window => ({
  openedAt,
  length: Math.min(LONGEST * ms, Math.max(ms, LATENCIES * latency)),
  count: 0,
  sum: 0,
  inFlight: 0,
});

export const counted = (window: Window, latency: number, inFlight: number): Window => ({
  ...window,
  count: window.count + 1,
  sum: window.sum + latency,
  inFlight: Math.max(window.inFlight, inFlight),
});

export const isComplete = (window: Window, at: number, { count }: WindowRule): boolean =>
  window.count >= count && at - window.openedAt >= window.length;

/** What a complete window says beside the limit it was measured under. */
export const sampleOf = ({ count, sum, inFlight }: Window, limit: number): LatencySample => ({
  kind: 'latency',
  latency: sum / count,
  count,
  inFlight,
  // As Netflix concurrency-limits has it in each of its algorithms.
  isAppLimited: inFlight * 2 < limit,
});
