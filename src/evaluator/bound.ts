/** What an account of a group has for those behind the head, asked when it is first needed in a pass, as a walk asks. */
import type { AnyAccount } from '../accounts/account.js';
import { reservedOn } from './attempt.js';
import type { Bound } from './group.js';
import type { Waiter } from './waiter.js';

/** Invariant: what it answers is as of the stamp that it was last told. */
export class AccountBound implements Bound {
  most = 0;
  #stamp = -1;
  #at = 0;
  #reserved: readonly unknown[] = [];
  #room = 0;
  #isAsked = false;
  #amounts: readonly number[] = [];

  constructor(
    readonly account: AnyAccount,
    readonly place: number,
  ) {}

  /** Forgets what it knew, if the stamp is a new one. */
  renew(stamp: number, head: Waiter, at: number): void {
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    this.#at = at;
    this.most = this.account.capacity;
    this.#reserved = reservedOn(head, this.account);
    this.#isAsked = false;
  }

  get room(): number {
    if (!this.#isAsked) {
      this.#isAsked = true;
      try {
        this.#room = this.account.room?.(this.#reserved, this.#at) ?? -Infinity;
      } catch {
        this.#room = NaN;
      }
    }
    return this.#room;
  }

  earliest(amount: number): number {
    // From pass to pass it is most often the same amount that goes first.
    if (this.#amounts[0] !== amount) this.#amounts = [amount];
    return this.account.earliestFit(this.#amounts, this.#reserved, this.#at) ?? Infinity;
  }
}
