/** The token bucket, from the rules, in exact whole numbers. */
import { Refusal, sum, type ModelAccount } from './account.js';
import { Tenths } from './tenths.js';

/**
 * One token is this many grains. A millisecond refills cap / (60000 * (1 + throttle)) tokens, which with a throttle of n
 * tenths is cap / (6000 * (10 + n)): a whole number of grains for every n. Amounts may have three decimals.
 */
const GRAINS = 6000n * 1000n * leastCommonMultiple(10n, 100n);

function leastCommonMultiple(from: bigint, to: bigint): bigint {
  let all = 1n;
  for (let n = from; n <= to; n += 1n) {
    let [a, b] = [all, n];
    while (b > 0n) [a, b] = [b, a % b];
    all = (all / a) * n;
  }
  return all;
}

const UNIT = GRAINS / 1000n;
const known = new Map<number, bigint>();

function grains(amount: number): bigint {
  let exact = known.get(amount);
  if (exact === undefined) known.set(amount, (exact = BigInt(Math.round(amount * 1000)) * UNIT));
  return exact;
}

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);

/** As a number: the whole part exactly, the rest to more digits than any check compares. */
function decimal(level: bigint): number {
  const whole = level / GRAINS;
  return Number(whole) + Number(((level - whole * GRAINS) * 1_000_000_000_000n) / GRAINS) / 1e12;
}

/** One of the two dimensions. */
class Level {
  #grains: bigint;

  constructor(public cap: number) {
    this.#grains = grains(cap);
  }

  refill(ms: number, tenths: number): void {
    const more = (grains(this.cap) * BigInt(ms)) / (6000n * BigInt(10 + tenths));
    this.#grains = least(grains(this.cap), this.#grains + more);
  }

  add(amount: number): void {
    this.#grains = least(grains(this.cap), this.#grains + grains(amount));
  }

  clamp(): void {
    this.#grains = least(grains(this.cap), this.#grains);
  }

  has(amount: number): boolean {
    return this.#grains >= grains(amount);
  }

  /** Whole milliseconds until `amount` is there, rounded up. */
  until(amount: number, tenths: number): number {
    const missing = grains(amount) - this.#grains;
    if (missing <= 0n) return 0;
    const needed = missing * 6000n * BigInt(10 + tenths);
    const rate = grains(this.cap);
    return Number((needed + rate - 1n) / rate);
  }

  get exact(): number {
    return decimal(this.#grains);
  }

  get floored(): number {
    return Number(this.#grains / GRAINS);
  }

  get missing(): number {
    return Number((grains(this.cap) - this.#grains) / GRAINS);
  }
}

export class ModelBucket implements ModelAccount {
  readonly category = 'token_bucket';
  readonly replenishment = 'time';
  wake = (): void => undefined;
  readonly #throttle = new Tenths();
  readonly #tokens: Level;
  readonly #requests: Level;
  #read: number;

  constructor(
    readonly name: string,
    requests: number,
    tokens: number,
    at: number,
  ) {
    this.#tokens = new Level(tokens);
    this.#requests = new Level(requests);
    this.#read = at;
  }

  get capacity(): number {
    return this.#tokens.cap;
  }

  fits(mine: readonly number[], ahead: readonly number[], at: number): boolean {
    this.#refresh(at);
    const own = sum(mine);
    if (own > this.#tokens.cap) throw new Refusal(`${this.name}: ${own} tokens exceed ${this.#tokens.cap}`);
    if (mine.length > this.#requests.cap) {
      throw new Refusal(`${this.name}: ${mine.length} requests exceed ${this.#requests.cap}`);
    }
    return this.#covers(mine, ahead);
  }

  tryTake(mine: readonly number[], ahead: readonly number[], at: number): boolean {
    if (!this.fits(mine, ahead, at)) return false;
    this.#tokens.add(-sum(mine));
    this.#requests.add(-mine.length);
    return true;
  }

  give(amounts: readonly number[], at: number): void {
    this.#refresh(at);
    this.#tokens.add(sum(amounts));
    this.#requests.add(amounts.length);
    this.wake();
  }

  earliestFit(mine: readonly number[], ahead: readonly number[], at: number): number | null {
    this.#refresh(at);
    const tokens = sum(mine) + sum(ahead);
    const requests = mine.length + ahead.length;
    if (tokens > this.#tokens.cap || requests > this.#requests.cap) return null;
    const { value } = this.#throttle;
    return at + Math.max(this.#tokens.until(tokens, value), this.#requests.until(requests, value));
  }

  pressure(increments: number, at: number): void {
    this.#refresh(at);
    this.#throttle.raise(5 * increments, at);
  }

  success(at: number): void {
    this.#refresh(at);
    if (this.#throttle.success(at)) this.wake();
  }

  setConfig(requests: number, tokens: number, at: number): void {
    this.#refresh(at);
    const grows = requests > this.#requests.cap || tokens > this.#tokens.cap;
    this.#requests.cap = requests;
    this.#tokens.cap = tokens;
    this.#requests.clamp();
    this.#tokens.clamp();
    if (grows) this.wake();
  }

  inUse(at: number): number {
    this.#refresh(at);
    return this.#tokens.missing;
  }

  indicator(): string | null {
    return this.#throttle.indicator;
  }

  property(name: string, at: number): unknown {
    this.#refresh(at);
    switch (name) {
      case 'tokens':
        return this.#tokens.exact;
      case 'throttle':
        return this.#throttle.value / 10;
      case 'maxRequests':
        return this.#requests.cap;
      case 'availableRequests':
        return this.#requests.floored;
      case 'maxTokens':
        return this.#tokens.cap;
      case 'availableTokens':
        return this.#tokens.floored;
      default:
        return undefined;
    }
  }

  #covers(mine: readonly number[], ahead: readonly number[]): boolean {
    return this.#tokens.has(sum(mine) + sum(ahead)) && this.#requests.has(mine.length + ahead.length);
  }

  /** At the throttle that held until now. */
  #refresh(at: number): void {
    if (at <= this.#read) return;
    this.#tokens.refill(at - this.#read, this.#throttle.value);
    this.#requests.refill(at - this.#read, this.#throttle.value);
    this.#read = at;
  }
}
