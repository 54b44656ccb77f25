/** The contract of an account as a suite: the cases that an account of your own must pass, for any test framework. */
import type { Account } from '../index.js';
import {
  answersAtOnce,
  answersByItsRevision,
  hasOneIdentity,
  hasTheRoomItSays,
  isNotChangedByQuestions,
  isWellMade,
  validates,
} from './account-answers.js';
import { neverGainsByReservation, refusesTheImpossible, saysNoToAClash } from './account-refusals.js';
import { isRestoredByGive, needsNoReceipt, neverOverdraws, takesWhatFits, undoesACorrection } from './account-takes.js';
import { announcesOnlyMore, namesTheInstant, replenishesAsItSays } from './account-times.js';
import { Trial } from './account-trial.js';

/** One case: `run` throws an error with a readable message when the account breaks the rule of the title. */
export interface AccountContractCase {
  readonly title: string;
  readonly run: () => void;
}

export interface AccountContractOptions<A, T extends Account<A> = Account<A>> {
  /** A fresh account, everything free; each call makes another one. */
  readonly make: () => T;
  /**
   * Amounts that each fit a fresh account, together often enough to fill it: a small one and a third of the capacity
   * serve well. None for an account that is asked for no amount, as the heap gate is.
   */
  readonly amounts: readonly A[];
  /** An amount that can never fit; null where every amount can. One more than the capacity for numbers, unless given. */
  readonly impossible?: A | null | undefined;
  /** What the account does not count in: `validate` must throw a RangeError. `NaN` and -1 for numbers, unless given. */
  readonly invalid?: readonly unknown[] | undefined;
  /** What an amount weighs against `capacity`: itself where it is a number, else one. */
  readonly units?: ((amount: A) => number) | undefined;
  /** The instant of the first question, ms; 1,000 unless given. */
  readonly at?: number | undefined;
  /** Makes the account offer less (a lower limit, a slower pace): nobody may be told that there is more. */
  readonly less?: ((account: T, at: number) => void) | undefined;
  /** Makes the account offer more: every listener must be told. */
  readonly more?: ((account: T, at: number) => void) | undefined;
  /** How many random walks each rule is tried on (50), from seed 1 on; a failure names its seed. */
  readonly walks?: number | undefined;
}

/**
 * The suite that any account must pass before an admission can rely on it; all shipped accounts pass it.
 *
 * It belongs to no test framework: it answers a list of cases, and each `run` throws when its rule is broken.
 *
 * @example An account that counts in numbers
 * ```ts
 * import { accountContract } from 'rx-admission/testing';
 *
 * for (const { title, run } of accountContract(() => new Licences(3))) it(title, run);
 * ```
 *
 * @example Amounts of your own
 * ```ts
 * const cases = accountContract({
 *   make: () => new Printer({ pages: 500 }),
 *   amounts: [{ pages: 3, colour: false }, { pages: 170, colour: true }],
 *   impossible: { pages: 501, colour: false },
 *   units: (job) => job.pages,
 * });
 * ```
 */
export function accountContract(make: () => Account): AccountContractCase[];
export function accountContract<A, T extends Account<A>>(options: AccountContractOptions<A, T>): AccountContractCase[];
export function accountContract<A, T extends Account<A>>(
  given: (() => T) | AccountContractOptions<A, T>,
): AccountContractCase[] {
  const options =
    typeof given === 'function' ? { make: given, amounts: numbersFor(given() as unknown as Account) as A[] } : given;
  const { make, amounts, less, more, at = 1_000, walks = 50, units = ownWeight } = options;
  const sample = make();
  const impossible = options.impossible === undefined ? defaultImpossible(sample, amounts) : options.impossible;
  const invalid = options.invalid ?? (sample.validate && amounts.some(isNumber) ? [NaN, -1] : []);
  const trial = new Trial<A, T>(
    make,
    amounts,
    units,
    at,
    Array.from({ length: walks }, (_, index) => index + 1),
  );

  const cases: AccountContractCase[] = [];
  const rule = (title: string, run: () => void, applies = true): void => {
    if (applies) cases.push({ title, run });
  };
  const asked = amounts.length > 0;
  rule('has a name, a replenishment, a capacity and announcements', () => isWellMade(trial));
  rule('answers at once, in plain values', () => answersAtOnce(trial));
  rule('is not changed by being asked', () => isNotChangedByQuestions(trial));
  rule('takes exactly what it said would fit, and nothing where it said no', () => takesWhatFits(trial), asked);
  rule('is as before once a take is given back', () => isRestoredByGive(trial), asked);
  rule('never has more out than its capacity', () => neverOverdraws(trial), asked);
  rule('never says yes beside a reservation where it says no without', () => neverGainsByReservation(trial), asked);
  rule(
    'refuses an impossible amount, on the check and on the take',
    () => refusesTheImpossible(trial, impossible as A),
    asked && impossible !== null,
  );
  rule('answers a clash with the reservation with a plain no', () => saysNoToAClash(trial), asked);
  rule('names the instant at which it fits, and none where only an event helps', () => namesTheInstant(trial), asked);
  rule('replenishes as it says', () => replenishesAsItSays(trial), asked);
  rule('announces more to every listener, and never less', () => announcesOnlyMore(trial, less, more));
  rule('takes and gives with a receipt and without', () => needsNoReceipt(trial), asked);
  rule(
    'validates amounts by RangeError',
    () => validates(trial, invalid),
    invalid.length > 0 || sample.validate !== undefined,
  );
  rule('has one identity for one amount', () => hasOneIdentity(trial), asked && sample.accountFor !== undefined);
  rule('undoes a correction by its opposite', () => undoesACorrection(trial), asked && sample.adjust !== undefined);
  rule('has the room that it says', () => hasTheRoomItSays(trial), asked && sample.room !== undefined);
  rule('answers alike as long as its revision is the same', () => answersByItsRevision(trial), asked && sample.revision !== undefined);
  return cases;
}

const isNumber = (amount: unknown): amount is number => typeof amount === 'number';

const ownWeight = (amount: unknown): number => (isNumber(amount) ? amount : 1);

/** One, and a third of the capacity: few enough to fill it with, small enough to leave some over. */
function numbersFor({ capacity }: Account): number[] {
  const third = Math.ceil(capacity / 3);
  return third > 1 && third < Infinity ? [1, third] : [1];
}

function defaultImpossible<A>({ capacity }: Account<A>, amounts: readonly A[]): A | null {
  return capacity < Infinity && amounts.length > 0 && amounts.every(isNumber) ? ((capacity + 1) as A) : null;
}
