/** What an account is: it answers about amounts and moves numbers, and never parks anyone. */
import { Subject, type Observable, type SchedulerLike, type TeardownLogic } from 'rxjs';
import { bindClock, clockOf } from '../clock.js';
import { learnsNothing } from './learning.js';
import type { AccountStatus } from './statuses.js';
import type { UpstreamFailure } from './upstream-failure.js';
import { nonNegative } from './validation.js';

/** What an amount is debited from: the account itself, or the bucket that a router chose. */
export type Identity = object | string | symbol;

/**
 * The contract of an account, the one thing a user implements to bring a scarcity of their own.
 *
 * Amounts are whatever the account counts in. Time (`at`, ms on the admission's clock) is an argument, so an account
 * needs no clock to be asked. Every method answers at once: no promise, no observable, no timer.
 */
export interface Account<A = number> {
  readonly name: string;
  /** `release`: capacity comes back when the work ends. `time`: the clock brings it back, whatever the work does. */
  readonly replenishment: 'release' | 'time';
  readonly capacity: number;
  /** "There may be more now." Never emitted for less. Any number of admissions listen. */
  readonly capacityChanges: Observable<void>;

  inUse(at: number): number;
  /**
   * Whether `mine` fits now with `reservedAhead` set aside.
   *
   * @throws RefusedError when `mine` alone can never fit, or when everyone is refused; any other throw is a bug of the
   * account and costs the asking waiter its wait. A clash with the reservation is a plain `false`.
   */
  fits(mine: readonly A[], reservedAhead: readonly A[], at: number): boolean;
  /** The same check and the debit in one step. `receipt` ties a later `give` to this take. */
  tryTake(mine: readonly A[], reservedAhead: readonly A[], at: number, receipt?: object): boolean;
  /** Credits back: at release (`release` accounts), at rollback and as compensation (all). */
  give(amounts: readonly A[], at: number, receipt?: object): void;
  /** The instant `fits` turns true from the clock alone; null when only an event helps; a past instant means now. */
  earliestFit(mine: readonly A[], reservedAhead: readonly A[], at: number): number | null;

  readonly category?: string;
  /**
   * The greatest single amount that fits now beside `reservedAhead`; below every amount when none does. An account that
   * offers it promises that amounts compare (what fits, fits at less), that `fits` answers just this, that nothing above
   * `capacity` ever fits, and that `earliestFit` never throws. The line then finds who can go without asking everyone.
   *
   * @throws RefusedError when everyone is refused.
   */
  room?(reservedAhead: readonly A[], at: number): number;
  /**
   * Grows with whatever may change an answer. An account that offers it promises that `fits` and `room` answer the same as
   * long as it is the same, at any instant: whoever arrives then does not have the whole line asked again.
   */
  readonly revision?: number;
  accountFor?(amount: A): Identity;
  /** @throws RangeError when the account does not count in such an amount. */
  validate?(amount: A): void;
  /** Moves the debit by `delta` once the real amount is known (`grant.charge`); may leave debt. */
  adjust?(delta: number, at: number): void;
  status?(at?: number): AccountStatus;
  /** null when nominal, else `blocked`, `probing`, `throttle:<n>x` or `pace:<n>ms`. */
  statusIndicator?(at?: number): string | null;
  /** `receipt` is that of the take whose work ended so, before its `give`; none where it is told by hand. */
  onSuccess?(at?: number, input?: A, receipt?: object): void;
  onRateLimitError?(failure: UpstreamFailure, at?: number, input?: A, receipt?: object): void;
  /**
   * For an account that paces its own line, or yields to who waits: how many are held on it now. Every admission in which
   * somebody waits gives a supplier of its own, so several add up.
   */
  observeHeld?(held: () => number): TeardownLogic;
  /** "The configuration shrank": waiters that can no longer ever fit are refused in the same turn. */
  readonly shrinks?: Observable<void>;
  readonly requiresHttpConnection?: boolean;
  /** Nothing starts on it now, not even what was granted in the same turn; it announces on `capacityChanges` when it goes on. */
  readonly paused?: boolean;
  /** How many of one admission's line may name it; unbounded unless given. Who goes beyond that is the admission's `overflow`. */
  readonly maxWaiters?: number;
  /** Accounts that draw on one capacity name the same object here: what moves one of them may let in who waits on another. */
  readonly sharedWith?: CommonCapacity;
}

/** What several accounts draw on. What it announces is heard in place of what each of them does: once, for all of them. */
export interface CommonCapacity {
  readonly capacityChanges?: Observable<void>;
  readonly shrinks?: Observable<void>;
}

/** An account of whatever amounts, as the line holds them. */
export type AnyAccount = Account<unknown>;

/** Where an account writes the few lines worth an operator's attention; `console` unless given. */
export interface Log {
  warn(line: string): void;
  info(line: string): void;
}

export interface AccountOptions {
  /** The clock for verbs without `at`; unless given, the clock of the first admission that names the account. */
  readonly scheduler?: SchedulerLike | undefined;
  /**
   * How many may wait for it in the line of one admission, short of it or of something else that they name with it;
   * unbounded unless given. The admission's `overflow` says who goes beyond that: the newcomer, or the oldest of them.
   */
  readonly maxWaiters?: number | undefined;
}

/** A Subject whose watchers can be counted: nobody may stay hooked to an account that nobody names. */
export type Announcements = Observable<void> & { readonly observed: boolean };

/**
 * The base for accounts that are their own identity: replenished by release, nominal, in need of nothing.
 *
 * @example
 * ```ts
 * class Licences extends AbstractAccount {
 *   #free = 3;
 *   readonly capacity = 3;
 *   constructor() { super('licences'); }
 *   inUse() { return 3 - this.#free; }
 *   fits(mine: readonly number[]) { return mine.length <= this.#free; }
 *   tryTake(mine: readonly number[]) { return this.fits(mine) && ((this.#free -= mine.length), true); }
 *   give(amounts: readonly number[]) { this.#free += amounts.length; }
 *   earliestFit() { return null; }
 * }
 * ```
 */
export abstract class AbstractAccount<A = number> implements Account<A> {
  static {
    learnsNothing(AbstractAccount.prototype);
  }

  readonly replenishment: 'release' | 'time' = 'release';
  readonly category: string = 'custom';
  readonly capacityChanges: Announcements;
  readonly requiresHttpConnection: boolean = false;
  declare readonly maxWaiters?: number;
  readonly #changes = new Subject<void>();

  constructor(
    readonly name: string,
    options: AccountOptions = {},
  ) {
    const given: unknown = name;
    if (typeof given !== 'string' || given === '') {
      throw new RangeError(`an account needs a name, such as { name: 'http', … }, not ${given === '' ? '""' : String(given)}: events and errors call it by it`);
    }
    this.capacityChanges = this.#changes;
    const { maxWaiters = Infinity } = options;
    if (maxWaiters !== Infinity) this.maxWaiters = nonNegative('maxWaiters', maxWaiters, this);
    if (options.scheduler) bindClock(options.scheduler, this);
  }

  abstract readonly capacity: number;
  abstract inUse(at?: number): number;
  abstract fits(mine: readonly A[], reservedAhead: readonly A[], at: number): boolean;
  abstract tryTake(mine: readonly A[], reservedAhead: readonly A[], at: number, receipt?: object): boolean;
  abstract give(amounts: readonly A[], at: number, receipt?: object): void;
  abstract earliestFit(mine: readonly A[], reservedAhead: readonly A[], at: number): number | null;

  accountFor(_amount: A): Identity {
    return this;
  }

  statusIndicator(_at?: number): string | null {
    return null;
  }

  /** Nothing to learn here; an account that adapts overrides it. */
  onSuccess(_at?: number, _input?: A): void {
    // A success says nothing about a fixed capacity.
  }

  onRateLimitError(_failure: UpstreamFailure, _at?: number, _input?: A): void {
    // A failure says nothing about a fixed capacity.
  }

  observeHeld(_held: () => number): TeardownLogic {
    // Only an account that paces its own line reads the count.
  }

  /** Tells every admission that names this account that there may be more now. */
  protected capacityChanged(): void {
    this.#changes.next();
  }

  /** The instant on the account's clock; before any clock named it, `otherwise`. */
  protected now(otherwise: number): number {
    return clockOf(this)?.now() ?? otherwise;
  }
}
