/** The line: who waits, in arrival order, grouped by what they ask, so that a pass finds who can go without asking all. */
import type { AnyAccount } from '../accounts/account.js';
import type { Demand } from '../demand.js';
import type { Asking } from './asking.js';
import { Group, type Roots } from './group.js';
import type { Waiter } from './waiter.js';

/** Beyond this many groups, those that emptied are forgotten at once; below it they are kept for the next of their kind. */
const KEPT_GROUPS = 32;

/**
 * A persistent collection with a private editor: what `snapshot` handed out never changes, and as long as nobody asked
 * for one, edits are made in place.
 *
 * Invariant: the head is the waiter with the least arrival number and stands apart, in no group, because its amounts are
 * reserved and nobody else's are. `size` counts it.
 */
export class Line {
  head: Waiter | null = null;
  size = 0;
  /** Groups whose members can be compared by amount. */
  readonly groups: Group[] = [];
  /** Those that have to be asked one by one, in arrival order. */
  readonly odd = new Group([]);
  /** Counts the changes that could let somebody go or hold somebody up: answers remembered under another are stale. */
  stamp = 0;
  /** The revision at the last search; not a number before the first one. */
  seen = NaN;
  readonly #byFirst = new Map<AnyAccount, Group[]>();
  #arrivals = 0;
  /** The demand that was asked last is most often the next one's too. */
  #demand: Demand | null = null;
  #group = this.odd;
  #owner: object = {};

  /** Grows with whatever may change an answer to anybody here; not a number where an account does not tell. */
  get revision(): number {
    // Of many groups it would cost more to know than it saves.
    let revision = this.odd.size === 0 && this.groups.length <= KEPT_GROUPS ? this.groups.length : NaN;
    const entries = this.head?.ask.demand.entries ?? NONE;
    for (let n = 0; n < entries.length; n += 1) revision += entries[n]?.account.revision ?? NaN;
    for (let n = 0; n < this.groups.length && !Number.isNaN(revision); n += 1) revision += this.groups[n]?.revision ?? NaN;
    return revision;
  }

  append(waiter: Waiter): void {
    const { ask } = waiter;
    ask.arrival = this.#arrivals;
    this.#arrivals += 1;
    this.size += 1;
    if (this.head === null) this.head = waiter;
    else this.#groupOf(ask.demand).append(waiter, this.#owner);
  }

  /** The same ask, as its latest answer left it. */
  replace(waiter: Waiter): void {
    const { group } = waiter.ask;
    if (group === null) this.head = waiter;
    else group.replace(waiter, this.#owner);
  }

  /** The waiter of an ask that is in the line. */
  waiterOf(ask: Asking): Waiter | null {
    return ask.group === null ? (this.head?.ask === ask ? this.head : null) : ask.group.at(ask.slot);
  }

  remove(ask: Asking): void {
    this.stamp += 1;
    this.size -= 1;
    const { group } = ask;
    if (group === null) {
      this.head = null;
      this.#promote();
      return;
    }
    group.remove(ask, this.#owner);
    ask.group = null;
    if (group.size === 0) this.#emptied(group);
  }

  /** Everyone, in arrival order. */
  toArray(): Waiter[] {
    return waitersOf(this.head, this.#roots());
  }

  /** How many name the account: whole groups do or do not, so that few are looked at. */
  naming(account: AnyAccount): number {
    let count = this.head !== null && names(this.head, account) ? 1 : 0;
    for (const group of this.groups) if (group.accounts.includes(account)) count += group.size;
    if (this.odd.size > 0) for (const waiter of this.odd.toArray()) if (names(waiter, account)) count += 1;
    return count;
  }

  /** Whoever of those that name the account arrived first. */
  firstNaming(account: AnyAccount): Waiter | null {
    if (this.head !== null && names(this.head, account)) return this.head;
    let first: Waiter | null = null;
    for (const group of this.groups) if (group.accounts.includes(account)) first = earlier(first, group.first());
    return earlier(first, this.odd.toArray().find((waiter) => names(waiter, account)) ?? null);
  }

  /** The line as it is now, for whoever keeps it; made into a list when it is looked at. */
  snapshot(): () => readonly Waiter[] {
    const { head } = this;
    const roots = this.#roots();
    // What was handed out is nobody's to edit any more.
    this.#owner = {};
    return () => waitersOf(head, roots);
  }

  #roots(): Roots[] {
    return [...this.groups, this.odd].filter(({ size }) => size > 0).map((group) => group.roots());
  }

  /** The one that arrived first becomes the head. */
  #promote(): void {
    let first: Waiter | null = null;
    for (const group of this.groups) first = earlier(first, group.first());
    first = earlier(first, this.odd.first());
    if (first === null) return;
    const { group } = first.ask;
    group?.remove(first.ask, this.#owner);
    first.ask.group = null;
    this.head = first;
    if (group?.size === 0) this.#emptied(group);
  }

  #groupOf(demand: Demand): Group {
    if (demand !== this.#demand) {
      this.#group = this.#find(demand);
      this.#demand = demand;
    }
    return this.#group;
  }

  #find({ entries, weights }: Demand): Group {
    const first = entries[0]?.account;
    if (weights === null || first === undefined) return this.odd;
    const alike = this.#byFirst.get(first) ?? [];
    if (alike.length === 0) this.#byFirst.set(first, alike);
    let group = alike.find((candidate) => candidate.isOf(entries));
    if (group === undefined) {
      group = new Group(entries.map(({ account }) => account));
      alike.push(group);
      this.groups.push(group);
    }
    return group;
  }

  #emptied(group: Group): void {
    if (group === this.odd || this.groups.length <= KEPT_GROUPS) return;
    this.#demand = null;
    const [first] = group.accounts;
    const last = this.groups.pop();
    if (last !== undefined && last !== group) this.groups[this.groups.indexOf(group)] = last;
    const alike = first === undefined ? undefined : this.#byFirst.get(first);
    if (first === undefined || alike === undefined) return;
    alike.splice(alike.indexOf(group), 1);
    if (alike.length === 0) this.#byFirst.delete(first);
  }
}

const NONE: readonly never[] = [];

const names = ({ ask }: Waiter, wanted: AnyAccount): boolean => ask.demand.entries.some(({ account }) => account === wanted);

const earlier = (one: Waiter | null, other: Waiter | null): Waiter | null =>
  one === null || (other !== null && other.ask.arrival < one.ask.arrival) ? other : one;

function waitersOf(head: Waiter | null, roots: readonly Roots[]): Waiter[] {
  const waiters: Waiter[] = head === null ? [] : [head];
  for (const root of roots) root.collect(waiters);
  return waiters.sort((one, other) => one.ask.arrival - other.ask.arrival);
}
