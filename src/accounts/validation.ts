/** Checks of numbers where they are handed over: an error names the value and the remedy. */

export function positive(what: string, value: number): number {
  if (!(value > 0) || value === Infinity) throw new RangeError(`${what} must be a positive number, not ${String(value)}`);
  return value;
}

export function positiveInteger(what: string, value: number): number {
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new RangeError(`${what} must be a positive whole number, not ${String(value)}`);
  }
  return value;
}

export function nonNegative(what: string, value: number): number {
  if (!(value >= 0) || value === Infinity) {
    throw new RangeError(`${what} must be zero or a positive number, not ${String(value)}`);
  }
  return value;
}

/** A share of a whole that leaves something over: 0 up to, not including, 1. */
export function share(what: string, value: number): number {
  if (!(value >= 0 && value < 1)) throw new RangeError(`${what} must be a share from 0 to below 1, not ${String(value)}`);
  return value;
}

/**
 * A limit with the given share of it left unused. It never takes the last unit, and never adds to a limit below one.
 *
 * Two ulps of slack: 7 % off 1000 is 930, which a float product would miss by one.
 */
export function withHeadroom(limit: number, headroom: number): number {
  if (headroom === 0) return limit;
  return Math.min(limit, Math.max(1, Math.floor(limit * (1 - headroom) * (1 + 2 * Number.EPSILON))));
}
