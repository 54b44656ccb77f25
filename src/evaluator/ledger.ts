/** What an admission keeps of each account: how many name it, how many it holds, and the hook that hears of more. */
import { Subscription, type Observer, type SchedulerLike } from 'rxjs';
import type { AnyAccount } from '../accounts/account.js';
import { bindClock } from '../clock.js';
import type { Demand } from '../demand.js';

/** One account in one admission. */
interface Listing {
  readonly account: AnyAccount;
  /** Waiters and grants whose demand has an entry on it. */
  named: number;
  /** Jobs marked held on it. */
  marked: number;
  hook: Subscription | null;
}

export interface LedgerPorts {
  readonly scheduler: SchedulerLike;
  /** There may be more: look at the line again. */
  woken(): void;
  /** An account shrank: refuse what can never fit it any more. */
  shrunk(account: AnyAccount): void;
}

/** Folds under way, in every admission: what an account announces while a fold questions it is the fold's own doing. */
let folding = 0;

/** Runs a fold; one inside another's happens where a heap reading is pushed to two admissions. */
export function foldWith<T>(work: () => T): T {
  folding += 1;
  try {
    return work();
  } finally {
    folding -= 1;
  }
}

/** @throws Error while a fold is under way: an account must not ask the admission that is asking it. */
export function assertOutsideFold(): void {
  if (folding > 0) {
    throw new Error('an account called the admission while being questioned: an account only answers and moves numbers');
  }
}

/** Whom to tell of a settlement: every ledger with a hook on the account, in whatever admission. */
const sharers = new WeakMap<AnyAccount, Set<Ledger>>();

/** Invariant: hooks exist just for accounts that are named while somebody waits. */
export class Ledger {
  /** How many stand in memory's line, at this very moment of a pass. */
  onMemory = 0;
  readonly #ports: LedgerPorts;
  readonly #listings = new Map<AnyAccount, Listing>();
  #watching = false;

  constructor(ports: LedgerPorts) {
    this.#ports = ports;
  }

  /** Every account that a waiter or a grant names. */
  get accounts(): Iterable<AnyAccount> {
    return this.#listings.keys();
  }

  /** @throws Error when an account of the demand runs on another clock; nothing is kept then. */
  name(demand: Demand): void {
    for (const { account } of demand.entries) bindClock(account, this.#ports.scheduler);
    for (const { account } of demand.entries) this.nameAccount(account);
  }

  nameAccount(account: AnyAccount): void {
    let listing = this.#listings.get(account);
    if (listing === undefined) {
      listing = { account, named: 0, marked: 0, hook: null };
      this.#listings.set(account, listing);
      if (this.#watching) this.#hook(listing);
    }
    listing.named += 1;
  }

  unname(demand: Demand): void {
    for (const { account } of demand.entries) this.unnameAccount(account);
  }

  unnameAccount(account: AnyAccount): void {
    const listing = this.#listings.get(account);
    if (listing === undefined || (listing.named -= 1) > 0) return;
    this.#listings.delete(account);
    this.#unhook(listing);
  }

  /** Jobs marked held on the account. */
  marked(account: AnyAccount): number {
    return this.#listings.get(account)?.marked ?? 0;
  }

  /** @returns how many are marked from here on. */
  mark(account: AnyAccount, by: 1 | -1): number {
    const listing = this.#listings.get(account);
    if (listing === undefined) return 0;
    return (listing.marked += by);
  }

  /** Hooks every named account while somebody waits, and none while nobody does. */
  watch(waiting: boolean): void {
    if (waiting === this.#watching) return;
    this.#watching = waiting;
    for (const listing of this.#listings.values()) {
      if (waiting) this.#hook(listing);
      else this.#unhook(listing);
    }
  }

  /** A settlement moved these accounts: every other admission with somebody waiting on one looks again. */
  announce(accounts: readonly AnyAccount[]): void {
    const told = new Set<Ledger>([this]);
    for (const account of accounts) {
      for (const ledger of sharers.get(account) ?? []) {
        if (told.has(ledger)) continue;
        told.add(ledger);
        ledger.#ports.woken();
      }
    }
  }

  /** Whether anybody else would hear `announce`. */
  isShared(account: AnyAccount): boolean {
    const hooked = sharers.get(account);
    return hooked !== undefined && hooked.size > (hooked.has(this) ? 1 : 0);
  }

  #hook(listing: Listing): void {
    const { account } = listing;
    const hook = new Subscription();
    listing.hook = hook;
    const hear = (tell: () => void): Partial<Observer<void>> => ({
      next: () => {
        if (folding === 0) tell();
      },
      // An account whose stream broke tells no more; deadlines and settlements still move the line.
      error: () => undefined,
    });
    hook.add(account.capacityChanges.subscribe(hear(() => { this.#ports.woken(); })));
    hook.add(account.shrinks?.subscribe(hear(() => { this.#ports.shrunk(account); })));
    const hooked = sharers.get(account) ?? new Set();
    sharers.set(account, hooked.add(this));
    hook.add(() => {
      hooked.delete(this);
    });
  }

  #unhook(listing: Listing): void {
    listing.hook?.unsubscribe();
    listing.hook = null;
  }
}
