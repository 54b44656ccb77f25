/** The account of an upstream that counts requests in a window: it stretches under pressure and has a circuit. */
import { RefusedError } from '../errors.js';
import { AbstractAccount, type AccountOptions, type Log } from './account.js';
import { amountOf } from './amounts.js';
import {
  circuitAt,
  claimed,
  failed,
  healthy,
  ownsProbe,
  succeeded,
  turnedAway,
  withdrawn,
  type Circuit,
  type CircuitRule,
} from './circuit.js';
import { Stamps } from './stamps.js';
import { ElasticWindowStatus, type CircuitName } from './statuses.js';
import {
  isAtMax,
  press,
  relax,
  relaxed,
  stretched,
  throttleIndicator,
  throttleOf,
  type Throttle,
  type ThrottleRule,
} from './throttle.js';
import type { UpstreamFailure } from './upstream-failure.js';
import { nonNegative, positive, positiveInteger, share, withHeadroom } from './validation.js';

export interface ElasticWindowOptions extends AccountOptions {
  /** Unless given, the class name without its `RateLimiter` suffix. */
  readonly name?: string | undefined;
  /** Requests that fit one window. */
  readonly maxRequests: number;
  /** Length of an unstretched window, ms. */
  readonly baseWindow: number;
  /** Share of the requests left unused (0 to below 1, default 0). */
  readonly headroom?: number | undefined;
  readonly throttleIncrement?: number | undefined;
  readonly throttleDecrement?: number | undefined;
  /** After `recoveryInterval` quiet ms each success takes off this many times the decrement (2.5). */
  readonly recoveryMultiplier?: number | undefined;
  readonly recoveryInterval?: number | undefined;
  readonly maxThrottle?: number | undefined;
  readonly successesPerDecrease?: number | undefined;
  readonly failuresAtMaxToBlock?: number | undefined;
  readonly initialCooldown?: number | undefined;
  readonly maxCooldown?: number | undefined;
  readonly probeTimeout?: number | undefined;
  readonly log?: Log | undefined;
}

/**
 * So many requests in any window of so many ms. An amount is a number of requests.
 *
 * The window is 1 + throttle times as long as its base. Pressure stretches it, successes relax it; three failures at the
 * greatest throttle open the circuit: everyone is refused until the cooldown is over, then the head sends one probe.
 *
 * @throws RangeError when one of the template's values is out of bounds.
 *
 * @example
 * ```ts
 * const search = new ElasticWindow({ name: 'search', maxRequests: 10, baseWindow: 1_000 });
 * queries$.pipe(admit(demand(search), (q) => ask(q)));
 * ```
 */
export class ElasticWindow extends AbstractAccount {
  declare readonly replenishment: 'time';
  override readonly category = 'elastic_window';
  override readonly requiresHttpConnection = true;
  readonly capacity: number;
  readonly #baseWindow: number;
  readonly #throttling: ThrottleRule;
  readonly #breaking: CircuitRule;
  readonly #log: Log;
  readonly #stamps = new Stamps();
  #throttle: Throttle = relaxed;
  #circuit: Circuit = healthy;
  #lastFailure: UpstreamFailure | null = null;
  /** The latest instant anyone named: what `now` falls back to before a clock is bound. */
  #seen = 0;

  constructor(options: ElasticWindowOptions) {
    super(options.name ?? new.target.name.replace(/(?<=.)RateLimiter$/, ''), options);
    // A window binds after the work that took a slot has finished: no subclass may answer otherwise.
    Object.defineProperty(this, 'replenishment', { value: 'time', writable: false, configurable: false });
    const max = positiveInteger('maxRequests', options.maxRequests, this);
    this.capacity = withHeadroom(max, share('headroom', options.headroom ?? 0, this));
    this.#baseWindow = positive('baseWindow', options.baseWindow, this);
    this.#log = options.log ?? console;
    const decrement = nonNegative('throttleDecrement', options.throttleDecrement ?? 0.2, this);
    this.#throttling = {
      increment: nonNegative('throttleIncrement', options.throttleIncrement ?? 1, this),
      decrement,
      recovery: decrement * nonNegative('recoveryMultiplier', options.recoveryMultiplier ?? 2.5, this),
      max: nonNegative('maxThrottle', options.maxThrottle ?? 9, this),
      successesPerDecrease: positiveInteger('successesPerDecrease', options.successesPerDecrease ?? 3, this),
      recoveryInterval: nonNegative('recoveryInterval', options.recoveryInterval ?? 300_000, this),
    };
    const initialCooldown = positive('initialCooldown', options.initialCooldown ?? 30_000, this);
    const maxCooldown = positive('maxCooldown', options.maxCooldown ?? Math.max(3_600_000, initialCooldown), this);
    if (maxCooldown < initialCooldown) {
      throw new RangeError(
        `${this.name}: maxCooldown must be at least initialCooldown (${String(initialCooldown)}), not ${String(maxCooldown)}`,
      );
    }
    this.#breaking = {
      failuresAtMaxToBlock: positiveInteger('failuresAtMaxToBlock', options.failuresAtMaxToBlock ?? 3, this),
      initialCooldown,
      maxCooldown,
      probeTimeout: positive('probeTimeout', options.probeTimeout ?? maxCooldown, this),
    };
  }

  /** 0 when healthy: the window is 1 + throttle times its base. */
  get throttle(): number {
    return throttleOf(this.#throttle);
  }

  get circuit(): CircuitName {
    return this.#circuit.name;
  }

  get effectiveWindowMs(): number {
    return stretched(this.#baseWindow, this.#throttle);
  }

  /** ms until the head may probe; zero unless blocked. */
  cooldownRemainingMs(at = this.#now()): number {
    return this.#circuit.name === 'BLOCKED' ? Math.max(0, this.#circuit.until - at) : 0;
  }

  inUse(at = this.#now()): number {
    return this.#stamps.liveAfter(at - this.effectiveWindowMs);
  }

  validate(amount: number): void {
    positiveInteger('an amount of requests', amount, this);
  }

  fits(mine: readonly number[], reservedAhead: readonly number[], at: number): boolean {
    this.#question(at);
    const own = amountOf(mine);
    if (own > this.capacity) {
      throw new RefusedError(
        `${this.name}: ${String(own)} requests can never fit a window of ${String(this.capacity)}; ask for fewer at once`,
        { account: this.name },
      );
    }
    return own <= this.room(reservedAhead, at);
  }

  room(reservedAhead: readonly number[], at: number): number {
    this.#question(at);
    const refusal = turnedAway(this.#circuit, reservedAhead.length > 0, at);
    if (refusal) throw this.#refusal(refusal.why, refusal.until, at);
    return this.capacity - this.inUse(at) - amountOf(reservedAhead);
  }

  tryTake(mine: readonly number[], reservedAhead: readonly number[], at: number, receipt?: object): boolean {
    if (!this.fits(mine, reservedAhead, at)) return false;
    const slots = amountOf(mine);
    this.#stamps.add(slots, at);
    this.#circuit = claimed(this.#circuit, slots, at, receipt);
    return true;
  }

  /** Drops the newest stamps, never those of a probe that is somebody else's. */
  give(amounts: readonly number[], at: number, receipt?: object): void {
    this.#look(at);
    const probe = this.#circuit;
    const own = ownsProbe(probe, receipt);
    this.#stamps.drop(amountOf(amounts), probe.name === 'PROBING' && !own ? probe.slots : 0);
    if (own) this.#circuit = withdrawn(probe);
  }

  earliestFit(mine: readonly number[], reservedAhead: readonly number[], at: number): number | null {
    this.#look(at);
    const wanted = amountOf(mine) + amountOf(reservedAhead);
    if (wanted > this.capacity) return null;
    const deficit = this.inUse(at) + wanted - this.capacity;
    // The window's answer alone: an open circuit refuses its askers, so nobody waits for it.
    return deficit <= 0 ? at : this.#stamps.oldest(deficit) + this.effectiveWindowMs;
  }

  /** A failure: the throttle goes up a step, and at its maximum the circuit counts it. */
  recordPressure(at = this.#now()): void {
    this.#press(1, at);
    const before = this.#circuit.name;
    this.#circuit = failed(this.#circuit, isAtMax(this.#throttle, this.#throttling), at, this.#breaking);
    if (this.#circuit.name === 'BLOCKED' && before !== 'BLOCKED') {
      this.#log.warn(`${this.name}: circuit open for ${String(Math.round(this.cooldownRemainingMs(at)))}ms: ${this.#lastWords()}`);
    }
  }

  /** Pressure that somebody advises: it raises the throttle and never opens the circuit. */
  recordAdvisory(at = this.#now()): void {
    this.#press(1, at);
  }

  override onRateLimitError(failure: UpstreamFailure, at = this.#now()): void {
    this.#lastFailure = failure;
    // Of whatever weight: the circuit counts failures, and a failure without weight is none of this account's.
    if (failure.weight <= 0) return;
    if (failure.weight > 1) this.#press(failure.weight - 1, at);
    this.recordPressure(at);
  }

  override onSuccess(at = this.#now()): void {
    this.#look(at);
    const { level } = this.#throttle;
    const { name } = this.#circuit;
    this.#throttle = relax(this.#throttle, at, this.#throttling);
    this.#circuit = succeeded(this.#circuit);
    if (this.#throttle.level < level || this.#circuit.name !== name) this.capacityChanged();
  }

  status(at = this.#now()): ElasticWindowStatus {
    const available = Math.max(0, this.capacity - this.inUse(at));
    return new ElasticWindowStatus(this.capacity, available, this.throttle, this.effectiveWindowMs, this.circuit);
  }

  override statusIndicator(): string | null {
    switch (this.#circuit.name) {
      case 'BLOCKED':
        return 'blocked';
      case 'PROBING':
        return 'probing';
      case 'HEALTHY':
        return throttleIndicator(this.#throttle);
    }
  }

  #now(): number {
    return this.now(this.#seen);
  }

  /** Only a question notices that a probe said nothing in time; until then a late verdict still counts. */
  #question(at: number): void {
    this.#look(at);
    this.#circuit = circuitAt(this.#circuit, at, this.#breaking);
  }

  /** A stamp that has left stays left. */
  #look(at: number): void {
    this.#seen = Math.max(this.#seen, at);
    this.#stamps.forgetUpTo(at - this.effectiveWindowMs);
  }

  #press(increments: number, at: number): void {
    this.#look(at);
    this.#throttle = press(this.#throttle, increments, at, this.#throttling);
  }

  #lastWords(): string {
    return this.#lastFailure === null ? 'no upstream response was recorded' : `last response ${this.#lastFailure.summary}`;
  }

  #refusal(why: 'cooldown' | 'probe', until: number | null, at: number): RefusedError {
    const rate = `${String(this.capacity)} requests / ${String(this.#baseWindow / 1_000)}s`;
    const state =
      until === null
        ? 'a single probe in flight decides whether it recovers'
        : `a cooldown is active for ${String(Math.floor((until - at) / 1_000))}s more`;
    return new RefusedError(
      `${this.name} (${rate}) takes no requests: ${why === 'probe' ? 'circuit half-open, ' : ''}${state}; ${this.#lastWords()}. ` +
        'Do not repeat the call: use another approach.',
      { account: this.name, retryAt: until ?? undefined },
    );
  }
}
