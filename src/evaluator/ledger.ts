/** What an admission keeps of each account: how many name it, how many it holds, and the hook that hears of more. */
import { Subscription, type SchedulerLike } from 'rxjs';
import type { AnyAccount, CommonCapacity } from '../accounts/account.js';
import { drawnOn } from '../accounts/route.js';
import { bindClock } from '../clock.js';
import type { Demand } from '../demand.js';

/** One account in one admission. */
export interface Listing {
  readonly account: AnyAccount;
  /** Waiters and grants whose demand has an entry on it. */
  named: number;
  /** Jobs marked held on it. */
  marked: number;
  hook: Subscription | null;
}

/** Who is listened to, and for how many listings. */
interface Voice {
  listings: number;
  readonly subscription: Subscription;
}

export interface LedgerPorts {
  readonly scheduler: SchedulerLike;
  /** It paces its line by those in memory's line, whom the desk counts for it. */
  readonly memory: AnyAccount | null;
  /** There may be more: look at the line again. */
  woken(): void;
  /** An account shrank, or what it shares with others: refuse what can never fit any more. */
  shrunk(capacity: object): void;
}

/** Folds under way, in every admission: what an account announces while a fold questions it is the fold's own doing. */
let folding = 0;

/** A fold begins; one inside another's happens where a heap reading is pushed to two admissions. */
export function enterFold(): void {
  folding += 1;
}

/** To be called however the fold ended. */
export function leaveFold(): void {
  folding -= 1;
}

/** An account is being asked just now, by whomever. */
export const isFolding = (): boolean => folding > 0;

/** What accounts announced while they were asked for somebody's information: there is no pass behind it to find out. */
let unheard: (() => void)[] | null = null;

/** Questions accounts where nothing is decided: they may call the admission no more than in a fold. */
export function questioning<T>(work: () => T): T {
  assertOutsideFold();
  const announced: (() => void)[] = [];
  unheard = announced;
  enterFold();
  try {
    return work();
  } finally {
    leaveFold();
    unheard = null;
    for (const tell of announced) tell();
  }
}

/** @throws Error while a fold is under way: an account must not ask the admission that is asking it. */
export function assertOutsideFold(): void {
  if (folding > 0) {
    throw new Error('an account called the admission while being questioned: an account only answers and moves numbers');
  }
}

/** Whom to tell of a settlement: every ledger with hooks on what the account draws on, and how many, in whatever admission. */
const sharers = new WeakMap<object, Map<Ledger, number>>();

/** Ledgers with hooks: most often none or one, and then nobody shares anything. */
let watchers = 0;

/** Beyond this many accounts, those that nobody names any more are forgotten as soon as they are half of all. */
const KEPT_LISTINGS = 64;

/** Invariant: hooks exist just for accounts that are named while somebody waits. */
export class Ledger {
  /** How many stand in memory's line, at this very moment of a pass. */
  onMemory = 0;
  readonly #ports: LedgerPorts;
  /** Kept when nobody names them, up to a point: the next ask most often names the same. */
  readonly #listings = new Map<AnyAccount, Listing>();
  /** Who announces "more", and who "less": an account, or the capacity that it shares. */
  readonly #heard = { capacityChanges: new Map<object, Voice>(), shrinks: new Map<object, Voice>() };
  #named = 0;
  #watching = false;
  /** What was asked last is most often what is asked next. */
  #demand: Demand | null = null;
  #ofDemand: readonly Listing[] = [];
  /** Shared capacities on which somebody waits no more: who waits on them elsewhere may profit. */
  readonly #eased = new Set<object>();

  constructor(ports: LedgerPorts) {
    this.#ports = ports;
  }

  /** Every account that a waiter or a grant names. */
  get accounts(): AnyAccount[] {
    return [...this.#listings.values()].filter(({ named }) => named > 0).map(({ account }) => account);
  }

  /**
   * Somebody names what the demand names, until `unname` gets the answer back.
   *
   * @throws Error when an account of the demand runs on another clock; nothing is kept then, and none is bound to ours.
   */
  name(demand: Demand): readonly Listing[] {
    if (demand !== this.#demand) {
      this.#ofDemand = this.#listingsOf(demand);
      this.#demand = demand;
    }
    const listings = this.#ofDemand;
    for (const listing of listings) {
      listing.named += 1;
      if (listing.named > 1) continue;
      this.#named += 1;
      if (this.#watching) this.#hook(listing);
    }
    return listings;
  }

  unname(listings: readonly Listing[]): void {
    for (const listing of listings) {
      listing.named -= 1;
      if (listing.named > 0) continue;
      this.#named -= 1;
      this.#unhook(listing);
    }
  }

  /** Jobs marked held on the account. */
  marked(account: AnyAccount): number {
    return this.#listing(account).marked;
  }

  /** @returns how many are marked from here on. */
  mark(account: AnyAccount, by: 1 | -1): number {
    const listing = this.#listing(account);
    listing.marked += by;
    if (by < 0 && account.sharedWith !== undefined) this.#eased.add(account.sharedWith);
    return listing.marked;
  }

  /** Hooks every named account while somebody waits, and none while nobody does. */
  watch(what: 'the named' | 'nothing'): void {
    const watching = what === 'the named';
    if (watching === this.#watching) return;
    this.#watching = watching;
    watchers += watching ? 1 : -1;
    for (const listing of this.#listings.values()) {
      if (!watching) this.#unhook(listing);
      else if (listing.named > 0) this.#hook(listing);
    }
  }

  /** Who else has somebody waiting on one of these accounts, and must hear that a settlement moved them. */
  others({ entries }: Demand, memory: AnyAccount | null): Set<Ledger> | null {
    if (watchers === (this.#watching ? 1 : 0)) return null;
    let others: Set<Ledger> | null = null;
    for (const { account } of entries) others = this.#sharing(drawnOn(account), others);
    return memory === null || entries.length === 0 ? others : this.#sharing(memory, others);
  }

  /** Who else must hear that somebody stopped waiting on a capacity that several accounts share; told once. */
  eased(): Set<Ledger> | null {
    if (this.#eased.size === 0) return null;
    let others: Set<Ledger> | null = null;
    for (const capacity of this.#eased) others = this.#sharing(capacity, others);
    this.#eased.clear();
    return others;
  }

  /** Another admission moved an account of ours: look again. */
  hear(): void {
    this.#ports.woken();
  }

  #sharing(capacity: object, known: Set<Ledger> | null): Set<Ledger> | null {
    const hooked = sharers.get(capacity);
    if (hooked === undefined || hooked.size === 0 || (hooked.size === 1 && hooked.has(this))) return known;
    const others = known ?? new Set();
    for (const ledger of hooked.keys()) if (ledger !== this) others.add(ledger);
    return others;
  }

  #listingsOf({ entries }: Demand): readonly Listing[] {
    if (entries.some(({ account }) => !this.#listings.has(account))) {
      bindClock(this.#ports.scheduler, ...entries.map(({ account }) => account));
      if (this.#listings.size >= KEPT_LISTINGS && this.#listings.size > 2 * this.#named) this.#forget();
    }
    return entries.map(({ account }) => this.#listing(account));
  }

  #listing(account: AnyAccount): Listing {
    let listing = this.#listings.get(account);
    if (listing === undefined) {
      listing = { account, named: 0, marked: 0, hook: null };
      this.#listings.set(account, listing);
    }
    return listing;
  }

  #forget(): void {
    for (const [account, { named }] of this.#listings) if (named === 0) this.#listings.delete(account);
    this.#demand = null;
  }

  #hook(listing: Listing): void {
    const { account } = listing;
    const hook = new Subscription();
    listing.hook = hook;
    const capacity = drawnOn(account);
    this.#listen(listing, 'capacityChanges', () => { this.#ports.woken(); });
    this.#listen(listing, 'shrinks', () => { this.#ports.shrunk(capacity); });
    if (account !== this.#ports.memory) hook.add(account.observeHeld?.(() => listing.marked));
    const hooked = sharers.get(capacity) ?? new Map<Ledger, number>();
    sharers.set(capacity, hooked.set(this, (hooked.get(this) ?? 0) + 1));
    hook.add(() => {
      const left = (hooked.get(this) ?? 0) - 1;
      if (left > 0) hooked.set(this, left);
      else hooked.delete(this);
    });
  }

  /** What a shared capacity announces is listened to once, for all who draw on it. */
  #listen({ account, hook }: Listing, kind: keyof CommonCapacity, tell: () => void): void {
    const capacity = drawnOn(account);
    const speaker = capacity[kind] ? capacity : account;
    const news$ = speaker[kind];
    if (news$ === undefined) return;
    const voices = this.#heard[kind];
    const voice = voices.get(speaker) ?? { listings: 0, subscription: new Subscription() };
    voice.listings += 1;
    hook?.add(() => {
      voice.listings -= 1;
      if (voice.listings > 0) return;
      voices.delete(speaker);
      voice.subscription.unsubscribe();
    });
    if (voice.listings > 1) return;
    voices.set(speaker, voice);
    const subscription = news$.subscribe({
      next: () => {
        if (folding === 0) tell();
        else unheard?.push(tell);
      },
      // An account whose stream broke tells no more; deadlines and settlements still move the line.
      error: () => undefined,
    });
    voice.subscription.add(subscription);
  }

  #unhook(listing: Listing): void {
    listing.hook?.unsubscribe();
    listing.hook = null;
  }
}
