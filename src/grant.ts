/** A grant: what was taken for one job, held until it is settled, once. */
import type { Observable, ObservableInput, ObservedValueOf } from 'rxjs';
import type { Account, AnyAccount } from './accounts/account.js';
import { amountOf } from './accounts/amounts.js';
import { nonNegative } from './accounts/validation.js';
import type { AdmitOptions } from './admit.js';
import type { Ask } from './ask.js';
import type { Demand } from './demand.js';
import type { Asking } from './evaluator/asking.js';
import { assertOutsideFold } from './evaluator/ledger.js';
import type { Outcome, Verb } from './evaluator/settle.js';
import { isPromiseLike } from './inner.js';
import { reportUnhandled } from './unhandled.js';

/**
 * The whole demand, debited. Settled once: the first of `release` and `rollback` wins, the rest do nothing.
 *
 * @example
 * ```ts
 * using grant = await admission.acquire(demand([gpt, 900], http));
 * await call({ signal: grant.signal });
 * ```
 */
export class Grant {
  readonly #ask: Ask;
  /** The first of release and rollback, and how the call ended. */
  #verb: Verb | null = null;
  #outcome: Outcome = 'ignored';

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  get demand(): Demand {
    return this.#ask.demand;
  }

  /** The label or snapshot given with the ask. */
  get job(): unknown {
    return this.#ask.job;
  }

  /** Whole ms from asking to granted. */
  get wallWait(): number {
    return Math.floor(this.#ask.grantedAt - this.#ask.askedAt);
  }

  /** The instant it was granted, on the admission's clock. */
  get grantedAt(): number {
    return this.#ask.grantedAt;
  }

  /** ms since it was granted. */
  get age(): number {
    return this.#ask.desk.now() - this.#ask.grantedAt;
  }

  /** Whole ms that each account which refused the job kept it, by name. They overlap, so they do not sum to the wait. */
  get waitTimes(): ReadonlyMap<string, number> {
    return this.#ask.waitTimes;
  }

  get isEmpty(): boolean {
    return this.demand.isEmpty;
  }

  /** Aborts on unsubscribe, on the ask's own signal, at its deadline, and when a drain runs out of time. */
  get signal(): AbortSignal {
    return this.#ask.signal;
  }

  /** ms left until the ask's deadline; Infinity without one. */
  remaining(): number {
    const { options, desk } = this.#ask;
    return Math.max(0, (options.deadline ?? Infinity) - desk.now());
  }

  /** Everything was given back. False while work that cannot be torn down is still going on. */
  get settled(): boolean {
    return this.#ask.stage === 'over';
  }

  /**
   * Keeps the grant until `work` settles, whatever ends first: a timeout of the observer frees no slot that still works.
   * A rejection is the caller's to handle; here it only ends the hold.
   */
  until(work: PromiseLike<unknown>): void {
    if (this.settled) return;
    if (!isPromiseLike(work)) throw new TypeError(`grant.until needs a promise of the work, not ${String(work)}`);
    const ask = this.#ask;
    ask.unfinished += 1;
    let open = true;
    const finished = (): void => {
      // A promise settles once; what only looks like one may call back twice.
      if (!open) return;
      open = false;
      ask.unfinished -= 1;
      if (ask.unfinished > 0) return;
      if (this.#verb === null) {
        ask.desk.upkeep.workEnded(ask);
        return;
      }
      try {
        this.#settle(this.#verb);
      } catch (error) {
        // Whoever released it has gone on long since.
        reportUnhandled(error);
      }
    };
    work.then(finished, finished);
  }

  /** Its job lends it permits of the account: they are not in its own `demand`, and whoever took them gives them back. */
  borrows(account: Account<never>): boolean {
    return this.#ask.kin?.loans.some((loan) => loan.account === account) ?? false;
  }

  /**
   * Replaces an estimated debit by what was really used. It may leave a bucket in debt, which takes never do.
   *
   * After the release it still corrects what time replenishes, since usage often comes late; what was given back has no
   * debit left, and is left alone.
   *
   * @throws RangeError when the demand does not name the account, or the amount is not a number from zero up.
   * @throws TypeError when the account cannot be corrected (it has no `adjust`).
   */
  charge(account: Account<never>, actual: number): void {
    nonNegative(`${account.name}: the amount really used`, actual);
    if (this.settled && (this.#verb === 'rollback' || account.replenishment === 'release')) return;
    this.#ask.desk.charge(this.#ask, account, actual);
  }

  /**
   * One cold call that is part of this job: it runs on this grant's permits where it asks for the same accounts, and asks the
   * line for the rest only, so that a job never waits for itself. This grant gives nothing back before the call has ended.
   *
   * Of calls side by side, one at a time has a permit that is lent. What time brings back, such as tokens, is never lent.
   *
   * @example
   * ```ts
   * admission.defer(demand(db), (grant) => page(query).pipe(
   *   mergeMap((row) => grant.defer(demand(db, [gpt, 900]), () => summarize(row))),
   * ));
   * ```
   */
  defer<O extends ObservableInput<unknown>, R extends ObservableInput<unknown> = ObservableInput<never>>(
    demand: Demand | (() => Demand),
    factory: (grant: Grant) => O,
    options?: AdmitOptions<undefined, R>,
  ): Observable<ObservedValueOf<O> | ObservedValueOf<R>> {
    return this.#ask.desk.nesting.defer(this.#ask, this, demand, factory, options);
  }

  /** Gives back what work holds; what time replenishes stays spent. */
  release(outcome: Outcome = 'ignored'): void {
    this.#end('release', outcome);
  }

  /** Gives back everything, metered debits included: the job never ran. */
  rollback(): void {
    this.#end('rollback', 'ignored');
  }

  [Symbol.dispose](): void {
    this.release();
  }

  #end(verb: Verb, outcome: Outcome): void {
    if (this.#verb !== null) return;
    // Before it counts as settled: an account that may not settle here leaves the grant as it was.
    assertOutsideFold();
    this.#verb = verb;
    this.#outcome = outcome;
    if (this.#ask.unfinished === 0) this.#settle(verb);
  }

  #settle(verb: Verb): void {
    this.#ask.desk.settle(this.#ask, verb, this.#outcome);
  }
}

/** Moves the debit of `account` in what a grant holds; the later correction starts from the earlier one. */
export function chargeAsk(ask: Asking, account: AnyAccount, actual: number, at: number): void {
  const entry = ask.demand.entries.find((candidate) => candidate.account === account);
  if (entry === undefined) throw new RangeError(`this grant's demand does not name the account "${account.name}"`);
  if (account.adjust === undefined) throw new TypeError(`the account "${account.name}" counts exactly: it has no adjust`);
  const before = ask.charged?.get(entry) ?? amountOf(entry.amounts);
  account.adjust(actual - before, at);
  ask.charged ??= new Map();
  ask.charged.set(entry, actual);
}
