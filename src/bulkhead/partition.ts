/** A partition: the account of one key in a capacity that many keys share. */
import { Subject, type Observable, type TeardownLogic } from 'rxjs';
import { AbstractAccount, RefusedError, amountOf, type AccountOptions, type CommonCapacity } from '../index.js';
import { announce } from './partition-news.js';
import { positive } from './partition-options.js';
import { Seat, type ShareBook } from './partition-seat.js';
import type { SeatBooks } from './partition-seats.js';
import { PartitionStatus } from './partition-status.js';

/** The seat behind an account, for its pool. */
export let seatOf: (partition: Partition) => Seat;

/**
 * One key's account. An amount is a number of permits; they come back at the release. Built by `partitioned(…).of(key)`.
 *
 * Each key has its own place in the line, so nobody waits behind another key's backlog; what they share is counted together.
 */
export class Partition extends AbstractAccount {
  static {
    seatOf = (partition) => partition.#seat;
  }

  override readonly category = 'partition';
  readonly key: string;
  /** What all partitions of the pool draw on. */
  readonly sharedWith: CommonCapacity;
  readonly shrinks: Observable<void>;
  readonly #books: SeatBooks;
  readonly #seat: Seat;
  #latest = 0;

  /** @internal built by its pool only */
  constructor(pool: string, key: string, share: ShareBook, books: SeatBooks, options: AccountOptions) {
    super(`${pool}/${key}`, options);
    const shrinks = new Subject<void>();
    this.key = key;
    this.shrinks = shrinks;
    this.sharedWith = books;
    this.#books = books;
    const more = (): void => {
      this.capacityChanged();
    };
    const less = (): void => {
      shrinks.next();
    };
    this.#seat = new Seat(key, share, books.turn, { more, less });
  }

  /** The most that it can ever have out: its share, and what it may borrow. */
  get capacity(): number {
    return this.#books.reachOf(this.#seat.share);
  }

  /** Nothing starts on it now. */
  get paused(): boolean {
    return this.#seat.paused;
  }

  inUse(): number {
    return this.#seat.used;
  }

  validate(amount: number): void {
    positive(this.name, 'an amount of permits', amount);
    this.#seat.largest = Math.max(this.#seat.largest, Math.min(amount, this.#books.limitOf(this.#seat.share)));
  }

  /** @throws RefusedError for more at once than the share, and while as many other keys as may be are in use. */
  fits(mine: readonly number[], reservedAhead: readonly number[]): boolean {
    this.#assertAdmitted();
    const own = amountOf(mine);
    const most = this.#books.limitOf(this.#seat.share);
    if (own > most) {
      const message = `${this.name}: ${String(own)} permits at once can never fit its ${String(most)}; ask for fewer, or raise its share`;
      throw new RefusedError(message, { account: this.name });
    }
    return this.#books.fits(this.#seat, own, amountOf(reservedAhead));
  }

  room(reservedAhead: readonly number[]): number {
    this.#assertAdmitted();
    return this.#books.room(this.#seat, amountOf(reservedAhead));
  }

  tryTake(mine: readonly number[], reservedAhead: readonly number[], at: number): boolean {
    if (!this.fits(mine, reservedAhead)) return false;
    this.#latest = at;
    this.#books.take(this.#seat, amountOf(mine), at);
    return true;
  }

  give(amounts: readonly number[], at: number): void {
    this.#latest = at;
    this.#books.give(this.#seat, amountOf(amounts), at);
  }

  /** Null while permits are short: only a release helps, and nobody knows when it comes. */
  earliestFit(mine: readonly number[], reservedAhead: readonly number[], at: number): number | null {
    return this.#books.fits(this.#seat, amountOf(mine), amountOf(reservedAhead)) ? at : null;
  }

  /** Strict: nothing starts for this key after it returns, until `resume`; its share is lent meanwhile. */
  pause(): void {
    this.#seat.paused = true;
    announce(this.#books, this.#books.seats().filter((seat) => seat !== this.#seat), [this.#seat]);
  }

  resume(): void {
    if (!this.#seat.paused) return;
    this.#seat.paused = false;
    announce(this.#books, [this.#seat], []);
  }

  override observeHeld(held: () => number): TeardownLogic {
    return this.#books.observe(this.#seat, held);
  }

  status(at: number = this.now(this.#latest)): PartitionStatus {
    const { key, used, held, share } = this.#seat;
    const figures = { key, inUse: used, waiting: held };
    if (share === this.#books.rest) return new PartitionStatus({ ...figures, share: null, borrowedFor: null });
    const { permits, borrowedSince } = share;
    // A resize says no instant: what it made borrowed counts from the next take or release.
    const borrowedFor = used > permits ? at - Math.min(at, borrowedSince ?? at) : null;
    return new PartitionStatus({ ...figures, share: permits, borrowedFor });
  }

  override statusIndicator(): string | null {
    return this.#seat.paused ? 'blocked' : null;
  }

  #assertAdmitted(): void {
    if (this.#books.admits(this.#seat)) return;
    const most = String(this.#books.maxPartitions);
    const message = `${this.name}: ${most} keys without a share are in use, and there may be no more at once; try again later`;
    throw new RefusedError(message, { account: this.name, reason: 'overflow' });
  }
}
