/** Checks of numbers where they are handed over: an error names whose value it is, the value, and the remedy. */

/** Whose value is checked, where the message should say so. */
type Owner = { readonly name: string } | undefined;

export function positive(what: string, value: number, owner?: Owner): number {
  return Number.isFinite(value) && value > 0 ? value : refuse(what, 'a positive number', value, owner);
}

export function positiveInteger(what: string, value: number, owner?: Owner): number {
  return Number.isSafeInteger(value) && value >= 1 ? value : refuse(what, 'a positive whole number', value, owner);
}

export function nonNegative(what: string, value: number, owner?: Owner): number {
  return Number.isFinite(value) && value >= 0 ? value : refuse(what, 'zero or a positive number', value, owner);
}

/** An instant on an account's clock, which counts from anywhere. */
export function instant(what: string, value: number, owner?: Owner): number {
  return Number.isFinite(value) ? value : refuse(what, 'an instant of the clock in ms', value, owner);
}

/** A share of a whole that leaves something over: 0 up to, not including, 1. */
export function share(what: string, value: number, owner?: Owner): number {
  return Number.isFinite(value) && value >= 0 && value < 1
    ? value
    : refuse(what, 'a share from 0 to below 1', value, owner);
}

/** Numbers in disguise are refused too: a text would be compared as one number and counted as another. */
function refuse(what: string, rule: string, value: unknown, owner: Owner): never {
  const whose = owner === undefined ? what : `${owner.name}: ${what}`;
  throw new RangeError(`${whose} must be ${rule}, not ${typeof value === 'string' ? `"${value}"` : String(value)}`);
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
