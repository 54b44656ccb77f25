/** The account of a model's minute: tokens and requests, refilled by the clock, slowed down by pressure. */
import { RefusedError } from '../errors.js';
import { AbstractAccount, type AccountOptions, type Log } from './account.js';
import { amountOf } from './amounts.js';
import { available, coveredFrom, full, levelAt, moveLevel, wholeOf, withCap, type Level } from './level.js';
import { TokenBucketStatus } from './statuses.js';
import { press, relax, relaxed, throttleIndicator, throttleOf, type Throttle, type ThrottleRule } from './throttle.js';
import { nonNegative, positive, share, withHeadroom } from './validation.js';
import type { UpstreamFailure } from './upstream-failure.js';

/** Inside admission, "The token bucket": 0.5 up, 0.2 down per third success, 0.5 down after five quiet minutes. */
const RULE: ThrottleRule = {
  increment: 0.5,
  decrement: 0.2,
  recovery: 0.5,
  max: 9,
  successesPerDecrease: 3,
  recoveryInterval: 300_000,
};

export interface TokenBucketLimits {
  /** Tokens refilled per minute, and the most that can be there. */
  readonly tokensPerMinute: number;
  /** Requests per minute; every amount of a demand is one request. Unlimited unless given. */
  readonly requestsPerMinute?: number | undefined;
}

export interface TokenBucketOptions extends TokenBucketLimits, AccountOptions {
  /** The model's name. */
  readonly name: string;
  /** Share of both limits left unused (0 to below 1, default 0): two buckets never tick together. */
  readonly headroom?: number | undefined;
  readonly log?: Log | undefined;
}

/**
 * A token bucket in two dimensions. An amount is a number of LLM tokens, and each amount is one request.
 *
 * **Always name the tokens**, `demand([gpt, tokens])`: as everywhere, an account alone is one permit, so `demand(gpt)` asks
 * for a single token and lets a call of thousands through.
 *
 * Time brings the tokens back, so a release returns nothing and a rollback returns everything.
 *
 * @throws RangeError when a limit is not a positive number, or headroom is not a share.
 *
 * @example
 * ```ts
 * const gpt = new TokenBucket({ name: 'gpt-5', tokensPerMinute: 200_000, requestsPerMinute: 500, headroom: 0.05 });
 * prompts$.pipe(admit((p) => demand([gpt, p.tokens]), chat));
 * ```
 */
export class TokenBucket extends AbstractAccount {
  override readonly replenishment = 'time';
  override readonly category = 'token_bucket';
  readonly #log: Log;
  readonly #headroom: number;
  #tokens: Level;
  #requests: Level;
  #throttle: Throttle = relaxed;

  constructor(options: TokenBucketOptions) {
    super(options.name, options);
    this.#log = options.log ?? console;
    this.#headroom = share('headroom', options.headroom ?? 0, this);
    const { tokens, requests } = this.#scaled(options);
    const since = this.now(0);
    this.#tokens = full(tokens, since);
    this.#requests = full(requests, since);
  }

  /** The token budget: what a full bucket holds. */
  get capacity(): number {
    return this.#tokens.cap;
  }

  /** 0 when healthy, up to 9: refill is 1 + throttle times slower. */
  get throttle(): number {
    return throttleOf(this.#throttle);
  }

  get #stretch(): number {
    return 1 + this.throttle;
  }

  /** The exact token level; negative while in debt. */
  tokens(at = this.now(this.#tokens.since)): number {
    return levelAt(this.#tokens, this.#stretch, at);
  }

  /** The missing tokens, floored. */
  inUse(at = this.now(this.#tokens.since)): number {
    return wholeOf(this.#tokens.cap - this.tokens(at), this.#tokens);
  }

  validate(amount: number): void {
    nonNegative('an amount of tokens', amount, this);
  }

  fits(mine: readonly number[], reservedAhead: readonly number[], at: number): boolean {
    const tokens = amountOf(mine);
    this.#refuseImpossible(tokens, mine.length);
    return tokens <= this.#tokenRoom(reservedAhead, at) && this.#hasRequests(mine.length + reservedAhead.length, at);
  }

  room(reservedAhead: readonly number[], at: number): number {
    this.#refuseImpossible(0, 1);
    return this.#hasRequests(1 + reservedAhead.length, at) ? this.#tokenRoom(reservedAhead, at) : -Infinity;
  }

  tryTake(mine: readonly number[], reservedAhead: readonly number[], at: number): boolean {
    if (!this.fits(mine, reservedAhead, at)) return false;
    // Debt is left by adjustments alone: a take that the comparison's slack let through stops at zero.
    this.#move(-amountOf(mine), -mine.length, at, 0);
    return true;
  }

  give(amounts: readonly number[], at: number): void {
    this.#move(amountOf(amounts), amounts.length, at, -Infinity);
    this.capacityChanged();
  }

  adjust(delta: number, at: number): void {
    this.#tokens = moveLevel(this.#tokens, this.#stretch, -delta, at, -Infinity);
    if (delta < 0) this.capacityChanged();
  }

  earliestFit(mine: readonly number[], reservedAhead: readonly number[], at: number): number | null {
    const tokens = amountOf(mine) + amountOf(reservedAhead);
    const byTokens = coveredFrom(this.#tokens, this.#stretch, tokens, at);
    const byRequests = coveredFrom(this.#requests, this.#stretch, mine.length + reservedAhead.length, at);
    return byTokens === null || byRequests === null ? null : Math.max(byTokens, byRequests);
  }

  /** One 429: half a step of the nominal pace slower. */
  record429(at?: number): void {
    this.recordBackpressure(1, at);
  }

  /** `increments` signals at once, weighted by how hard the upstream asks the fleet to yield. Wakes nobody. */
  recordBackpressure(increments: number, at = this.now(this.#tokens.since)): void {
    nonNegative('increments', increments, this);
    if (increments > 0) this.#setThrottle(press(this.#throttle, increments, at, RULE), at);
  }

  override onRateLimitError(failure: UpstreamFailure, at?: number): void {
    this.#log.warn(`${this.name}: upstream failure: ${failure.summary}`);
    this.recordBackpressure(failure.weight, at);
  }

  override onSuccess(at = this.now(this.#tokens.since)): void {
    const before = this.#throttle.level;
    this.#setThrottle(relax(this.#throttle, at, RULE), at);
    if (this.#throttle.level < before) this.capacityChanged();
  }

  /**
   * New limits in place: the throttle stays, the levels are clamped down or left as they are.
   *
   * Growth of either number wakes the line; a shrink is noticed at the next pass. Unchanged limits do nothing.
   */
  setConfig(limits: TokenBucketLimits): void {
    const { tokens, requests } = this.#scaled(limits);
    const grows = tokens > this.#tokens.cap || requests > this.#requests.cap;
    if (!grows && tokens === this.#tokens.cap && requests === this.#requests.cap) return;
    const at = this.now(this.#tokens.since);
    this.#tokens = withCap(this.#tokens, this.#stretch, tokens, at);
    this.#requests = withCap(this.#requests, this.#stretch, requests, at);
    if (grows) this.capacityChanged();
  }

  status(at = this.now(this.#tokens.since)): TokenBucketStatus {
    const whole = (level: Level): number => wholeOf(levelAt(level, this.#stretch, at), level);
    return new TokenBucketStatus(
      this.#requests.cap,
      whole(this.#requests),
      this.#tokens.cap,
      whole(this.#tokens),
      at,
    );
  }

  override statusIndicator(): string | null {
    return throttleIndicator(this.#throttle);
  }

  #scaled(limits: TokenBucketLimits): { tokens: number; requests: number } {
    const tokens = positive('tokensPerMinute', limits.tokensPerMinute, this);
    const requests = limits.requestsPerMinute;
    if (requests !== undefined && requests !== Infinity) positive('requestsPerMinute', requests, this);
    const scaled = (limit: number): number => withHeadroom(limit, this.#headroom);
    return { tokens: scaled(tokens), requests: requests === undefined ? Infinity : scaled(requests) };
  }

  #tokenRoom(reservedAhead: readonly number[], at: number): number {
    return available(this.#tokens, this.#stretch, at) - amountOf(reservedAhead);
  }

  #hasRequests(requests: number, at: number): boolean {
    return requests <= available(this.#requests, this.#stretch, at);
  }

  #refuseImpossible(tokens: number, requests: number): void {
    if (tokens > this.#tokens.cap) {
      throw new RefusedError(
        `${this.name}: ${String(tokens)} tokens exceed the budget of ${String(this.#tokens.cap)} tokens per minute; ` +
          'send less at once',
        { account: this.name },
      );
    }
    if (requests > this.#requests.cap) {
      throw new RefusedError(
        `${this.name}: ${String(requests)} requests exceed the budget of ${String(this.#requests.cap)} requests per minute; ` +
          'ask for fewer at once',
        { account: this.name },
      );
    }
  }

  #move(tokens: number, requests: number, at: number, floor: number): void {
    this.#tokens = moveLevel(this.#tokens, this.#stretch, tokens, at, floor);
    this.#requests = moveLevel(this.#requests, this.#stretch, requests, at, floor);
  }

  #setThrottle(next: Throttle, at: number): void {
    if (next.level !== this.#throttle.level) {
      // What was refilled so far was refilled at the old pace.
      this.#tokens = moveLevel(this.#tokens, this.#stretch, 0, at, -Infinity);
      this.#requests = moveLevel(this.#requests, this.#stretch, 0, at, -Infinity);
    }
    this.#throttle = next;
  }
}
