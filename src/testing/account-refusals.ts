/** The rules of an account's no: for good where it can never be, a plain no beside a reservation. */
import { ContractViolation } from './account-subject.js';
import type { Trial } from './account-trial.js';
import { show } from './show.js';

export function neverGainsByReservation<A>(trial: Trial<A>): void {
  trial.wandering((subject, random) => {
    for (let step = 0; step < 8; step += 1) {
      const mine = random.some(trial.amounts, 1, 2);
      const some = random.some(trial.amounts, 0, 2);
      const more = [...some, ...random.some(trial.amounts, 1, 1)];
      const [less, greater] = [subject.fits(mine, some), subject.fits(mine, more)];
      const question = `${subject.asked('fits', mine, more)} answers ${show(greater)}`;
      if (greater === true && less !== true) {
        throw new ContractViolation(`${question} where it answers ${show(less)} with less set aside, ${show(some)}`);
      }
      if (greater === 'refused' && less !== 'refused') {
        throw new ContractViolation(
          `${question}: what fits alone is not refused for a reservation, the answer is a plain no`,
        );
      }
    }
  });
}

export function refusesTheImpossible<A>(trial: Trial<A>, impossible: A): void {
  for (const fill of [false, true]) {
    const subject = trial.subject();
    if (fill) subject.fill();
    const before = subject.answers();
    for (const reserved of [[], trial.amounts.slice(0, 1)]) {
      for (const verb of ['fits', 'tryTake'] as const) {
        const answer = subject[verb]([impossible], reserved);
        if (answer === 'refused') continue;
        throw new ContractViolation(
          `${subject.asked(verb, [impossible], reserved)} answers ${show(answer)}: what can never fit is refused with a RefusedError`,
        );
      }
    }
    const instant = subject.earliestFit([impossible]);
    if (instant !== null)
      throw new ContractViolation(`earliestFit(${show([impossible])}) answers ${instant}: it never fits`);
    subject.answersStill(before, 'the impossible was refused, yet it changed the account');
  }
}

export function saysNoToAClash<A>(trial: Trial<A>): void {
  for (const amount of trial.amounts) {
    const subject = trial.subject();
    const reserved = subject.tooMany(amount);
    if (reserved === null) continue;
    const before = subject.answers();
    for (const verb of ['fits', 'tryTake'] as const) {
      const answer = subject[verb]([amount], reserved);
      if (answer !== false) {
        throw new ContractViolation(
          `${verb}(${show([amount])}) with ${reserved.length} of ${show(amount)} set aside answers ${show(answer)}: a plain no`,
        );
      }
    }
    const instant = subject.earliestFit([amount], reserved);
    if (instant !== null) {
      throw new ContractViolation(
        `earliestFit(${show([amount])}) with ${reserved.length} of ${show(amount)} set aside answers ${instant}: ` +
          'together they exceed the capacity, so it is null',
      );
    }
    subject.answersStill(before, 'a no to a clash changed the account');
  }
}
