/** The rules of what an account takes and gives back: what it said, all of it, and never more than there is. */
import { ContractViolation, answerTo } from './account-subject.js';
import type { Trial } from './account-trial.js';
import { show } from './show.js';

export function takesWhatFits<A>(trial: Trial<A>): void {
  trial.wandering((subject, random) => {
    for (let step = 0; step < 6; step += 1) {
      const mine = random.some(trial.amounts, 1, 2);
      const reserved = random.some(trial.amounts, 0, 2);
      const before = subject.answers();
      const fits = subject.fits(mine, reserved);
      const question = subject.asked('tryTake', mine, reserved);
      const took = subject.tryTake(mine, reserved, {});
      if (took !== fits)
        throw new ContractViolation(`${question} answers ${show(took)} where fits answered ${show(fits)}`);
      if (took !== true) subject.answersStill(before, `${question} took nothing, yet it changed the account`);
    }
  });
}

export function isRestoredByGive<A>(trial: Trial<A>): void {
  trial.wandering((subject, random) => {
    const before = subject.answers();
    const outBefore = subject.out.length;
    for (let count = 1 + random.below(3); count > 0; count -= 1)
      subject.tryTake(random.some(trial.amounts, 1, 2), [], {});
    // In any order: what is given back is what was taken, whichever take it was.
    while (subject.out.length > outBefore) subject.give(outBefore + random.below(subject.out.length - outBefore));
    subject.answersStill(before, 'what was taken was given back, yet the account is another');
  });
}

export function neverOverdraws<A>(trial: Trial<A>): void {
  trial.wandering((subject, random) => {
    if (subject.account.replenishment === 'time') subject.out.length = 0;
    for (let no = 0; no < 4;) {
      if (subject.tryTake(random.some(trial.amounts, 1, 2), random.some(trial.amounts, 0, 1), {}) !== true) no += 1;
      const { capacity } = subject.account;
      const out = Math.max(subject.unitsOut, subject.inUse());
      if (out > capacity + 1e-6) throw new ContractViolation(`${out} are out of a capacity of ${capacity}`);
    }
  });
}

export function needsNoReceipt<A>(trial: Trial<A>): void {
  const ways: readonly (readonly [string, () => object | undefined])[] = [
    ['without a receipt', () => undefined],
    ['with a receipt of its own each', () => Object.freeze({})],
  ];
  for (const [how, receipt] of ways) {
    for (const newestFirst of [false, true]) {
      const subject = trial.subject();
      const before = subject.answers();
      for (const amount of trial.amounts) {
        subject.tryTake([amount], [], receipt());
        subject.tryTake([amount], [], receipt());
      }
      while (subject.out.length > 0) subject.give(newestFirst ? subject.out.length - 1 : 0);
      subject.answersStill(
        before,
        `taken and given back ${how}, the ${newestFirst ? 'newest' : 'oldest'} first, it is another`,
      );
    }
  }
}

export function undoesACorrection<A>(trial: Trial<A>): void {
  trial.wandering((subject, random) => {
    const mine = random.some(trial.amounts, 1, 1);
    if (subject.tryTake(mine, [], {}) !== true) return;
    const before = subject.answers();
    const delta = subject.sum(mine);
    for (const by of [delta, -delta]) answerTo(`adjust(${by})`, () => subject.account.adjust?.(by, subject.at));
    subject.answersStill(before, `adjust(${delta}) and adjust(${-delta}) leave another account`);
  });
}
