/** Partitions of one capacity by key: a share that is guaranteed, idle permits that are lent, and fairness for the rest. */
import type { AccountOptions } from '../index.js';
import { cellOf } from './partition-cells.js';
import { Identities } from './partition-identities.js';
import { assertSameKeys, limitsOf, nameOf, positive, sharesOf } from './partition-options.js';
import type { ShareBook } from './partition-seat.js';
import { SeatBooks } from './partition-seats.js';
import { PartitionedStatus } from './partition-status.js';
import { toldOf } from './partition-news.js';
import { Partition, seatOf } from './partition.js';

export interface PartitionedOptions<K extends string = string> extends AccountOptions {
  readonly name: string;
  /** Permits of all partitions together. */
  readonly capacity: number;
  /** Permits guaranteed by key; together at most the capacity. What is left over is the rest, shared by all other keys. */
  readonly shares?: Readonly<Record<K, number>> | undefined;
  /** What a partition may hold beyond its share: whatever is idle (`idle`, the default), nothing, or so many permits. */
  readonly borrow?: 'idle' | 'none' | number | undefined;
  /** Permits of each share that are never lent; none unless given. */
  readonly reserve?: number | undefined;
  /** How many keys without a share may hold or wait at once; 1,000 unless given. Others are refused meanwhile. */
  readonly maxPartitions?: number | undefined;
  /** So many fixed partitions for the keys without a share, found by hash, in place of one a key. Keys collide. */
  readonly cells?: number | undefined;
}

/** Borrowing by rank: for `priorities`. */
export interface Ranking {
  /** Ranks by key; lower ones borrow first. */
  readonly ranks: ReadonlyMap<string, number>;
  /** ms of waiting that lift a key by one rank. */
  readonly ageing: number;
}

const UNRANKED: Ranking = { ranks: new Map(), ageing: Infinity };

/**
 * One capacity, partitioned by key: `of(key)` is an account of its own with a place of its own in the line.
 *
 * @throws RangeError when a number is out of bounds, or the shares are more than the capacity.
 *
 * @example
 * ```ts
 * const calls = partitioned({ name: 'calls', capacity: 10, shares: { 'tenant-a': 4, batch: 1 } });
 * jobs$.pipe(admit((job) => demand(calls.of(job.tenant)), send));
 * ```
 */
export function partitioned<K extends string = string>(options: PartitionedOptions<K>): Partitioned {
  return new Partitioned(options);
}

export class Partitioned<K extends string = string> {
  readonly name: string;
  readonly #books: SeatBooks;
  readonly #options: AccountOptions;
  /** Partitions by key that has a share. */
  readonly #shared = new Map<string, Partition>();
  /** Partitions of the other keys. */
  readonly #known = new Identities<Partition>();
  /** Null where every key has a partition of its own. */
  readonly #cells: readonly Partition[] | null;

  constructor(options: PartitionedOptions, ranking: Ranking = UNRANKED) {
    const { capacity, shares = {}, cells, scheduler, maxWaiters } = options;
    this.name = nameOf('a partitioned capacity', options.name);
    this.#options = { scheduler, maxWaiters };
    this.#books = new SeatBooks(limitsOf(this.name, options, ranking.ageing), () => this.#reachable().map(seatOf));
    positive(this.name, 'capacity', capacity);
    this.#books.apportion(capacity, sharesOf(this.name, capacity, shares), ranking.ranks);
    for (const [key, share] of this.#books.named) this.#shared.set(key, this.#partition(key, share));
    const { rest } = this.#books;
    this.#cells = cells === undefined ? null : Array.from({ length: cells }, (_, n) => this.#partition(`cell ${String(n)}`, rest));
  }

  get capacity(): number {
    return this.#books.capacity;
  }

  inUse(): number {
    return this.#books.used;
  }

  /**
   * The account of a key: the same one for as long as anybody holds its permits, waits for some, or has looked it up.
   *
   * @throws RangeError for a key that is no text.
   */
  of(key: K): Partition {
    const asked = nameOf(`${this.name}: a key`, key);
    const known = this.#shared.get(asked) ?? this.#known.get(asked);
    if (known !== undefined) return known;
    const cell = this.#cells?.[cellOf(asked, this.#cells.length)];
    return cell ?? this.#known.add(asked, this.#partition(asked, this.#books.rest));
  }

  /**
   * A new capacity, and other shares where they are given, at any time. More wakes the line; less cuts no admitted work,
   * and waiters that ask for more than can ever be had again are refused in the same turn.
   *
   * @throws RangeError when the shares are more than the capacity; with cells also when they name other keys than before.
   */
  resize(capacity: number, shares?: Readonly<Partial<Record<K, number>>>): void {
    const books = this.#books;
    positive(this.name, 'capacity', capacity);
    const given = shares ?? Object.fromEntries([...books.named].map(([key, { permits }]) => [key, permits]));
    const permits = sharesOf(this.name, capacity, given);
    if (this.#cells !== null) assertSameKeys(this.name, this.#shared, permits);
    toldOf(books, () => {
      books.apportion(capacity, permits);
      this.#seatAnew();
    });
  }

  /** Permits of the whole, of each share, of the rest, and of the keys that live on it and are in use. */
  status(at?: number): PartitionedStatus {
    const { capacity, used, rest, busy } = this.#books;
    const unnamed = this.#cells ?? [...busy].map(({ key }) => this.of(key as K));
    const partitions = [...this.#shared.values(), ...unnamed];
    return new PartitionedStatus(capacity, used, rest.permits, partitions.map((partition) => partition.status(at)));
  }

  #reachable(): Partition[] {
    return [...this.#shared.values(), ...this.#known.values(), ...(this.#cells ?? [])];
  }

  #partition(key: string, share: ShareBook): Partition {
    return new Partition(this.name, key, share, this.#books, this.#options);
  }

  /** Whoever got a share of its own sits there from now on, and whoever lost it with the rest, with all that it holds. */
  #seatAnew(): void {
    const { named, rest } = this.#books;
    for (const [key, partition] of this.#shared) {
      if (named.has(key)) continue;
      this.#shared.delete(key);
      this.#known.add(key, partition);
      this.#books.move(seatOf(partition), rest);
    }
    for (const [key, share] of named) {
      if (this.#shared.has(key)) continue;
      const known = this.#known.get(key);
      if (known !== undefined) this.#books.move(seatOf(known), share);
      this.#shared.set(key, known ?? this.#partition(key, share));
    }
  }
}
