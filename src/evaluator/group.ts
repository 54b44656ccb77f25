/**
 * Those of the line who ask the same accounts: a wide tree in arrival order, with the extremes of their amounts in each
 * subtree, so that one comparison an account skips a subtree.
 *
 * Amounts are monotone: what does not fit at some amount fits at no greater one. So a subtree whose least amount does not
 * fit holds nobody who does, and one whose greatest unmarked amount fits holds nobody who is newly short.
 */
import type { AnyAccount } from '../accounts/account.js';
import type { DemandEntry } from '../demand.js';
import type { Asking } from './asking.js';
import { AccountBound } from './bound.js';
import { markOn, type Waiter } from './waiter.js';

const BITS = 5;
const WIDTH = 1 << BITS;
const MASK = WIDTH - 1;

/** Invariant: the extremes are those of the live waiters below; nothing is live where `live` is 0. */
class Node {
  live = 0;
  /** No live slot stands before this one: in a line most leave from the front. */
  from = 0;
  readonly slots: (Node | Waiter | null)[] = [];
  readonly least: number[] = [];
  readonly greatest: number[] = [];
  /** The greatest amount among those not yet marked on the account. */
  readonly unmarked: number[] = [];

  constructor(public owner: object) {}

  copy(owner: object): Node {
    const node = new Node(owner);
    node.live = this.live;
    node.from = this.from;
    for (const slot of this.slots) node.slots.push(slot);
    for (const amount of this.least) node.least.push(amount);
    for (const amount of this.greatest) node.greatest.push(amount);
    for (const amount of this.unmarked) node.unmarked.push(amount);
    return node;
  }
}

/** What fits on one account beside the head's reservation. */
export interface Bound {
  /** The account's place in the demand. */
  readonly place: number;
  /** The greatest amount that can ever fit. */
  readonly most: number;
  /** The greatest amount that fits now; not a number while the account turns everyone away. */
  readonly room: number;
  /** The instant at which the clock alone makes the amount fit; `Infinity` when only an event does. */
  earliest(amount: number): number;
}

/** A tree as somebody was handed it. */
export interface Roots {
  collect(into: Waiter[]): void;
}

export class Group {
  size = 0;
  readonly bounds: readonly AccountBound[];
  #root: Node | null = null;
  /** Levels of nodes below the root. */
  #height = 0;
  #next = 0;

  constructor(readonly accounts: readonly AnyAccount[]) {
    this.bounds = accounts.map((account, place) => new AccountBound(account, place));
  }

  get revision(): number {
    let revision = 0;
    for (let place = 0; place < this.accounts.length; place += 1) revision += this.accounts[place]?.revision ?? NaN;
    return revision;
  }

  isOf(entries: readonly DemandEntry[]): boolean {
    const { accounts } = this;
    return entries.length === accounts.length && entries.every(({ account }, index) => account === accounts[index]);
  }

  append(waiter: Waiter, owner: object): void {
    if (this.size === 0) this.#reset();
    // Those who moved into fresh slots may fill them just as well.
    else while (this.#next === WIDTH << (BITS * this.#height)) this.#grow(owner);
    const { ask } = waiter;
    ask.group = this;
    ask.slot = this.#next;
    this.#next += 1;
    this.size += 1;
    this.#root = this.#insert(this.#root, this.#height, waiter, owner);
  }

  at(slot: number): Waiter | null {
    let node = this.#root;
    for (let level = this.#height; level > 0 && node !== null; level -= 1) {
      node = slotAt(node, (slot >> (BITS * level)) & MASK) as Node | null;
    }
    return node === null ? null : (slotAt(node, slot & MASK) as Waiter | null);
  }

  replace(waiter: Waiter, owner: object): void {
    if (this.#root !== null) this.#root = this.#write(this.#root, this.#height, waiter.ask.slot, waiter, owner);
  }

  remove(ask: Asking, owner: object): void {
    if (this.#root === null) return;
    this.#root = this.#write(this.#root, this.#height, ask.slot, null, owner);
    this.size -= 1;
  }

  /** The one that arrived first. */
  first(): Waiter | null {
    return this.size === 0 || this.#root === null ? null : firstFrom(this.#root, this.#height);
  }

  /** The first, in arrival order and not among `except`, for whom an attempt would change something. */
  firstChanging(bounds: readonly Bound[], except: ReadonlySet<Asking> | null): Waiter | null {
    return this.#root === null ? null : this.#firstChanging(this.#root, this.#height, bounds, except);
  }

  /**
   * The earliest instant at which the clock alone lets one of them go, `Infinity` when none: each needs the latest over
   * the accounts it is short of.
   */
  earliest(bounds: readonly Bound[]): number {
    // Where only an event helps whoever asks least, it is so for everyone.
    if (this.#root === null || latest(this.#root.least, bounds) === Infinity) return Infinity;
    return this.#earliest(this.#root, this.#height, bounds, NOBODY_GOES).instant;
  }

  toArray(): Waiter[] {
    const waiters: Waiter[] = [];
    if (this.#root !== null) collect(this.#root, this.#height, waiters);
    return waiters;
  }

  roots(): Roots {
    const root = this.#root;
    const height = this.#height;
    return {
      collect: (into) => {
        if (root !== null) collect(root, height, into);
      },
    };
  }

  #reset(): void {
    this.#root = null;
    this.#height = 0;
    this.#next = 0;
  }

  /** One level more; or, when most slots are empty by now, the same waiters in fresh slots. */
  #grow(owner: object): void {
    const root = this.#root;
    if (root === null) return;
    if (this.size * 2 <= this.#next) {
      const waiters: Waiter[] = [];
      collect(root, this.#height, waiters);
      this.#reset();
      this.size = 0;
      for (const waiter of waiters) this.append(waiter, owner);
      return;
    }
    const above = new Node(owner);
    above.live = root.live;
    above.slots.push(root);
    for (const amount of root.least) above.least.push(amount);
    for (const amount of root.greatest) above.greatest.push(amount);
    for (const amount of root.unmarked) above.unmarked.push(amount);
    this.#root = above;
    this.#height += 1;
  }

  /** Going in only widens extremes. */
  #insert(found: Node | null, level: number, waiter: Waiter, owner: object): Node {
    const node = found === null ? new Node(owner) : found.owner === owner ? found : found.copy(owner);
    const index = (waiter.ask.slot >> (BITS * level)) & MASK;
    // Where a node was emptied and forgotten, its successor starts in the middle.
    while (node.slots.length < index) node.slots.push(null);
    if (node.live === 0) node.from = index;
    node.slots[index] = level === 0 ? waiter : this.#insert(slotAt(node, index) as Node | null, level - 1, waiter, owner);
    node.live += 1;
    const alone = node.live === 1;
    for (let place = 0; place < this.accounts.length; place += 1) {
      const amount = weightOf(waiter, place);
      const unmarked = this.#unmarked(waiter, place);
      if (alone || amount < at(node.least, place)) node.least[place] = amount;
      if (alone || amount > at(node.greatest, place)) node.greatest[place] = amount;
      if (alone || unmarked > at(node.unmarked, place)) node.unmarked[place] = unmarked;
    }
    return node;
  }

  /** Puts another waiter, or none, into a slot, and mends the extremes on the way up. */
  #write(found: Node, level: number, slot: number, waiter: Waiter | null, owner: object): Node {
    const node = found.owner === owner ? found : found.copy(owner);
    const index = (slot >> (BITS * level)) & MASK;
    const before = slotAt(node, index);
    if (before === null) return node;
    let after: Node | Waiter | null = waiter;
    if (level > 0) {
      const below = this.#write(before as Node, level - 1, slot, waiter, owner);
      after = below.live === 0 ? null : below;
    }
    node.slots[index] = after;
    if (waiter === null) node.live -= 1;
    if (node.live === 0) return node;
    while (slotAt(node, node.from) === null) node.from += 1;
    for (let place = 0; place < this.accounts.length; place += 1) this.#mend(node, level, place);
    return node;
  }

  /** Recomputes the extremes of one account from the slots below. */
  #mend(node: Node, level: number, place: number): void {
    let least = Infinity;
    let greatest = -Infinity;
    let unmarked = -Infinity;
    const { slots } = node;
    for (let index = node.from; index < slots.length; index += 1) {
      const slot = slots[index] ?? null;
      if (slot === null) continue;
      if (level === 0) {
        const amount = weightOf(slot as Waiter, place);
        least = Math.min(least, amount);
        greatest = Math.max(greatest, amount);
        unmarked = Math.max(unmarked, this.#unmarked(slot as Waiter, place));
      } else {
        const below = slot as Node;
        least = Math.min(least, at(below.least, place));
        greatest = Math.max(greatest, at(below.greatest, place));
        unmarked = Math.max(unmarked, at(below.unmarked, place));
      }
      // Leaving and being marked only narrow: what is as wide as before is final.
      if (least === node.least[place] && greatest === node.greatest[place] && unmarked === node.unmarked[place]) return;
    }
    node.least[place] = least;
    node.greatest[place] = greatest;
    node.unmarked[place] = unmarked;
  }

  /** What the waiter asks of an account that has not marked it yet; less than any room once it has. */
  #unmarked(waiter: Waiter, place: number): number {
    return markOn(waiter.marks, this.accounts[place]) === null ? weightOf(waiter, place) : -Infinity;
  }

  #firstChanging(node: Node, level: number, bounds: readonly Bound[], except: ReadonlySet<Asking> | null): Waiter | null {
    if (!mayChange(node.least, node.greatest, node.unmarked, bounds)) return null;
    const { slots } = node;
    for (let index = node.from; index < slots.length; index += 1) {
      const slot = slots[index] ?? null;
      if (slot === null) continue;
      if (level > 0) {
        const first = this.#firstChanging(slot as Node, level - 1, bounds, except);
        if (first !== null) return first;
      } else if (this.#changes(slot as Waiter, bounds) && except?.has((slot as Waiter).ask) !== true) return slot as Waiter;
    }
    return null;
  }

  #changes(waiter: Waiter, bounds: readonly Bound[]): boolean {
    let fits = true;
    for (const bound of bounds) {
      const amount = weightOf(waiter, bound.place);
      if (amount > bound.most || Number.isNaN(bound.room) || this.#unmarked(waiter, bound.place) > bound.room) return true;
      if (amount > bound.room) fits = false;
    }
    return fits;
  }

  #earliest(node: Node, level: number, bounds: readonly Bound[], best: Going): Going {
    let found = best;
    const { slots } = node;
    for (let index = node.from; index < slots.length; index += 1) {
      const slot = slots[index] ?? null;
      if (slot === null) continue;
      const amounts = level === 0 ? weightsOf(slot as Waiter) : (slot as Node).least;
      // Whoever asks no less goes no earlier: most are seen to do so without asking an account.
      if (isAtLeast(amounts, found.amounts)) continue;
      const instant = latest(amounts, bounds);
      if (instant >= found.instant) continue;
      found = level === 0 ? { instant, amounts } : this.#earliest(slot as Node, level - 1, bounds, found);
    }
    return found;
  }
}

/** The one that arrived first; where a node stands, somebody lives. */
function firstFrom(root: Node, height: number): Waiter | null {
  let node = root;
  for (let level = height; level > 0; level -= 1) node = slotAt(node, node.from) as Node;
  return slotAt(node, node.from) as Waiter | null;
}

/** Whether somebody below is refused, newly short, or may fit. */
function mayChange(
  least: readonly number[],
  greatest: readonly number[],
  unmarked: readonly number[],
  bounds: readonly Bound[],
): boolean {
  let fits = true;
  for (const bound of bounds) {
    const { place } = bound;
    if (at(greatest, place) > bound.most || Number.isNaN(bound.room) || at(unmarked, place) > bound.room) return true;
    if (at(least, place) > bound.room) fits = false;
  }
  return fits;
}

/** Who goes first by the clock alone, of those looked at so far: when, and what it asks. */
interface Going {
  readonly instant: number;
  readonly amounts: readonly number[];
}

const NOBODY_GOES: Going = { instant: Infinity, amounts: [] };

/** On every account; nothing is compared with nobody. */
function isAtLeast(amounts: readonly number[], others: readonly number[]): boolean {
  for (let place = 0; place < others.length; place += 1) if (at(amounts, place) < at(others, place)) return false;
  return others.length > 0;
}

/** The latest over the accounts where such amounts are short: no waiter with at least these can go before. */
function latest(amounts: readonly number[], bounds: readonly Bound[]): number {
  let instant = -Infinity;
  for (const bound of bounds) {
    const amount = at(amounts, bound.place);
    if (amount > bound.room) instant = Math.max(instant, bound.earliest(amount));
  }
  return instant;
}

/** What stands in a slot; null where nobody does, beyond the last one too. */
const slotAt = (node: Node, index: number): Node | Waiter | null => node.slots[index] ?? null;

/** Every list here is as long as the group has accounts. */
const at = (list: readonly number[], place: number): number => list[place] ?? NaN;

/** Whoever is in a group that compares has one amount an account. */
const weightsOf = (waiter: Waiter): readonly number[] => waiter.ask.demand.weights ?? [];

const weightOf = (waiter: Waiter, place: number): number => at(weightsOf(waiter), place);

function collect(node: Node, level: number, into: Waiter[]): void {
  for (const slot of node.slots) {
    if (slot === null) continue;
    if (level === 0) into.push(slot as Waiter);
    else collect(slot as Node, level - 1, into);
  }
}
