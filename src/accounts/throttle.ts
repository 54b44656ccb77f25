/**
 * How far an account that was told to slow down is stretched, and how it relaxes.
 *
 * Pure. The level is an integer number of millionths, so that five steps of 0.2 from 1.0 end at zero exactly.
 */

const UNIT = 1_000_000;

/** Steps and bounds, in multiples of the nominal pace. */
export interface ThrottleRule {
  /** Added per increment of pressure. */
  readonly increment: number;
  /** Taken off by every `successesPerDecrease`-th success. */
  readonly decrement: number;
  /** Taken off by each success once `recoveryInterval` ms passed without pressure. */
  readonly recovery: number;
  readonly max: number;
  readonly successesPerDecrease: number;
  readonly recoveryInterval: number;
}

export interface Throttle {
  /** Millionths of the nominal pace; never negative, never above the rule's `max`. */
  readonly level: number;
  /** Successes counted towards the next decrease; those on a healthy account are not counted. */
  readonly successes: number;
  /** Instant of the last signal of pressure. */
  readonly pressedAt: number;
}

export const relaxed: Throttle = { level: 0, successes: 0, pressedAt: -Infinity };

export const throttleOf = (throttle: Throttle): number => throttle.level / UNIT;

/** `base` ms stretched to the throttled pace, in whole ms. */
export const stretched = (base: number, throttle: Throttle): number => Math.floor((base * (UNIT + throttle.level)) / UNIT);

export const isAtMax = (throttle: Throttle, rule: ThrottleRule): boolean =>
  throttle.level >= Math.round(rule.max * UNIT);

/** `increments` signals of pressure at once. The success count survives: successes need not be consecutive. */
export function press(throttle: Throttle, increments: number, at: number, rule: ThrottleRule): Throttle {
  const level = throttle.level + Math.round(increments * rule.increment * UNIT);
  return { ...throttle, level: Math.min(Math.round(rule.max * UNIT), level), pressedAt: at };
}

/** One success: the same object when nothing is relaxed or counted. */
export function relax(throttle: Throttle, at: number, rule: ThrottleRule): Throttle {
  if (throttle.level === 0) return throttle;
  if (at - throttle.pressedAt >= rule.recoveryInterval) return lower(throttle, rule.recovery);
  const successes = throttle.successes + 1;
  if (successes < rule.successesPerDecrease) return { ...throttle, successes };
  return lower({ ...throttle, successes: 0 }, rule.decrement);
}

function lower(throttle: Throttle, step: number): Throttle {
  return { ...throttle, level: Math.max(0, throttle.level - Math.round(step * UNIT)) };
}

/** `throttle:<n>x`, n being how many times the nominal pace is stretched; null when it is not. */
export function throttleIndicator(throttle: Throttle): string | null {
  return throttle.level === 0 ? null : `throttle:${(1 + throttleOf(throttle)).toFixed(1)}x`;
}
