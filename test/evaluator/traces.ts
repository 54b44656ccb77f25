/** A line of its own, folded by one pass or the other: what it tells of a random trace is what the two must agree on. */
import fc from 'fast-check';
import { AbstractAccount, CountingGate, ElasticWindow, RefusedError, TokenBucket, Demand, type Account } from 'rx-admission';
import { Asking } from '../../src/evaluator/asking.js';
import { evaluate, nobodyWaits, type News } from '../../src/evaluator/evaluate.js';
import type { Pass } from '../../src/evaluator/pass.js';
import type { Marks } from '../../src/evaluator/turn.js';
import { newcomer } from '../../src/evaluator/waiter.js';

const quiet = { warn: () => undefined, info: () => undefined };

/** An account of a user's own, which does not compare: it has to be asked. */
class Own extends AbstractAccount {
  readonly capacity = 3;
  taken = 0;
  inUse(): number {
    return this.taken;
  }
  fits(mine: readonly number[], reservedAhead: readonly number[]): boolean {
    if (mine.length > this.capacity) throw new RefusedError('too many');
    return this.taken + mine.length + reservedAhead.length <= this.capacity;
  }
  tryTake(mine: readonly number[], reservedAhead: readonly number[]): boolean {
    if (!this.fits(mine, reservedAhead)) return false;
    this.taken += mine.length;
    return true;
  }
  give(amounts: readonly number[]): void {
    this.taken -= amounts.length;
  }
  earliestFit(): null {
    return null;
  }
}

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

export type Act =
  | { readonly kind: 'ask'; readonly amounts: readonly (number | null)[] }
  | { readonly kind: 'release' | 'rollback' | 'leave'; readonly which: number }
  | { readonly kind: 'resize'; readonly capacity: number }
  | { readonly kind: 'pressure' | 'failure' | 'success' | 'lower' | 'pause' | 'resume' }
  | { readonly kind: 'look' };

/** A trace: a crowd that asks alike at the start, so that the line is deep, and then what happens, each some ms later. */
export interface Trace {
  readonly crowd: readonly Act[];
  readonly steps: readonly (readonly [act: Act, later: number])[];
}

class World {
  readonly gates = [4, 2].map((capacity, n) => new CountingGate({ name: `g${n}`, capacity }));
  readonly bucket = new TokenBucket({ name: 'm', tokensPerMinute: 600, requestsPerMinute: 300, log: quiet });
  readonly window = new ElasticWindow({
    name: 'w',
    maxRequests: 3,
    baseWindow: 400,
    maxThrottle: 1,
    initialCooldown: 500,
    maxCooldown: 1_000,
    probeTimeout: 900,
    log: quiet,
  });
  readonly own = new Own('own');
  readonly told: string[] = [];
  readonly #asks: Asking[] = [];
  readonly #names = new Map<Asking, string>();
  readonly #books = {
    memory: null,
    ledger: new CountedMarks(),
    maxWaiters: Infinity,
    overflow: 'reject' as const,
    listeners: { observed: true },
  };
  #state = { ...nobodyWaits(), phase: 'open' as const } as ReturnType<typeof nobodyWaits>;

  constructor(readonly pass: Pass) {}

  do(act: Act, at: number): void {
    switch (act.kind) {
      case 'ask': {
        const accounts: readonly Account[] = [...this.gates, this.bucket, this.window, this.own];
        let whole = Demand.empty;
        accounts.forEach((account, n) => {
          const amount = act.amounts[n];
          if (amount != null) whole = whole.add(account, account === this.bucket ? amount * 40 : amount);
        });
        const ask = new Asking(whole, at, undefined);
        this.#names.set(ask, `#${this.#asks.length}`);
        this.#asks.push(ask);
        this.#fold({ type: 'arrived', waiter: newcomer(ask) }, at);
        return;
      }
      case 'release':
      case 'rollback': {
        const ask = this.#pick('delivered', act.which);
        if (ask === undefined) return;
        ask.stage = 'over';
        this.#fold({ type: 'settled', ask, verb: act.kind, outcome: 'ignored', failures: [] }, at);
        return;
      }
      case 'leave': {
        const ask = this.#pick('waiting', act.which);
        if (ask === undefined) return;
        ask.stage = 'over';
        this.#fold({ type: 'left', asks: [ask], reason: 'cancelled', error: null }, at);
        return;
      }
      case 'resize': {
        const [gate] = this.gates;
        const shrinks = gate !== undefined && act.capacity < gate.capacity;
        gate?.resize(act.capacity);
        this.#fold(shrinks ? { type: 'shrank', capacity: gate } : { type: 'look' }, at);
        return;
      }
      case 'pressure':
        this.bucket.record429(at);
        this.window.recordAdvisory(at);
        return;
      case 'failure':
        this.window.recordPressure(at);
        return;
      case 'success':
        this.bucket.onSuccess(at);
        this.window.onSuccess(at);
        this.#fold({ type: 'look' }, at);
        return;
      case 'lower':
        this.bucket.setConfig({ tokensPerMinute: this.bucket.capacity === 600 ? 100 : 600, requestsPerMinute: 300 });
        return;
      case 'pause':
      case 'resume':
        this.gates[1]?.[act.kind]();
        this.#fold({ type: 'look' }, at);
        return;
      case 'look':
        this.#fold({ type: 'look' }, at);
    }
  }

  #pick(stage: Asking['stage'], which: number): Asking | undefined {
    const found = this.#asks.filter((ask) => ask.stage === stage);
    return found[which % Math.max(1, found.length)];
  }

  #fold(news: News, at: number): void {
    const { state, turn } = evaluate(this.#state, { ...news, at }, this.#books, this.pass);
    this.#state = state;
    for (const effect of turn.effects) {
      if (!(effect instanceof Asking)) {
        const { type, account, inUse, waiters, wait, reason } = effect;
        this.told.push([at, type, account, inUse, waiters, wait, reason].join(' '));
        continue;
      }
      effect.stage = effect.refusal === null ? 'delivered' : 'over';
      this.told.push(`${at} ${effect.stage} ${this.#names.get(effect) ?? '?'}`);
    }
    this.told.push(`${at} ${state.line.size} wait until ${state.nextDeadline}`);
  }
}

/** What an admission that passes so tells of a trace, line by line. */
function* story({ crowd, steps }: Trace, pass: Pass): Generator<string> {
  const world = new World(pass);
  let at = 0;
  let told = 0;
  for (const [act, later] of [...crowd.map((ask) => [ask, 0] as const), ...steps]) {
    at += later;
    world.do(act, at);
    for (; told < world.told.length; told += 1) yield world.told[told] ?? '';
  }
}

/** The first line at which two passes tell a trace differently; null where they never do. */
export function difference(trace: Trace, one: Pass, other: Pass): string | null {
  const [first, second] = [story(trace, one), story(trace, other)];
  for (;;) {
    const [left, right] = [first.next(), second.next()];
    if (left.value !== right.value) return `${String(left.value)} against ${String(right.value)}`;
    if (left.done === true) return null;
  }
}

const which = fc.nat(1_000);
const amount = fc.option(fc.integer({ min: 1, max: 4 }), { freq: 2 });
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant('ask' as const), amounts: fc.tuple(amount, amount, amount, amount, amount) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('release' as const, 'rollback' as const, 'leave' as const), which }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('resize' as const), capacity: fc.integer({ min: 1, max: 6 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('pressure', 'failure', 'success', 'lower', 'pause', 'resume', 'look').map((kind) => kind as 'look'),
    }),
  },
);

/** All of a crowd name two accounts: one group, whose tree has inner nodes beyond thirty-two. */
const askAlike = ([count, permits, tokens]: readonly [number, number, number]): Act[] =>
  Array.from({ length: count }, () => ({ kind: 'ask', amounts: [permits, null, tokens, null, null] }));

/** Takes all of an account, and then waits for it as the head: those behind it, who want others, may overtake it. */
const aside: Act = { kind: 'ask', amounts: [null, 2, null, null, null] };

/** Those who stand together want the same, so that subtrees differ in their extremes. */
const crowd = fc
  .array(fc.tuple(fc.integer({ min: 12, max: 40 }), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })), {
    minLength: 2,
    maxLength: 4,
  })
  .map((alike) => [aside, aside, ...alike.flatMap(askAlike)]);

export const traces: fc.Arbitrary<Trace> = fc.record({
  crowd: fc.oneof(
    { weight: 6, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: crowd },
  ),
  steps: fc.array(fc.tuple(act, fc.constantFrom(0, 0, 0, 1, 7, 100, 1_000)), { maxLength: 80, size: 'max' }),
});
