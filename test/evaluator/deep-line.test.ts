/**
 * The search against the walk on lines of hundreds, which fill several levels of the index: parked before anyone was
 * told, with amounts and withdrawals that leave whole stretches alike, short on one account and newly short on another.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CountingGate, Demand, ElasticWindow, MemoryGate, TokenBucket, type Account } from 'rx-admission';
import { Asking } from '../../src/evaluator/asking.js';
import { Line } from '../../src/evaluator/line.js';
import { search, tell, walk, type Pass } from '../../src/evaluator/pass.js';
import { Turn, type Books, type Marks } from '../../src/evaluator/turn.js';
import { newcomer, type Waiter } from '../../src/evaluator/waiter.js';
import { Random } from '../oracle/random.js';

const RUNS = Number(process.env.DEEP_RUNS ?? 3);
const quiet = { warn: () => undefined, info: () => undefined };

class CountedMarks implements Marks {
  onMemory = 0;
  readonly #marked = new Map<object, number>();
  marked(account: object): number {
    return this.#marked.get(account) ?? 0;
  }
  mark(account: object, by: 1 | -1): number {
    this.#marked.set(account, this.marked(account) + by);
    return this.marked(account);
  }
}

/** A turn that remembers what was told to whom. */
class Told extends Turn {
  constructor(
    books: Books,
    at: number,
    readonly say: (what: string) => void,
    readonly held: Asking[],
  ) {
    super(books, at);
  }

  override hold(waiter: Waiter, account: Account<unknown>, amounts: readonly unknown[]): Waiter {
    const held = super.hold(waiter, account, amounts);
    if (held !== waiter) this.say(`#${String(waiter.ask.job)} held on ${account.name}`);
    return held;
  }

  override grant(waiter: Waiter): void {
    super.grant(waiter);
    this.held.push(waiter.ask);
    this.say(`#${String(waiter.ask.job)} granted`);
  }

  override refuse(...[waiter, error, reason, by]: Parameters<Turn['refuse']>): void {
    super.refuse(waiter, error, reason, by);
    this.say(`#${String(waiter.ask.job)} refused ${reason} by ${by?.name ?? 'nobody'}`);
  }
}

type Act =
  | { readonly kind: 'come'; readonly count: number; readonly most: number; readonly told: boolean; readonly shapes: readonly number[] }
  | { readonly kind: 'leave'; readonly count: number; readonly least: number }
  | { readonly kind: 'release'; readonly count: number }
  | { readonly kind: 'resize'; readonly gate: number; readonly capacity: number }
  | { readonly kind: 'heap'; readonly share: number }
  | { readonly kind: 'pressure' | 'relief' | 'look' };

class World {
  readonly gates = [9, 6].map((capacity, n) => new CountingGate({ name: `g${String(n)}`, capacity }));
  readonly bucket = new TokenBucket({ name: 'm', tokensPerMinute: 6_000, requestsPerMinute: 900, log: quiet });
  readonly window = new ElasticWindow({ name: 'w', maxRequests: 9, baseWindow: 400, maxThrottle: 3, log: quiet });
  readonly said: string[] = [];
  readonly line = new Line();
  #heap = 0.1;
  readonly #held: Asking[] = [];
  readonly #books: Books;
  #asked = 0;

  constructor(
    readonly pass: Pass,
    withMemory: boolean,
  ) {
    const ledger = new CountedMarks();
    const memory = withMemory ? new MemoryGate({ heap: () => this.#heap, log: quiet }) : null;
    memory?.observeHeld(() => ledger.onMemory);
    this.#books = { memory, ledger, maxWaiters: Infinity, overflow: 'reject', listeners: { observed: false } };
  }

  do(act: Act, random: Random, at: number): void {
    const turn = new Told(this.#books, at, (what) => this.said.push(`${String(at)} ${what}`), this.#held);
    this.#do(act, random, turn);
    this.said.push(`${String(at)} ${String(this.line.size)} wait until ${String(this.pass(this.line, turn))}`);
  }

  #do(act: Act, random: Random, turn: Told): void {
    const waiting = this.line.toArray();
    switch (act.kind) {
      case 'come':
        for (let n = 0; n < act.count; n += 1) this.#come(this.#demand(random.of(act.shapes), act.most, random), act.told, turn);
        return;
      case 'leave': {
        const start = random.whole(0, waiting.length);
        for (const waiter of waiting.slice(start, start + act.count)) {
          const weight = waiter.ask.demand.weights?.[0] ?? 1;
          if (weight >= act.least && random.chance(0.9)) this.#leave(waiter, turn);
        }
        return;
      }
      case 'release':
        for (const ask of this.#held.splice(0, act.count)) {
          for (const { account, amounts } of ask.demand.entries) {
            if (account.replenishment === 'release') account.give(amounts, turn.at, ask);
          }
          this.#books.memory?.give([], turn.at);
        }
        return;
      case 'resize':
        this.gates[act.gate]?.resize(act.capacity);
        return;
      case 'heap':
        this.#heap = act.share;
        return;
      case 'pressure':
        this.bucket.record429(turn.at);
        this.window.recordAdvisory(turn.at);
        return;
      case 'relief':
        this.bucket.onSuccess(turn.at);
        this.window.onSuccess(turn.at);
        return;
      case 'look':
    }
  }

  #demand(shape: number, most: number, random: Random): Demand {
    const [one, two] = this.gates as [CountingGate, CountingGate];
    const amount = random.whole(1, most);
    switch (shape) {
      case 0:
        return Demand.empty.add(one, amount);
      case 1:
        return Demand.empty.add(this.bucket, amount * 97);
      case 2:
        return Demand.empty.add(one, amount).add(two, random.whole(1, 6));
      case 3:
        return Demand.empty.add(this.window, Math.min(9, amount)).add(two, 1);
      default:
        // Two amounts of one bucket do not compare: it has to be asked.
        return Demand.empty.add(this.bucket, amount * 31, 7);
    }
  }

  #come(whole: Demand, told: boolean, turn: Told): void {
    const ask = new Asking(whole, turn.at, this.#asked);
    this.#asked += 1;
    const answered = told ? tell(newcomer(ask), this.line.head, turn) : newcomer(ask);
    if (answered === null) return;
    this.line.append(answered);
  }

  #leave(waiter: Waiter, turn: Told): void {
    this.line.remove(waiter.ask);
    if (waiter.onMemory) this.#books.ledger.onMemory -= 1;
    turn.refuse(waiter, null, 'cancelled');
  }
}

const gate = fc.nat(1);
const count = (max: number): fc.Arbitrary<number> => fc.integer({ min: 1, max });
const come = fc.record({
  kind: fc.constant('come' as const),
  count: count(150),
  most: fc.constantFrom(2, 4, 9),
  told: fc.boolean(),
  shapes: fc.array(fc.nat(4), { minLength: 1, maxLength: 2 }),
});
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 3, arbitrary: come },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('leave' as const), count: count(200), least: count(8) }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('release' as const), count: count(4) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('resize' as const), gate, capacity: count(12) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('heap' as const), share: fc.constantFrom(0.5, 0.85, 0.92, 0.96) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('pressure' as const, 'relief' as const, 'look' as const) }) },
);

/** Both passes through the same acts, from a line that is `size` long before anybody is told anything. */
function agree(size: number, seed: number, acts: readonly (readonly [Act, number])[], withMemory: boolean): void {
  const worlds = [new World(walk, withMemory), new World(search, withMemory)] as const;
  const start: Act = { kind: 'come', count: size, most: 9, told: false, shapes: [0, 1, 2, 2, 2, 3, 4] };
  let at = 0;
  [[start, 0] as const, ...acts].forEach(([act, later], n) => {
    at += later;
    for (const world of worlds) world.do(act, new Random(seed + n), at);
    expect(worlds[1].said).toEqual(worlds[0].said);
    for (const world of worlds) world.said.length = 0;
  });
  const [walked, searched] = worlds.map(({ line }) => line.toArray().map(({ ask, marks }) => [ask.job, marks?.account.name]));
  expect(searched).toEqual(walked);
}

const later = fc.constantFrom(0, 0, 0, 1, 37, 400, 2_000);

describe('search, on deep lines', () => {
  it('tells what the walk tells, in the same order', () => {
    fc.assert(
      fc.property(fc.nat(), fc.array(fc.tuple(act, later), { minLength: 12, maxLength: 20, size: 'max' }), (seed, acts) => {
        agree(1_060, seed, acts, false);
      }),
      { numRuns: RUNS },
    );
  });

  it('tells what the walk tells while the heap paces the line', () => {
    fc.assert(
      fc.property(fc.nat(), fc.array(fc.tuple(act, later), { minLength: 8, maxLength: 20, size: 'max' }), (seed, acts) => {
        agree(200, seed, acts, true);
      }),
      { numRuns: RUNS },
    );
  });
});
