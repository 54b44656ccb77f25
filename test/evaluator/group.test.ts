/**
 * The tree of a group against a plain list, hundreds of slots deep: it finds whom the list finds, and its extremes are
 * exact, so that it looks at no subtree that the rule lets it skip.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CountingGate, demand } from 'rx-admission';
import { Asking } from '../../src/evaluator/asking.js';
import { Group, type Bound, type Roots } from '../../src/evaluator/group.js';
import { markOn, newcomer, type Mark, type Waiter } from '../../src/evaluator/waiter.js';
import { Random } from '../oracle/random.js';

const RUNS = Number(process.env.GROUP_RUNS ?? 30);
const WIDTH = 32;
const MOST = 40;
const accounts = ['one', 'two'].map((name) => new CountingGate({ name, capacity: MOST }));

const amountOn = ({ ask }: Waiter, place: number): number => ask.demand.weights?.[place] ?? NaN;
const unmarkedOn = (waiter: Waiter, place: number): number =>
  markOn(waiter.marks, accounts[place]) === null ? amountOn(waiter, place) : -Infinity;

/** A bound that counts how often it was compared with: once for each node and each waiter that is looked at. */
class CountedBound implements Bound {
  looks = 0;
  asked = 0;

  constructor(
    readonly place: number,
    private readonly greatest: number,
    readonly room: number,
  ) {}

  get most(): number {
    this.looks += 1;
    return this.greatest;
  }

  /** Steps rather than a slope, so that many share an instant. */
  earliest(amount: number): number {
    this.asked += 1;
    return amount > 35 ? Infinity : Math.floor(amount / (3 + this.place));
  }
}

interface Extremes {
  readonly least: (place: number) => number;
  readonly greatest: (place: number) => number;
  readonly unmarked: (place: number) => number;
}

const exactly = (waiters: readonly Waiter[]): Extremes => ({
  least: (place) => waiters.reduce((least, waiter) => Math.min(least, amountOn(waiter, place)), Infinity),
  greatest: (place) => waiters.reduce((most, waiter) => Math.max(most, amountOn(waiter, place)), -Infinity),
  unmarked: (place) => waiters.reduce((most, waiter) => Math.max(most, unmarkedOn(waiter, place)), -Infinity),
});

/** Whether somebody between these extremes is refused, newly short, or may fit. */
function mayChange({ least, greatest, unmarked }: Extremes, bounds: readonly Bound[], most: number): boolean {
  if (bounds.some(({ place, room }) => greatest(place) > most || Number.isNaN(room) || unmarked(place) > room)) return true;
  return bounds.every(({ place, room }) => least(place) <= room);
}

/** What the rule says, over a list; `looks` is what it costs with exact extremes. */
class Model {
  live: Waiter[] = [];
  next = 0;
  looks = 0;

  children(waiters: readonly Waiter[], level: number): readonly (readonly Waiter[])[] {
    const parts = new Map<number, Waiter[]>();
    for (const waiter of waiters) {
      const index = Math.floor(waiter.ask.slot / WIDTH ** level);
      parts.set(index, [...(parts.get(index) ?? []), waiter]);
    }
    return [...parts.values()];
  }

  get height(): number {
    let height = 0;
    while (this.next > WIDTH ** (height + 1)) height += 1;
    return height;
  }

  firstChanging(bounds: readonly Bound[], most: number, except: ReadonlySet<Asking>): Waiter | null {
    this.looks = 0;
    return this.#first(this.live, this.height, bounds, most, except);
  }

  #first(
    waiters: readonly Waiter[],
    level: number,
    bounds: readonly Bound[],
    most: number,
    except: ReadonlySet<Asking>,
  ): Waiter | null {
    this.looks += 1;
    if (!mayChange(exactly(waiters), bounds, most)) return null;
    if (level > 0) {
      for (const child of this.children(waiters, level)) {
        const first = this.#first(child, level - 1, bounds, most, except);
        if (first !== null) return first;
      }
      return null;
    }
    for (const waiter of waiters) {
      this.looks += 1;
      if (mayChange(exactly([waiter]), bounds, most) && !except.has(waiter.ask)) return waiter;
    }
    return null;
  }

  earliest(bounds: readonly Bound[]): number {
    return this.#earliest(this.live, this.height, bounds, Infinity);
  }

  #earliest(
    waiters: readonly Waiter[],
    level: number,
    bounds: readonly Bound[],
    best: number,
  ): number {
    const latest = ({ least }: Extremes): number =>
      Math.max(
        -Infinity,
        ...bounds.map((bound) => (least(bound.place) > bound.room ? bound.earliest(least(bound.place)) : -Infinity)),
      );
    if (latest(exactly(waiters)) >= best) return best;
    let found = best;
    if (level > 0) for (const child of this.children(waiters, level)) found = this.#earliest(child, level - 1, bounds, found);
    else for (const waiter of waiters) found = Math.min(found, latest(exactly([waiter])));
    return found;
  }
}

/** A group and its model, through the same comings, goings and marks. */
class Pair {
  readonly group = new Group(accounts);
  readonly model = new Model();
  readonly handedOut: { readonly roots: Roots; readonly then: readonly Waiter[] }[] = [];
  #owner: object = {};

  append(amounts: readonly number[], markedOn: readonly CountingGate[] = []): void {
    const ask = new Asking(demand(...accounts.map((account, n) => [account, amounts[n] ?? 1] as const)), 0, undefined);
    const marks = markedOn.reduce<Mark | null>((earlier, account) => ({ account, since: 0, earlier }), null);
    const waiter: Waiter = { ...newcomer(ask), marks };
    this.group.append(waiter, this.#owner);
    this.model.live.push(waiter);
    this.model.next = waiter.ask.slot + 1;
  }

  remove(waiter: Waiter): void {
    this.group.remove(waiter.ask, this.#owner);
    this.model.live = this.model.live.filter((other) => other !== waiter);
  }

  mark(waiter: Waiter, place: number): void {
    const account = accounts[place];
    if (account === undefined || markOn(waiter.marks, account) !== null) return;
    const marked: Waiter = { ...waiter, marks: { account, since: 0, earlier: waiter.marks } };
    this.group.replace(marked, this.#owner);
    this.model.live = this.model.live.map((other) => (other === waiter ? marked : other));
  }

  handOut(): void {
    this.handedOut.push({ roots: this.group.roots(), then: [...this.model.live] });
    this.#owner = {};
  }

  check(rooms: readonly number[], most: number, except: ReadonlySet<Asking>): void {
    const { group, model } = this;
    expect(group.size).toBe(model.live.length);
    if (model.live.length === 0) return;
    expect(group.first()).toBe(model.live[0]);
    const bounds = rooms.map((room, place) => new CountedBound(place, most, room));
    expect(group.firstChanging(bounds, except)).toBe(model.firstChanging(bounds, most, except));
    expect(bounds[0]?.looks).toBeLessThanOrEqual(model.looks);
    const ofModel = rooms.map((room, place) => new CountedBound(place, most, room));
    expect(group.earliest(bounds)).toBe(model.earliest(ofModel));
    bounds.forEach((bound, place) => expect(bound.asked).toBeLessThanOrEqual(ofModel[place]?.asked ?? 0));
  }

  checkSlots(): void {
    expect(this.group.toArray()).toEqual(this.model.live);
    for (const waiter of this.model.live) expect(this.group.at(waiter.ask.slot)).toBe(waiter);
    for (const { roots, then } of this.handedOut) {
      const still: Waiter[] = [];
      roots.collect(still);
      expect(still).toEqual(then);
    }
  }
}

type Step =
  | { readonly kind: 'come'; readonly count: number; readonly most: number; readonly known: readonly number[] }
  | { readonly kind: 'go' | 'mark'; readonly from: number; readonly count: number; readonly share: number; readonly order: 1 | -1 }
  | { readonly kind: 'goAllOf'; readonly amount: number }
  | { readonly kind: 'handOut' };

/** How many newcomers are marked on each account already: where all are, a lone one that is not stands out. */
const known = fc.tuple(fc.constantFrom(0, 0.97, 1), fc.constantFrom(0, 0.97, 1));
const come = fc.record({ kind: fc.constant('come' as const), count: fc.integer({ min: 1, max: 120 }), most: fc.integer({ min: 1, max: MOST }), known });
const goOrMark = fc.record({
  kind: fc.constantFrom('go' as const, 'mark' as const),
  from: fc.constantFrom(0, 0, 0.3, 0.8),
  count: fc.constantFrom(1, 40, 70, 1_000),
  share: fc.constantFrom(0.1, 0.9, 0.98, 1),
  order: fc.constantFrom(1 as const, -1 as const),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: come },
  { weight: 5, arbitrary: goOrMark },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('goAllOf' as const), amount: fc.integer({ min: 1, max: MOST }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('handOut' as const) }) },
);

function comes(pair: Pair, random: Random, most: number, known: readonly number[]): void {
  const amounts = accounts.map(() => random.whole(1, most));
  pair.append(amounts, accounts.filter((_, place) => random.chance(known[place] ?? 0)));
}

function act(pair: Pair, step: Step, random: Random): void {
  const { live } = pair.model;
  switch (step.kind) {
    case 'come':
      // Into a tree that was handed out, and so is copied on the way down.
      if (random.chance(0.5)) pair.handOut();
      for (let n = 0; n < step.count; n += 1) comes(pair, random, step.most, step.known);
      return;
    case 'go':
    case 'mark': {
      // From one stretch of the line, so that whole subtrees empty, or hold only the marked.
      const start = Math.floor(step.from * live.length);
      const stretch = live.slice(start, start + step.count).filter(() => random.chance(step.share));
      for (const waiter of step.order === 1 ? stretch : stretch.reverse()) {
        if (step.kind === 'go') pair.remove(waiter);
        else pair.mark(waiter, random.whole(0, 1));
      }
      return;
    }
    case 'goAllOf':
      for (const waiter of live) if (amountOn(waiter, 0) >= step.amount && random.chance(0.8)) pair.remove(waiter);
      return;
    case 'handOut':
      pair.handOut();
  }
}

describe('a group, against a plain list', () => {
  it('finds the same waiters and instants at no greater cost, whatever came, went and was marked', () => {
    const start = fc.constantFrom(0, 31, 32, 33, 1_000, 1_023, 1_024, 1_025, 1_090);
    fc.assert(
      fc.property(start, known, fc.nat(), fc.array(step, { minLength: 1, maxLength: 10, size: 'max' }), (size, known, seed, steps) => {
        const random = new Random(seed);
        const pair = new Pair();
        for (let n = 0; n < size; n += 1) comes(pair, random, MOST, known);
        for (const step of steps) {
          act(pair, step, random);
          const room = (): number => random.of([-Infinity, 0, 1, 2, random.whole(1, MOST), MOST]);
          const except = new Set(pair.model.live.filter(() => random.chance(0.1)).map(({ ask }) => ask));
          pair.check([room(), random.of([room(), NaN])], random.of([MOST, random.whole(1, MOST)]), except);
          // Nobody fits: only those stand out who are refused, or not told yet.
          for (const most of [MOST, MOST - 1]) pair.check([random.whole(MOST - 4, MOST), 0], most, new Set());
          pair.check([0, room()], MOST, new Set());
          pair.check([random.whole(1, 3), MOST], MOST, new Set());
        }
        pair.checkSlots();
      }),
      { numRuns: RUNS },
    );
  });

  it('looks once at a line of thousands where nobody fits and everybody knows', () => {
    const pair = new Pair();
    for (let n = 0; n < 3_000; n += 1) pair.append([n % 7 === 0 ? 30 : 2, 1]);
    for (const waiter of [...pair.model.live]) {
      if (amountOn(waiter, 0) === 30) pair.remove(waiter);
      else if (waiter.ask.slot % 2 === 0) pair.mark(waiter, 0);
    }
    // What stood out in each subtree has gone: as good as a line that never had it.
    const most = [new CountedBound(0, 29, 2), new CountedBound(1, MOST, 0)];
    for (const waiter of [...pair.model.live]) pair.mark(waiter, 1);
    expect(pair.group.firstChanging(most, new Set())).toBeNull();
    expect(most[0]?.looks).toBe(1);
  });

  it('takes fresh slots once most of the old ones are empty, and forgets nobody', () => {
    const pair = new Pair();
    for (let n = 0; n < WIDTH * WIDTH; n += 1) pair.append([1 + (n % MOST), 1]);
    for (const waiter of [...pair.model.live]) if (waiter.ask.slot % 5 !== 0) pair.remove(waiter);
    pair.handOut();
    pair.append([3, 3]);
    expect(pair.model.live.at(-1)?.ask.slot).toBe(pair.model.live.length - 1);
    pair.check([2, 2], MOST, new Set());
    pair.checkSlots();
  });
});
