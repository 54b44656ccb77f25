/** What is left of a model's minute: tokens and requests, refilled by the clock, and closed until an instant. Pure. */
import { available, coveredFrom, full, lowered, moveLevel, withCap, type Level } from './level.js';

/** How many of each. */
export interface Pair {
  readonly tokens: number;
  readonly requests: number;
}

/** Invariant: as long as it is closed, both levels have `closedUntil` as their base, and nothing above zero. */
export interface Minute {
  readonly tokens: Level;
  readonly requests: Level;
  /** The instant from which it is open; -Infinity where it never was closed. */
  readonly closedUntil: number;
}

export const fullMinute = ({ tokens, requests }: Pair, since: number): Minute => ({
  tokens: full(tokens, since),
  requests: full(requests, since),
  closedUntil: -Infinity,
});

export const isClosed = ({ closedUntil }: Minute, at: number): boolean => at < closedUntil;

/** The tokens that are there for `requests` requests; below every amount where there are not that many, or it is closed. */
export function tokensFor(minute: Minute, stretch: number, requests: number, at: number): number {
  if (isClosed(minute, at) || requests > available(minute.requests, stretch, at)) return -Infinity;
  return available(minute.tokens, stretch, at);
}

/** The first instant at which that much is there; null when it never is. */
export function fitsFrom(minute: Minute, stretch: number, { tokens, requests }: Pair, at: number): number | null {
  const byTokens = coveredFrom(minute.tokens, stretch, tokens, at);
  const byRequests = coveredFrom(minute.requests, stretch, requests, at);
  return byTokens === null || byRequests === null ? null : Math.max(byTokens, byRequests, isClosed(minute, at) ? minute.closedUntil : at);
}

/** Moves both levels at `at`: up to their caps, or to zero while it is closed; below zero only if `floor` allows it. */
export const moved = (minute: Minute, stretch: number, by: Pair, at: number, floor: number): Minute =>
  kept(minute, at, moveLevel(minute.tokens, stretch, by.tokens, at, floor), moveLevel(minute.requests, stretch, by.requests, at, floor));

/** New caps from `at` on: a lower one clamps what is there, a higher one adds nothing. */
export const withCaps = (minute: Minute, stretch: number, caps: Pair, at: number): Minute =>
  kept(minute, at, withCap(minute.tokens, stretch, caps.tokens, at), withCap(minute.requests, stretch, caps.requests, at));

/** No more than `most` was there at `asOf`. */
export const loweredTo = (minute: Minute, stretch: number, most: Pair, asOf: number, at: number): Minute =>
  kept(minute, at, lowered(minute.tokens, stretch, most.tokens, asOf, at), lowered(minute.requests, stretch, most.requests, asOf, at));

/**
 * Closed until `until`, empty at that instant, and refilled from there on: what waits for it comes in at the pace of the
 * refill. A debt that is not paid by then stays one. An earlier `until` than it has changes nothing.
 */
export function closed(minute: Minute, stretch: number, until: number): Minute {
  if (until <= minute.closedUntil) return minute;
  const { tokens, requests } = moved(minute, stretch, { tokens: 0, requests: 0 }, until, -Infinity);
  return { tokens: emptied(tokens), requests: emptied(requests), closedUntil: until };
}

/** What is credited while it is closed pays debts, and is else forgotten: it opens empty. */
function kept({ closedUntil }: Minute, at: number, tokens: Level, requests: Level): Minute {
  if (at >= closedUntil) return { tokens, requests, closedUntil };
  return { tokens: emptied(tokens), requests: emptied(requests), closedUntil };
}

/** An absent limit has nothing that could be empty. */
const emptied = (level: Level): Level => (level.cap === Infinity ? level : { ...level, stored: Math.min(0, level.stored) });
