/** A gate whose number of permits follows what it measures of the work that holds them. */
import { amountOf, CountingGate, RefusedError, type Grant, type Log, type UpstreamFailure } from '../index.js';
import { controlled, failed, heard, limitOf, type Control, type ControlRule, type Dropped, type Measured } from './adaptive-control.js';
import { assertWithin, controlRuleOf, measureOf, type AdaptiveGateOptions } from './adaptive-options.js';
import { AdaptiveStatus } from './adaptive-status.js';

/**
 * A counting gate with a limit that adapts, between `min` and `max`. What it learns from is the outcome of each call:
 * a success counts with its latency, pressure as a job that was dropped, and what is ignored not at all.
 *
 * @throws RangeError when a number is out of bounds, TypeError when there is no limit algorithm.
 *
 * @example
 * ```ts
 * const search = adaptiveGate({ name: 'search', limit: vegas(), min: 4, max: 200, initial: 20 });
 * queries$.pipe(admit(() => demand(search), (query, grant) => find(query, grant.signal)));
 * ```
 *
 * @example A long stream counts by its first value
 * ```ts
 * const chat = adaptiveGate({ name: 'chat', limit: gradient2(), min: 2, max: 64, initial: 8, sample: 'marked' });
 * prompts$.pipe(admit(() => demand(chat), (prompt, grant) => stream(prompt).pipe(tap(() => chat.mark(grant)))));
 * ```
 */
export function adaptiveGate(options: AdaptiveGateOptions): AdaptiveGate {
  return new AdaptiveGate(options);
}

/** A grant counts in full whatever the limit does meanwhile: fewer permits cut no admitted work, more wake the line. */
export class AdaptiveGate extends CountingGate {
  readonly min: number;
  readonly max: number;
  readonly #rule: ControlRule;
  readonly #measure: 'end' | 'marked';
  readonly #log: Log;
  /** When each take was made that has not been given back. */
  readonly #takenAt = new WeakMap<object, number>();
  readonly #marked = new WeakSet<Grant>();
  /** Successes since the last mark. */
  #unmarked = 0;
  #control: Control;
  #changes = 0;
  #hasWarned = false;

  constructor(options: AdaptiveGateOptions) {
    const rule = controlRuleOf(options);
    super({ ...options, capacity: options.initial });
    this.min = rule.min;
    this.max = rule.max;
    this.#rule = rule;
    this.#measure = measureOf(options);
    this.#log = options.log ?? console;
    // What is granted at any instant of any clock counts.
    this.#control = controlled(options.initial, -Infinity, rule);
    super.resize(limitOf(this.#control, rule));
  }

  override fits(mine: readonly number[], reservedAhead: readonly number[]): boolean {
    const own = amountOf(mine);
    if (own > this.min) {
      throw new RefusedError(
        `${this.name}: ${String(own)} permits may never fit, since the limit may come down to ${String(this.min)}; ` +
          'ask for fewer at once, or raise min',
        { account: this.name },
      );
    }
    return own <= this.room(reservedAhead);
  }

  override room(reservedAhead: readonly number[]): number {
    return Math.min(this.min, super.room(reservedAhead));
  }

  override earliestFit(mine: readonly number[], reservedAhead: readonly number[], at: number): number | null {
    return amountOf(mine) > this.min ? null : super.earliestFit(mine, reservedAhead, at);
  }

  override tryTake(mine: readonly number[], reservedAhead: readonly number[], at: number, receipt?: object): boolean {
    if (!super.tryTake(mine, reservedAhead, at)) return false;
    if (receipt !== undefined) this.#takenAt.set(receipt, at);
    return true;
  }

  override give(amounts: readonly number[], at: number, receipt?: object): void {
    super.give(amounts, at);
    if (receipt !== undefined) this.#takenAt.delete(receipt);
  }

  /** Told by hand, without the receipt of a take, it is a success that nobody measured. */
  override onSuccess(at = this.now(0), _input?: number, receipt?: object): void {
    switch (this.#measure) {
      case 'end': {
        const grantedAt = this.#grantedAt(receipt);
        // It ran on a permit that somebody else took, and ends with its own latency.
        if (receipt !== undefined && grantedAt === null) return;
        this.#hear({ kind: 'latency', latency: grantedAt === null ? null : at - grantedAt, grantedAt, inFlight: this.inUse(), at });
        return;
      }
      case 'marked':
        this.#unmarked += 1;
        // No more are out at once: of more successes in a row than that, one began after the last mark and had none.
        if (this.#unmarked > this.max) {
          this.#unmarked = 0;
          this.#become(failed(this.#control, `more than ${String(this.max)} successes without a mark`, at, this.#rule));
        }
    }
  }

  /** Pressure: the job was dropped. What weighs nothing says nothing of load. */
  override onRateLimitError(failure: UpstreamFailure, at = this.now(0), _input?: number, receipt?: object): void {
    if (failure.weight <= 0) return;
    this.#hear({ kind: 'dropped', grantedAt: this.#grantedAt(receipt), inFlight: this.inUse(), at });
  }

  /**
   * Says what the latency of a grant is: the time since it was granted, or one that was measured elsewhere, in ms. The
   * first call for a grant counts and the rest do nothing, so that it may stand in a `tap` of every value.
   *
   * @throws TypeError when the gate measures to the end; RangeError when the grant has no permit of this gate.
   */
  mark(grant: Grant, latency = grant.age): void {
    if (this.#measure !== 'marked') throw new TypeError(`${this.name} measures to the end of the work; say sample: 'marked'`);
    // What runs on a permit that somebody else took is a part of that work, and no measure of it.
    if (grant.settled || grant.borrows(this)) return;
    if (!grant.demand.entries.some(({ account }) => account === this)) {
      throw new RangeError(`this grant's demand does not name the account "${this.name}"`);
    }
    if (this.#marked.has(grant)) return;
    this.#marked.add(grant);
    this.#unmarked = 0;
    const { grantedAt, age } = grant;
    this.#hear({ kind: 'latency', latency, grantedAt, inFlight: this.inUse(), at: grantedAt + age });
  }

  /** Sets the limit by hand, within the bounds; the algorithm begins anew from there. */
  override resize(limit: number): void {
    assertWithin(this.name, 'the limit', limit, this.#rule);
    this.#become(controlled(limit, this.now(-Infinity), this.#rule));
  }

  override status(): AdaptiveStatus {
    const { algorithm, min, max } = this.#rule;
    const { failure, latency, state } = this.#control;
    const isProbing = state?.hold !== undefined;
    return new AdaptiveStatus(super.status(), algorithm.name, min, max, failure, isProbing, latency, this.#changes);
  }

  #grantedAt(receipt: object | undefined): number | null {
    return receipt === undefined ? null : (this.#takenAt.get(receipt) ?? null);
  }

  #hear(told: Measured | Dropped): void {
    this.#become(heard(this.#control, told, this.#rule));
  }

  #become(control: Control): void {
    this.#control = control;
    const limit = limitOf(control, this.#rule);
    if (control.failure !== null && !this.#hasWarned) {
      this.#hasWarned = true;
      this.#log.warn(`${this.name}: the limit is static at ${String(limit)} while its signal fails: ${control.failure}`);
    }
    if (limit === this.capacity) return;
    this.#changes += 1;
    super.resize(limit);
  }
}
