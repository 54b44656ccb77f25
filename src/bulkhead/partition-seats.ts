/** The books of a capacity that partitions share: what is taken of each share, who may use a seat, and who is older. */
import { Subject, type Observable, type TeardownLogic } from 'rxjs';
import { fitsIn, roomIn, type SharedCapacity } from './partition-rule.js';
import { ShareBook, type Seat } from './partition-seat.js';

export interface Limits {
  readonly borrow: number;
  readonly reserve: number;
  /** How many keys without a share may be busy at once. */
  readonly maxPartitions: number;
  /** ms of waiting that lift a share by one rank; Infinity for none. */
  readonly ageing: number;
}

/** Invariant: `used` is what the shares have used together, and a share's what its seats have. */
export class SeatBooks implements SharedCapacity {
  used = 0;
  readonly borrow: number;
  readonly reserve: number;
  readonly maxPartitions: number;
  readonly shares = new Set<ShareBook>();
  /** The shares that have a name. */
  readonly named = new Map<string, ShareBook>();
  /** What is guaranteed to nobody by name: all keys without a share have it together. */
  readonly rest = new ShareBook(0, 0);
  /** Seats of the rest that are in use: nobody else keeps them from being collected. */
  readonly busy = new Set<Seat>();
  readonly #ageing: number;
  /** "There may be more now" and "there is less from here on", to each line once, however many keys it concerns. */
  readonly capacityChanges: Observable<void>;
  readonly shrinks: Observable<void>;
  capacity = 0;
  readonly #more = new Subject<void>();
  readonly #less = new Subject<void>();
  #turn = 0;

  /** `seats` are those of all keys that anybody can reach. */
  constructor(
    { borrow, reserve, maxPartitions, ageing }: Limits,
    readonly seats: () => readonly Seat[],
  ) {
    this.borrow = borrow;
    this.reserve = reserve;
    this.maxPartitions = maxPartitions;
    this.#ageing = ageing;
    this.capacityChanges = this.#more;
    this.shrinks = this.#less;
    this.shares.add(this.rest);
  }

  /** Hands out shares anew; what is left over is the rest. */
  apportion(capacity: number, permits: ReadonlyMap<string, number>, ranks?: ReadonlyMap<string, number>): void {
    this.capacity = capacity;
    this.rest.permits = capacity;
    for (const [key, share] of this.named) {
      if (permits.has(key)) continue;
      this.named.delete(key);
      this.shares.delete(share);
      share.permits = 0;
    }
    for (const [key, guaranteed] of permits) {
      const share = this.named.get(key) ?? new ShareBook(0, ranks?.get(key) ?? 0);
      share.permits = guaranteed;
      this.named.set(key, share);
      this.shares.add(share);
      this.rest.permits -= guaranteed;
    }
  }

  announceMore(): void {
    this.#more.next();
  }

  announceLess(): void {
    this.#less.next();
  }

  /** A newcomer comes after all who were served so far. */
  get turn(): number {
    return this.#turn;
  }

  /** The most that a share can ever have out at once. */
  reachOf({ permits }: ShareBook): number {
    let kept = -Math.min(this.reserve, permits);
    for (const share of this.shares) kept += Math.min(this.reserve, share.permits);
    return Math.min(this.capacity - kept, permits + this.borrow);
  }

  /**
   * The most that can be asked for at once: no more than the share where there is one, since nothing could promise an end
   * of waiting to whoever asks for more.
   */
  limitOf(share: ShareBook): number {
    return share.permits > 0 ? share.permits : this.reachOf(share);
  }

  /** Whether the seat may be used: every share's is, and so are so many of the rest at once. */
  admits(seat: Seat): boolean {
    return seat.share !== this.rest || this.busy.has(seat) || this.busy.size < this.maxPartitions;
  }

  fits(seat: Seat, own: number, reserved: number): boolean {
    return !seat.paused && own <= this.limitOf(seat.share) && this.admits(seat) && fitsIn(this, seat, own + reserved);
  }

  room(seat: Seat, reserved: number): number {
    return seat.paused ? -Infinity : roomIn(this, seat, this.limitOf(seat.share) + reserved) - reserved;
  }

  take(seat: Seat, amount: number, at: number): void {
    this.#turn += 1;
    seat.served = this.#turn;
    seat.share.served = this.#turn;
    seat.share.waitsSince = null;
    this.#move(seat, amount, at);
  }

  /** Never below none: permits that nobody took cannot be given back. */
  give(seat: Seat, amount: number, at: number): void {
    this.#move(seat, -Math.min(amount, seat.used), at);
  }

  observe(seat: Seat, held: () => number): TeardownLogic {
    const observed = seat.observe(held, () => {
      this.keep(seat);
    });
    this.keep(seat);
    return observed;
  }

  move(seat: Seat, share: ShareBook): void {
    seat.move(share);
    this.keep(seat);
  }

  /** Keeps the seats of the rest that are busy, as far as there are places, and no others. */
  keep(seat: Seat): void {
    if (seat.share === this.rest && seat.busy && this.admits(seat)) this.busy.add(seat);
    else this.busy.delete(seat);
  }

  #move(seat: Seat, by: number, at: number): void {
    const { share } = seat;
    seat.used += by;
    share.used += by;
    this.used += by;
    this.keep(seat);
    share.note(at);
    for (const each of this.#ageing === Infinity ? [] : this.shares) this.#age(each, at);
  }

  /** Ages move only when permits do: between two of these the clock alone changes no answer. */
  #age(share: ShareBook, at: number): void {
    share.waitsSince = share.waiting > 0 ? (share.waitsSince ?? at) : null;
    const steps = share.waitsSince === null ? 0 : Math.floor((at - share.waitsSince) / this.#ageing);
    share.rank = Math.max(0, share.priority - steps);
  }
}
