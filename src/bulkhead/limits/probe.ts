/** Measuring latency without load, from time to time: with the queue that a limit allows, no latency is ever the least. */
import type { LimitState } from './limit.js';

export interface Probing extends LimitState {
  /** Latency windows since the last probe. */
  readonly windows: number;
  /** ms; the least that this probe has found; null while there is none. */
  readonly least: number | null;
}

/** A probe ends when half the load no longer makes it this much faster: what is left is not queueing. */
const FASTER = 0.9;

/** Half the load, and half of that, until it makes no difference: no one step is sure to be below the knee. */
const STEP = 0.5;

export const unprobed = { windows: 0, least: null, hold: undefined } as const;

/** Not measuring any more, for another reason than a result: the next latency window begins again. */
export const interrupted = <S extends Probing>(state: S): S => ({ ...state, least: null, hold: undefined });

/** What a probe found, when it is over. */
export interface Probed<S> {
  readonly state: S;
  /** ms; null while none has just ended. */
  readonly measured: number | null;
}

/** Counts one latency window: begins a probe at every `every`-th, carries it on, or ends it. */
export function probe<S extends Probing>(state: S, latency: number, every: number): Probed<S> {
  const { hold, least, limit } = state;
  if (hold === undefined) {
    const windows = state.windows + 1;
    if (windows < every) return { state: { ...state, windows }, measured: null };
    return { state: { ...state, windows, hold: limit * STEP }, measured: null };
  }
  const better = least === null || latency < FASTER * least;
  // One permit cannot be halved.
  if (better && hold > 1) return { state: { ...state, least: latency, hold: hold * STEP }, measured: null };
  return { state: { ...state, ...unprobed }, measured: Math.min(latency, least ?? latency) };
}
