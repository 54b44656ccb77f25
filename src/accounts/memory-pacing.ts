/**
 * How the memory gate paces its line: the latch, the curve, the growth penalty over the floor.
 *
 * Pure; every number is of "Inside admission", The memory gate.
 */

/** The latch sets at this ratio … */
const LATCH = 0.95;
/** … and clears strictly below this one. */
const RECOVERY = 0.9;
const CURVE_START = 0.8;
const CURVE_MIN = 50;
const CURVE_MAX = 30_000;
const PENALTY_MAX = 72_000;
const DELAY_CAP = 3_600_000;
/** While anything waits on memory it is looked at again after this long: the only poll there is. */
export const RECHECK = 2_000;

/** Invariant: `floors` are the floors at the last two releases, newest first. */
export interface Pacing {
  readonly latched: boolean;
  readonly reading: number;
  /** The first reading, or the last one that was lower than its predecessor: what the heap falls back to. */
  readonly floor: number;
  readonly lastRelease: number | null;
  /** A job ended since the last release. */
  readonly completion: boolean;
  readonly penalty: number;
  readonly floors: readonly number[];
}

export const fresh: Pacing = {
  latched: false,
  reading: NaN,
  floor: NaN,
  lastRelease: null,
  completion: false,
  penalty: 1,
  floors: [],
};

/** One look: the reading is taken in, and the floor with it; the latch stays as it is. */
export function looked(pacing: Pacing, reading: number): Pacing {
  const isFloor = Number.isNaN(pacing.reading) || reading < pacing.reading;
  return { ...pacing, reading, floor: isFloor ? reading : pacing.floor };
}

export function latchMoved(pacing: Pacing): Pacing {
  const latched = pacing.latched ? pacing.reading >= RECOVERY : pacing.reading >= LATCH;
  return latched === pacing.latched ? pacing : { ...pacing, latched };
}

/** The curve in whole ms: cubic from 50 ms at 80 % to 30 s at 95 %. The order of the operations is normative. */
export function curve(ratio: number): number {
  const fraction = Math.min(1, Math.max(0, (ratio - CURVE_START) / (LATCH - CURVE_START)));
  return Math.max(CURVE_MIN, Math.trunc(CURVE_MAX * (fraction * fraction * fraction)));
}

/** Twice the delay for every point that the floor rose since the release before last. */
export function penaltyNow(pacing: Pacing): number {
  const before = pacing.floors[1];
  if (before === undefined) return pacing.penalty;
  // Points of a hundred: 0.82 - 0.89 is seven of them, whatever the last bit says.
  const points = Math.round(100 * (pacing.floor - before) * 1e9) / 1e9;
  return Math.min(PENALTY_MAX, Math.max(1, pacing.penalty * 2 ** points));
}

const delayNow = (pacing: Pacing): number =>
  Math.min(DELAY_CAP, Math.round(curve(pacing.reading) * penaltyNow(pacing)));

/** The instant the delay ends, past ones included; null when nothing paces the line. */
export function pacedUntil(pacing: Pacing, line: number): number | null {
  // A lone arrival is never spaced, and a completion pays for the next.
  if (pacing.lastRelease === null || line === 0 || pacing.completion) return null;
  return pacing.lastRelease + delayNow(pacing);
}

export function mayRelease(pacing: Pacing, line: number, at: number): boolean {
  if (pacing.latched) return false;
  const until = pacedUntil(pacing, line);
  return until === null || at >= until;
}

export const released = (pacing: Pacing, at: number): Pacing => ({
  ...pacing,
  lastRelease: at,
  completion: false,
  penalty: penaltyNow(pacing),
  floors: [pacing.floor, ...pacing.floors.slice(0, 1)],
});

/** Completions do not add up; one that lands under the latch is remembered. */
export const completed = (pacing: Pacing): Pacing => ({ ...pacing, completion: true });
