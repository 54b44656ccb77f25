/** Checks of what a partitioned capacity is told: an error names whose value it is, the value, and the remedy. */
import type { PartitionedOptions } from './partitioned.js';
import type { Limits } from './partition-seats.js';

/** More keys in use at once in one process are as many waiters, and a sign that cells should bound them. */
const MAX_PARTITIONS = 1_000;

export function nameOf(what: string, name: unknown): string {
  if (typeof name === 'string' && name !== '') return name;
  throw new RangeError(`${what} is called by a text, such as "tenant-a", not ${shown(name)}`);
}

export function positive(owner: string, what: string, value: unknown): number {
  return wholeFrom(1, owner, what, value);
}

function wholeFrom(least: 0 | 1, owner: string, what: string, value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number;
  const rule = least === 0 ? 'zero or a positive whole number' : 'a positive whole number';
  throw new RangeError(`${owner}: ${what} must be ${rule}, not ${shown(value)}`);
}

/** The bounds of a partitioned capacity that never change. */
export function limitsOf(owner: string, options: PartitionedOptions, ageing: number): Limits {
  const { borrow = 'idle', reserve = 0, maxPartitions, cells } = options;
  if (cells !== undefined && maxPartitions !== undefined) {
    throw new RangeError(`${owner}: cells are as many as they are, and bound the keys already; leave maxPartitions out`);
  }
  return {
    borrow: borrowOf(owner, borrow),
    reserve: wholeFrom(0, owner, 'reserve', reserve),
    maxPartitions: cells === undefined ? wholeFrom(0, owner, 'maxPartitions', maxPartitions ?? MAX_PARTITIONS) : positive(owner, 'cells', cells),
    ageing,
  };
}

function borrowOf(owner: string, borrow: unknown): number {
  if (borrow === 'idle') return Infinity;
  if (borrow === 'none') return 0;
  if (typeof borrow === 'number') return wholeFrom(0, owner, 'borrow', borrow);
  throw new RangeError(`${owner}: borrow must be 'idle', 'none' or a number of permits, not ${shown(borrow)}`);
}

/** Permits by key, of which the capacity holds all together. */
export function sharesOf(owner: string, capacity: number, shares: object): ReadonlyMap<string, number> {
  const permits = new Map<string, number>();
  let sum = 0;
  for (const [key, share] of Object.entries(shares) as [string, unknown][]) {
    permits.set(nameOf(`${owner}: a share`, key), wholeFrom(0, owner, `the share of ${key}`, share));
    sum += share as number;
  }
  if (sum <= capacity) return permits;
  throw new RangeError(`${owner}: the shares come to ${String(sum)} permits, and the capacity is ${String(capacity)}; lower some, or raise it`);
}

/** A key that came out of a cell, or went into one, would have permits in both. */
export function assertSameKeys(owner: string, before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>): void {
  if (before.size === after.size && [...after.keys()].every((key) => before.has(key))) return;
  const keys = [...before.keys()].join(', ') || 'none';
  throw new RangeError(`${owner}: with cells the keys that have a share stay as they are (${keys}); only their permits change`);
}

const shown = (value: unknown): string => (typeof value === 'string' ? `"${value}"` : String(value));
