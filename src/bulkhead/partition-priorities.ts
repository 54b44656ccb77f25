/** Priorities as partitions: what nobody was promised is lent by rank, and waiting lifts the rank. */
import { nameOf } from './partition-options.js';
import { Partitioned } from './partitioned.js';
import type { AccountOptions } from '../index.js';

export interface PrioritiesOptions<K extends string> extends AccountOptions {
  readonly name: string;
  readonly capacity: number;
  /** The first is served first. */
  readonly classes: readonly K[];
  /** ms of waiting that lift a class by one rank, until it stands with the first. Infinity: never. */
  readonly ageing: number;
  /** Permits guaranteed to a class, whoever else waits; none unless given. */
  readonly atLeast?: Readonly<Partial<Record<K, number>>> | undefined;
}

/**
 * Classes of work on one capacity: a free permit goes to the first class that waits.
 *
 * A class that has waited for `ageing` ms without being served ranks one higher, and among equal ranks the class that holds
 * less goes next. So one that holds nothing is served, at rank r (0 is the first), by the first release after r times
 * `ageing`. Age counts from the first take or release after it began to wait, and again from when it was served.
 *
 * @throws RangeError when a number is out of bounds, a class occurs twice, or every permit is guaranteed and some class has none.
 *
 * @example
 * ```ts
 * const calls = priorities({ name: 'calls', capacity: 8, classes: ['chat', 'search', 'batch'], ageing: 30_000 });
 * jobs$.pipe(admit((job) => demand(calls.of(job.kind)), send));
 * ```
 */
export function priorities<const K extends string>(options: PrioritiesOptions<K>): Partitioned<K> {
  const { classes, ageing, atLeast = {}, ...rest } = options;
  const name = nameOf('a partitioned capacity', options.name);
  if (!(ageing > 0)) throw new RangeError(`${name}: ageing must be ms above zero, or Infinity for none, not ${String(ageing)}`);
  if (classes.length === 0 || new Set(classes).size < classes.length) {
    throw new RangeError(`${name}: name each class once, the first first, not [${classes.join(', ')}]`);
  }
  const guaranteed = atLeast as Readonly<Record<string, number>>;
  const unknown = Object.keys(guaranteed).find((key) => !classes.includes(key as K));
  if (unknown !== undefined) throw new RangeError(`${name}: atLeast names "${unknown}", which is none of ${classes.join(', ')}`);
  const shares = Object.fromEntries(classes.map((key) => [key, (Object.hasOwn(guaranteed, key) ? guaranteed[key] : undefined) ?? 0]));
  const permits = Object.values(shares);
  if (permits.includes(0) && permits.reduce((sum, share) => sum + share, 0) >= rest.capacity) {
    throw new RangeError(`${name}: every permit is guaranteed, and a class that has none would never be served; leave some over`);
  }
  const ranks = new Map(classes.map((key, rank) => [key as string, rank]));
  return new Partitioned<K>({ ...rest, shares, maxPartitions: 0 }, { ranks, ageing });
}
