/** Gates: so many permits out at once, given back when the work ends. */
import { Subject } from 'rxjs';
import { RefusedError } from '../errors.js';
import { AbstractAccount, type AccountOptions, type Announcements } from './account.js';
import { amountOf } from './amounts.js';
import { SemaphoreStatus } from './statuses.js';
import { positiveInteger } from './validation.js';

export interface CountingGateOptions extends AccountOptions {
  readonly name: string;
  /** Permits; a positive whole number. */
  readonly capacity: number;
}

/**
 * A weighted counting semaphore. An amount is a number of permits.
 *
 * @throws RangeError when the capacity is not a positive whole number.
 *
 * @example
 * ```ts
 * const pool = new CountingGate({ name: 'pool', capacity: 32 });
 * jobs$.pipe(admit((job) => demand([pool, job.connections]), work));
 * ```
 */
export class CountingGate extends AbstractAccount {
  override readonly category = 'semaphore';
  readonly shrinks: Announcements;
  readonly #shrinks = new Subject<void>();
  #capacity: number;
  #taken = 0;
  #paused = false;
  #revision = 0;
  #lastActivity: number;

  constructor(options: CountingGateOptions) {
    super(options.name, options);
    this.shrinks = this.#shrinks;
    this.#capacity = positiveInteger('capacity', options.capacity, this);
    this.#lastActivity = this.now(0);
    if (!answersAsGate(this)) this.#revision = NaN;
  }

  get capacity(): number {
    return this.#capacity;
  }

  get revision(): number {
    return this.#revision;
  }

  get paused(): boolean {
    return this.#paused;
  }

  inUse(): number {
    return this.#taken;
  }

  validate(amount: number): void {
    positiveInteger('an amount of permits', amount, this);
  }

  fits(mine: readonly number[], reservedAhead: readonly number[]): boolean {
    const own = amountOf(mine);
    if (own > this.#capacity) {
      throw new RefusedError(
        `${this.name}: ${String(own)} permits can never fit ${String(this.#capacity)}; ask for fewer at once`,
        { account: this.name },
      );
    }
    return own <= this.room(reservedAhead);
  }

  room(reservedAhead: readonly number[]): number {
    return this.#paused ? -Infinity : this.#capacity - this.#taken - amountOf(reservedAhead);
  }

  tryTake(mine: readonly number[], reservedAhead: readonly number[], at: number): boolean {
    if (!this.fits(mine, reservedAhead)) return false;
    this.#taken += amountOf(mine);
    this.#revision += 1;
    this.#lastActivity = at;
    return true;
  }

  give(amounts: readonly number[], at: number): void {
    // Never below none: permits that nobody took cannot be given back.
    this.#taken = Math.max(0, this.#taken - amountOf(amounts));
    this.#revision += 1;
    this.#lastActivity = at;
  }

  /** Null while permits are short: only a release helps, and nobody knows when it comes. */
  earliestFit(mine: readonly number[], reservedAhead: readonly number[], at: number): number | null {
    const wanted = this.#taken + amountOf(mine) + amountOf(reservedAhead);
    return !this.#paused && wanted <= this.#capacity ? at : null;
  }

  /**
   * A new number of permits, at any time. More wakes the line; fewer cuts no admitted work: new work waits until what
   * is out fits, and waiters that can never fit any more are refused in the same turn.
   */
  resize(capacity: number): void {
    const before = this.#capacity;
    this.#capacity = positiveInteger('capacity', capacity, this);
    this.#revision += 1;
    if (capacity > before) this.capacityChanged();
    else if (capacity < before) this.#shrinks.next();
  }

  /** Strict: nothing starts on this gate after this returns, until `resume`. */
  pause(): void {
    this.#paused = true;
    this.#revision += 1;
    this.#shrinks.next();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#revision += 1;
    this.capacityChanged();
  }

  status(): SemaphoreStatus {
    const free = this.#capacity - this.#taken;
    return new SemaphoreStatus(this.#capacity, Math.max(0, free), this.#lastActivity, Math.max(0, -free));
  }
}

/** The places a model gives to calls at once (`max_concurrent`), named after the model. */
export class ModelGate extends CountingGate {}

/** The bound of a database, `db:<name>`: one permit is one held connection. */
export class DatabaseGate extends CountingGate {
  constructor(options: CountingGateOptions) {
    super({ ...options, name: `db:${options.name}` });
  }
}

export interface HttpGateOptions extends AccountOptions {
  /** `http` unless given. */
  readonly name?: string | undefined;
  readonly capacity: number;
}

/** The places of the HTTP pool; an admission adds it to every demand that names an account which needs a connection. */
export class HttpGate extends CountingGate {
  constructor(options: HttpGateOptions) {
    super({ ...options, name: options.name ?? 'http' });
  }
}

/** False for a class that answers in its own way: nobody knows what it goes by. */
const answersAsGate = (gate: CountingGate): boolean =>
  (['fits', 'room'] as const).every((verb) => gate[verb] === CountingGate.prototype[verb]);
