/** A demand: everything a job needs at once, as an immutable value. */
import type { Account, AnyAccount, Identity } from './accounts/account.js';
import { assertAccount } from './accounts/assert-account.js';
import { resolve } from './accounts/route.js';

/** One account's part of a demand. */
export interface DemandEntry {
  readonly account: AnyAccount;
  /** What is debited: the account itself, or the key it answers for these amounts. */
  readonly key: Identity;
  readonly amounts: readonly unknown[];
}

/** An account (one permit), or an account with the amounts asked of it. */
export type DemandPart = Account<never> | readonly [Account<never>, ...unknown[]];

/** The constructor of a demand, for this file alone. */
let made: (entries: readonly DemandEntry[]) => Demand;

const ONE_PERMIT = 1;
const NO_AMOUNT: readonly unknown[] = [];

/**
 * The whole request of a job. `add` answers a new demand; nothing changes one that was made.
 *
 * Amounts on the same account (and the same key of it) merge into one entry; entries keep first-added order.
 */
export class Demand {
  /** Asks for nothing: an orchestrator's, which always passes. */
  static readonly empty = new Demand([]);

  static {
    made = (entries) => new Demand(entries);
  }

  readonly entries: readonly DemandEntry[];
  /**
   * The one amount of each entry, where every account can compare by amount (`room`); null where the line has to ask.
   */
  readonly weights: readonly number[] | null;
  /** Some account of this demand needs a connection of the HTTP pool. */
  readonly requiresHttpConnection: boolean;

  private constructor(entries: readonly DemandEntry[]) {
    this.entries = Object.freeze(entries);
    this.weights = weightsOf(entries);
    this.requiresHttpConnection = entries.some((entry) => entry.account.requiresHttpConnection === true);
    Object.freeze(this);
  }

  get isEmpty(): boolean {
    return this.entries.length === 0;
  }

  /**
   * This demand and `amount` (one permit unless given) of `account`.
   *
   * @throws RangeError when the account does not count in such an amount; TypeError when it is no account.
   */
  add<A = number>(account: Account<A>, ...amounts: A[]): Demand {
    const entries = [...this.entries];
    include(entries, account, amounts);
    return new Demand(entries);
  }
}

const comparing = new WeakMap<AnyAccount, boolean>();

/** It offers `room`, and no subclass answers `fits` otherwise without answering `room` as well. */
function compares(account: AnyAccount): boolean {
  let known = comparing.get(account);
  if (known === undefined) {
    known = account.room !== undefined && ownerOf(account, 'room') === ownerOf(account, 'fits');
    comparing.set(account, known);
  }
  return known;
}

function ownerOf(account: AnyAccount, member: 'fits' | 'room'): object | null {
  let owner: object | null = account;
  while (owner !== null && !Object.hasOwn(owner, member)) owner = Object.getPrototypeOf(owner) as object | null;
  return owner;
}

function weightsOf(entries: readonly DemandEntry[]): readonly number[] | null {
  const weights: number[] = [];
  for (const { account, key, amounts } of entries) {
    const [amount] = amounts;
    if (!compares(account) || key !== account || amounts.length !== 1 || typeof amount !== 'number') return null;
    weights.push(amount);
  }
  return weights;
}

/** Adds amounts of one account, one permit unless given, to entries that nobody has seen yet. */
function include(entries: DemandEntry[], asked: Account<never> | undefined, wanted: readonly unknown[]): void {
  assertAccount(asked);
  if (wanted.length === 0) includeOne(entries, asked, ONE_PERMIT);
  else for (const amount of wanted) includeOne(entries, asked, amount);
}

function includeOne(entries: DemandEntry[], asked: Account<never>, wanted: unknown): void {
  const { account, amount } = resolve(asked, wanted);
  account.validate?.(amount);
  const key = account.accountFor?.(amount) ?? account;
  const same = entries.findIndex((entry) => entry.account === account && entry.key === key);
  const amounts = Object.freeze([...(entries[same]?.amounts ?? []), amount]);
  entries[same < 0 ? entries.length : same] = Object.freeze({ account, key, amounts });
}

/**
 * A demand over accounts: each argument is an account (one permit) or `[account, amount, amount…]`. An account that counts in
 * something else is named with its amount: `demand(gpt)` is one token of a bucket, never what the call will use.
 *
 * @throws RangeError when an amount is not what its account counts in.
 *
 * @example
 * ```ts
 * demand([gpt, 1_200], http);            // 1,200 tokens in one request, and one connection
 * demand([pool, 2]).add(licences);       // two permits and a licence
 * ```
 */
export function demand<const Parts extends readonly DemandPart[]>(...parts: Parts & Checked<Parts>): Demand {
  const entries: DemandEntry[] = [];
  for (const part of parts as readonly DemandPart[]) {
    if (isList(part)) include(entries, part[0], part.slice(1));
    else include(entries, part, NO_AMOUNT);
  }
  return entries.length === 0 ? Demand.empty : made(entries);
}

/** The parts themselves where every amount is one its account counts in; else what they should have been. */
type Checked<Parts extends readonly DemandPart[]> = { readonly [K in keyof Parts]: CheckedPart<Parts[K]> };

type CheckedPart<P> = P extends readonly [infer T, ...infer Amounts]
  ? T extends Account<infer A>
    ? Amounts extends readonly A[]
      ? P
      : readonly [T, ...A[]]
    : never
  : P extends Account<infer A>
    ? number extends A
      ? P
      : readonly [P, A, ...A[]]
    : never;

const isList = (part: DemandPart): part is readonly [Account<never>, ...unknown[]] => Array.isArray(part);

const withHttp = new WeakMap<Demand, WeakMap<AnyAccount, Demand>>();

/** The demand with a place in the HTTP pool where one of its accounts needs a connection and none was asked for. */
export function connected(whole: Demand, http: AnyAccount | undefined): Demand {
  if (http === undefined || !whole.requiresHttpConnection) return whole;
  if (whole.entries.some((entry) => entry.account === http)) return whole;
  const known = withHttp.get(whole) ?? new WeakMap<AnyAccount, Demand>();
  withHttp.set(whole, known);
  const made = known.get(http) ?? whole.add(http, ONE_PERMIT);
  known.set(http, made);
  return made;
}
