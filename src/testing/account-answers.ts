/** The rules of what an account answers: plain, at once, of the right kind, and unchanged by being asked. */
import { isObservable } from 'rxjs';
import { RefusedError } from '../index.js';
import { ContractViolation, answerTo, type AccountSubject } from './account-subject.js';
import type { Trial } from './account-trial.js';
import { Random } from './random.js';
import { show } from './show.js';

export function isWellMade<A>(trial: Trial<A>): void {
  const { name, replenishment, capacity, capacityChanges } = trial.subject().account as unknown as Record<
    string,
    unknown
  >;
  if (typeof name !== 'string' || name === '')
    throw new ContractViolation(`its name is ${show(name)}: events call it by it`);
  if (replenishment !== 'release' && replenishment !== 'time') {
    throw new ContractViolation(
      `its replenishment is ${show(replenishment)}: it must be 'release' or 'time', no guess serves`,
    );
  }
  if (typeof capacity !== 'number' || !(capacity > 0)) {
    throw new ContractViolation(`its capacity is ${show(capacity)}: a number above zero`);
  }
  if (!isObservable(capacityChanges)) {
    throw new ContractViolation('its capacityChanges is no observable; one that never has more says NEVER');
  }
}

export function answersAtOnce<A>(trial: Trial<A>): void {
  const subject = trial.subject();
  subject.answers();
  const mine = trial.amounts.slice(0, 1);
  subject.tryTake(mine);
  subject.answers();
  subject.giveAll();
  const status = answerTo(`status(${subject.at})`, () => subject.account.status?.(subject.at));
  if (subject.account.status === undefined) return;
  const summary: unknown = status?.summary();
  if (typeof summary !== 'string' || !/^[^\n]*\d[^\n]*$/.test(summary)) {
    throw new ContractViolation(
      `status(${subject.at}).summary() answers ${show(summary)}: one line that names its numbers`,
    );
  }
}

/** Two accounts go the same way, one of them under questions: they must answer alike. */
export function isNotChangedByQuestions<A>(trial: Trial<A>): void {
  const pace = trial.amounts.length > 0 ? trial.pace : 1_000;
  trial.seeded((way, seed) => {
    const [asked, left] = [trial.subject(), trial.subject()];
    const questions = new Random(seed + 1);
    const sameWay = new Random(seed);
    for (let step = 0; step < 10; step += 1) {
      for (let count = questions.below(4); count > 0; count -= 1) {
        asked.fits(questions.some(trial.amounts, 1, 2), questions.some(trial.amounts, 0, 2));
        asked.earliestFit(questions.some(trial.amounts, 1, 2), questions.some(trial.amounts, 0, 2));
        answerTo(`status(${asked.at})`, () => asked.account.status?.(asked.at));
        asked.answers();
      }
      asked.wander(way, 1, pace);
      left.wander(sameWay, 1, pace);
    }
    asked.answersStill(left.answers(), 'being asked changed it');
  });
}

export function validates<A>(trial: Trial<A>, invalid: readonly unknown[]): void {
  const { account } = trial.subject();
  for (const amount of trial.amounts) answerTo(`validate(${show(amount)})`, () => account.validate?.(amount));
  for (const amount of invalid) {
    let thrown: unknown = null;
    try {
      account.validate?.(amount as A);
    } catch (error) {
      thrown = error;
    }
    if (thrown instanceof RangeError) continue;
    const did = thrown === null ? 'accepts it' : `throws ${show(thrown)}`;
    throw new ContractViolation(`validate(${show(amount)}) ${did}: what it does not count in is a RangeError`);
  }
}

export function hasOneIdentity<A>(trial: Trial<A>): void {
  const { account } = trial.subject();
  for (const amount of trial.amounts) {
    const identity = (): unknown => answerTo(`accountFor(${show(amount)})`, () => account.accountFor?.(amount));
    const [key, again] = [identity(), identity()];
    if (key === again && isKey(key)) continue;
    throw new ContractViolation(
      `accountFor(${show(amount)}) answers ${show(key)}, then ${show(again)}: one key, always the same`,
    );
  }
}

export function hasTheRoomItSays<A>(trial: Trial<A>): void {
  trial.wandering((subject, random) => {
    const reserved = random.some(trial.amounts, 0, 2);
    const room = roomOf(subject, reserved);
    if (typeof room !== 'number' || Number.isNaN(room)) {
      throw new ContractViolation(`room(${show(reserved)}) answers ${show(room)}: the greatest amount that fits`);
    }
    for (const amount of trial.amounts.filter(ofNumber)) {
      const fits = subject.fits([amount], reserved);
      if (fits === amount <= room || (fits === 'refused' && amount > room)) continue;
      throw new ContractViolation(
        `room(${show(reserved)}) answers ${room}, but ${subject.asked('fits', [amount], reserved)} answers ${show(fits)}`,
      );
    }
  });
}

/** Only what moves an account may change its answers, and then it says so; the clock alone does not. */
export function answersByItsRevision<A>(trial: Trial<A>): void {
  const { pace } = trial;
  trial.seeded((way) => {
    const subject = trial.subject();
    const known = new Map<number, string>();
    for (let step = 0; step < 10; step += 1) {
      const { revision } = subject.account;
      if (revision === undefined || Number.isNaN(revision)) return;
      const answers = show(trial.amounts.map((amount) => subject.fits([amount], [])));
      const before = known.get(revision) ?? answers;
      if (answers !== before) {
        throw new ContractViolation(
          `at revision ${revision} it fits ${before} of ${show(trial.amounts)}, and later, at the same one, ${answers}: revision grows with whatever changes that`,
        );
      }
      known.set(revision, answers);
      subject.wander(way, 1, pace);
    }
  });
}

/** The one answer beside `fits` and `tryTake` that may be a refusal: of everyone, so that nothing fits. */
function roomOf<A>({ account, at }: AccountSubject<A>, reserved: readonly A[]): unknown {
  return answerTo(`room(${show(reserved)})`, () => {
    try {
      return account.room?.(reserved, at);
    } catch (error) {
      if (error instanceof RefusedError) return -Infinity;
      throw error;
    }
  });
}

const ofNumber = <A>(amount: A): amount is A & number => typeof amount === 'number';

/** A bug may answer anything, whatever the type says. */
const isKey = (key: unknown): boolean =>
  (typeof key === 'object' && key !== null) || ['string', 'symbol'].includes(typeof key);
