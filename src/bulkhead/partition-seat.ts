/** A share with what is taken of it, and the seat of each key in its share. */
import type { TeardownLogic } from 'rxjs';
import type { Member, Share } from './partition-rule.js';

/** A share with what is taken of it. */
export class ShareBook implements Share {
  used = 0;
  served = 0;
  rank: number;
  /** Since when it is used beyond its permits; null while it is not. */
  borrowedSince: number | null = null;
  /** Since when somebody waits on it and nobody of it was served, as of the latest take or give; null while nobody does. */
  waitsSince: number | null = null;
  readonly members = new Set<Seat>();

  constructor(
    public permits: number,
    readonly priority: number,
  ) {
    this.rank = priority;
  }

  get waiting(): number {
    let waiting = 0;
    for (const member of this.members) waiting += member.waiting;
    return waiting;
  }

  /** Notes since when it is used beyond its permits. */
  note(at: number): void {
    this.borrowedSince = this.used > this.permits ? (this.borrowedSince ?? at) : null;
  }
}

/** A key's seat: what it has taken, and who waits on it. */
export class Seat implements Member {
  used = 0;
  largest = 1;
  /** Nobody starts on it; so nothing is kept for those who wait on it. */
  paused = false;
  readonly #suppliers = new Set<() => number>();

  constructor(
    readonly key: string,
    public share: ShareBook,
    public served: number,
    /** "There may be more now", and "there is less from here on", to those who listen to its account. */
    readonly announce: { more(): void; less(): void },
  ) {}

  /** How many are held on it. */
  get held(): number {
    let held = 0;
    for (const count of this.#suppliers) held += count();
    return held;
  }

  get waiting(): number {
    return this.paused ? 0 : this.held;
  }

  /** Somebody holds its permits, or may wait on it. */
  get busy(): boolean {
    return this.used > 0 || this.#suppliers.size > 0;
  }

  observe(held: () => number, gone: () => void): TeardownLogic {
    this.#suppliers.add(held);
    this.share.members.add(this);
    return () => {
      this.#suppliers.delete(held);
      if (this.#suppliers.size === 0) this.share.members.delete(this);
      gone();
    };
  }

  move(share: ShareBook): void {
    const from = this.share;
    from.used -= this.used;
    share.used += this.used;
    from.members.delete(this);
    if (this.#suppliers.size > 0) share.members.add(this);
    this.share = share;
  }
}
