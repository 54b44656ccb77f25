/** The account of a model's minute: tokens and requests, refilled by the clock, slowed down by pressure. */
import { AbstractAccount, type AccountOptions, type Log } from './account.js';
import { amountOf } from './amounts.js';
import { capsOf, limitsOf, refuseImpossible, type TokenBucketLimits } from './bucket-limits.js';
import { levelAt, wholeOf, type Level } from './level.js';
import { closed, fitsFrom, fullMinute, isClosed, loweredTo, moved, tokensFor, withCaps, type Minute, type Pair } from './minute.js';
import { TokenBucketStatus } from './statuses.js';
import { press, relax, relaxed, throttleIndicator, throttleOf, type Throttle, type ThrottleRule } from './throttle.js';
import { instant, nonNegative, share } from './validation.js';
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
  #limits: TokenBucketLimits;
  #minute: Minute;
  #throttle: Throttle = relaxed;

  constructor(options: TokenBucketOptions) {
    super(options.name, options);
    this.#log = options.log ?? console;
    this.#headroom = share('headroom', options.headroom ?? 0, this);
    this.#minute = fullMinute(capsOf(options, this.#headroom, this), this.now(0));
    this.#limits = limitsOf(options);
  }

  /** The token budget: what a full bucket holds. */
  get capacity(): number {
    return this.#minute.tokens.cap;
  }

  /** As given to the constructor or to the latest `setConfig`: before the headroom. */
  get limits(): TokenBucketLimits {
    return this.#limits;
  }

  /** 0 when healthy, up to 9: refill is 1 + throttle times slower. */
  get throttle(): number {
    return throttleOf(this.#throttle);
  }

  get #stretch(): number {
    return 1 + this.throttle;
  }

  /** The exact token level; negative while in debt. */
  tokens(at = this.#now()): number {
    return levelAt(this.#minute.tokens, this.#stretch, at);
  }

  /** The missing tokens, floored. */
  inUse(at = this.#now()): number {
    return wholeOf(this.capacity - this.tokens(at), this.#minute.tokens);
  }

  validate(amount: number): void {
    nonNegative('an amount of tokens', amount, this);
  }

  fits(mine: readonly number[], reservedAhead: readonly number[], at: number): boolean {
    const tokens = amountOf(mine);
    refuseImpossible(this.#minute, { tokens, requests: mine.length }, this);
    return tokens <= this.#roomFor(mine.length, reservedAhead, at);
  }

  room(reservedAhead: readonly number[], at: number): number {
    refuseImpossible(this.#minute, { tokens: 0, requests: 1 }, this);
    return this.#roomFor(1, reservedAhead, at);
  }

  tryTake(mine: readonly number[], reservedAhead: readonly number[], at: number): boolean {
    if (!this.fits(mine, reservedAhead, at)) return false;
    // Debt is left by adjustments alone: a take that the comparison's slack let through stops at zero.
    this.#move({ tokens: -amountOf(mine), requests: -mine.length }, at, 0);
    return true;
  }

  give(amounts: readonly number[], at: number): void {
    this.#move({ tokens: amountOf(amounts), requests: amounts.length }, at, -Infinity);
    this.capacityChanged();
  }

  adjust(delta: number, at: number): void {
    this.#move({ tokens: -delta, requests: 0 }, at, -Infinity);
    if (delta < 0) this.capacityChanged();
  }

  earliestFit(mine: readonly number[], reservedAhead: readonly number[], at: number): number | null {
    const asked = { tokens: amountOf(mine) + amountOf(reservedAhead), requests: mine.length + reservedAhead.length };
    return fitsFrom(this.#minute, this.#stretch, asked, at);
  }

  /** One 429: half a step of the nominal pace slower. */
  record429(at?: number): void {
    this.recordBackpressure(1, at);
  }

  /** `increments` signals at once, weighted by how hard the upstream asks the fleet to yield. Wakes nobody. */
  recordBackpressure(increments: number, at = this.#now()): void {
    nonNegative('increments', increments, this);
    if (increments > 0) this.#setThrottle(press(this.#throttle, increments, at, RULE), at);
  }

  override onRateLimitError(failure: UpstreamFailure, at?: number): void {
    this.#log.warn(`${this.name}: upstream failure: ${failure.summary}`);
    this.recordBackpressure(failure.weight, at);
  }

  override onSuccess(at = this.#now()): void {
    const before = this.#throttle.level;
    this.#setThrottle(relax(this.#throttle, at, RULE), at);
    if (this.#throttle.level < before) this.capacityChanged();
  }

  /**
   * New limits in place: the throttle stays, the levels are clamped down or left as they are.
   *
   * Growth of either number wakes the line; a shrink is noticed at the next pass. Unchanged limits do nothing.
   *
   * @throws RangeError when a limit is not a positive number.
   */
  setConfig(limits: TokenBucketLimits): void {
    const caps = capsOf(limits, this.#headroom, this);
    const { tokens, requests } = this.#minute;
    this.#limits = limitsOf(limits);
    const grows = caps.tokens > tokens.cap || caps.requests > requests.cap;
    if (!grows && caps.tokens === tokens.cap && caps.requests === requests.cap) return;
    this.#minute = withCaps(this.#minute, this.#stretch, caps, this.#now());
    if (grows) this.capacityChanged();
  }

  /**
   * Nobody enters before `until`, an instant of the admission's clock; the bucket is empty then, and refills from there on,
   * so that what waits comes in at the pace of the refill, and not as a herd. What is given back in the meantime pays
   * debts, and adds nothing.
   *
   * A later instant extends it, an earlier one changes nothing. Wakes nobody.
   *
   * @throws RangeError when `until` is not a number.
   *
   * @example
   * ```ts
   * gpt.closeUntil(admission.now() + retryAfterSeconds * 1_000);
   * ```
   */
  closeUntil(until: number, at = this.#now()): void {
    instant('the instant until which it closes', until, this);
    // A whole instant, as all that this account names.
    if (until > at) this.#minute = closed(this.#minute, this.#stretch, Math.ceil(until));
  }

  /**
   * At `asOf` no more than this was left, as the provider says: what is there beyond it, and beyond what the minute has
   * added since, is dropped. It never adds; what is not named stays. Wakes nobody.
   *
   * @throws RangeError when a number is negative or none.
   */
  lowerTo({ tokens = Infinity, requests = Infinity }: Partial<Pair>, asOf: number, at = this.#now()): void {
    for (const [what, left] of Object.entries({ tokens, requests })) {
      if (left !== Infinity) nonNegative(`the ${what} left`, left, this);
    }
    instant('the instant of what is left', asOf, this);
    this.#minute = loweredTo(this.#minute, this.#stretch, { tokens, requests }, asOf, at);
  }

  status(at = this.#now()): TokenBucketStatus {
    const { tokens, requests, closedUntil } = this.#minute;
    const whole = (level: Level): number => wholeOf(levelAt(level, this.#stretch, at), level);
    const until = isClosed(this.#minute, at) ? closedUntil : null;
    return new TokenBucketStatus(requests.cap, whole(requests), tokens.cap, whole(tokens), at, until);
  }

  override statusIndicator(at = this.#now()): string | null {
    return isClosed(this.#minute, at) ? 'blocked' : throttleIndicator(this.#throttle);
  }

  #now(): number {
    return this.now(this.#minute.tokens.since);
  }

  #roomFor(requests: number, reservedAhead: readonly number[], at: number): number {
    return tokensFor(this.#minute, this.#stretch, requests + reservedAhead.length, at) - amountOf(reservedAhead);
  }

  #move(by: Pair, at: number, floor: number): void {
    this.#minute = moved(this.#minute, this.#stretch, by, at, floor);
  }

  #setThrottle(next: Throttle, at: number): void {
    // What was refilled so far was refilled at the old pace.
    if (next.level !== this.#throttle.level) this.#move({ tokens: 0, requests: 0 }, at, -Infinity);
    this.#throttle = next;
  }
}
