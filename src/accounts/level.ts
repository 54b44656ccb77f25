/**
 * A level that the clock refills: what was left when it last changed, plus the rate times the time since, up to a cap.
 *
 * Pure, clocked and never ticked. Reading does not write, so reading often changes nothing, to the last bit.
 * The rule is the leaky bucket as a meter (ITU-T I.371, "continuous-state leaky bucket").
 */

/** Refill is per minute, as providers state it. */
const MINUTE = 60_000;
/** Relative slack of one comparison: far above the rounding of one multiplication, far below one unit. */
const SLACK = 1e-12;

/** Invariant: `stored` ≤ `cap`; it is negative only after an adjustment left a debt. */
export interface Level {
  readonly cap: number;
  readonly stored: number;
  readonly since: number;
}

export const full = (cap: number, since: number): Level => ({ cap, stored: cap, since });

const perMs = (level: Level, stretch: number): number => level.cap / (MINUTE * stretch);

/** What is there at `at`, refilling `stretch` times slower than nominal. */
export function levelAt(level: Level, stretch: number, at: number): number {
  // The infinite cap of an absent limit has nothing to refill, and infinity times zero is no number.
  if (at <= level.since || level.cap === Infinity) return level.stored;
  return Math.min(level.cap, level.stored + (at - level.since) * perMs(level, stretch));
}

/** The same level with `at` as its base, so that the rate can change from here on. */
export const rebase = (level: Level, stretch: number, at: number): Level => ({
  cap: level.cap,
  stored: levelAt(level, stretch, at),
  since: Math.max(at, level.since),
});

/** The greatest amount that counts as there: the level, and the slack that its rounding is forgiven. */
export const available = (level: Level, stretch: number, at: number): number =>
  levelAt(level, stretch, at) + level.cap * SLACK;

export const covers = (level: Level, stretch: number, amount: number, at: number): boolean =>
  amount <= available(level, stretch, at);

/** Moves the level by `delta` at `at`; up to the cap, and below zero only if `floor` allows it. */
export function moveLevel(level: Level, stretch: number, delta: number, at: number, floor: number): Level {
  const now = rebase(level, stretch, at);
  return { ...now, stored: Math.max(floor, Math.min(now.cap, now.stored + delta)) };
}

/** A new cap from `at` on; a lower one clamps what is there, a higher one adds nothing. */
export function withCap(level: Level, stretch: number, cap: number, at: number): Level {
  const now = rebase(level, stretch, at);
  // Where there was no limit, or is none any more, there is no level to keep.
  const stored = now.stored === Infinity || cap === Infinity ? cap : Math.min(cap, now.stored);
  return { cap, stored, since: now.since };
}

/** No more than `most` was there at `asOf`, so that no more is there now than what the nominal pace has added since. */
export function lowered(level: Level, stretch: number, most: number, asOf: number, at: number): Level {
  const now = rebase(level, stretch, at);
  if (now.cap === Infinity) return now;
  return { ...now, stored: Math.min(now.stored, most + Math.max(0, at - asOf) * perMs(now, 1)) };
}

/**
 * The first whole instant at which `amount` is covered; `at` when it is now, null when it never is.
 *
 * The quotient is a guess: on a clock that counts from 1970 it is off by more than `covers` forgives, so `covers` itself
 * has the last word on the instants beside it.
 */
export function coveredFrom(level: Level, stretch: number, amount: number, at: number): number | null {
  if (amount > level.cap) return null;
  const isCovered = (instant: number): boolean => covers(level, stretch, amount, instant);
  if (isCovered(at)) return at;
  const guess = Math.ceil(level.since + (amount - level.stored) / perMs(level, stretch));
  if (isCovered(guess - 1)) return guess - 1;
  return isCovered(guess) ? guess : guess + 1;
}

/** Floored for a status, forgiving the rounding that comparisons forgive. */
export const wholeOf = (value: number, level: Level): number =>
  level.cap === Infinity ? value : Math.floor(value + level.cap * SLACK);
