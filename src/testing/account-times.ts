/** The rules of when there is more: the instant an account names, how it replenishes, and what it announces. */
import type { Account } from '../index.js';
import { ContractViolation } from './account-subject.js';
import type { Trial } from './account-trial.js';
import { show } from './show.js';

export function namesTheInstant<A>(trial: Trial<A>): void {
  const { pace } = trial;
  trial.wandering((subject, random) => {
    if (random.next() < 0.5) subject.fill();
    const mine = random.some(trial.amounts, 1, 2);
    const reserved = random.some(trial.amounts, 0, 1);
    const now = subject.fits(mine, reserved);
    if (now === 'refused') return;
    const { at } = subject;
    const instant = subject.earliestFit(mine, reserved);
    const answer = `${subject.asked('earliestFit', mine, reserved)} answers ${show(instant)}`;
    if (now) {
      if (instant === null || instant > at) throw new ContractViolation(`${answer}, but it fits now`);
      return;
    }
    if (instant !== null && instant <= at) throw new ContractViolation(`${answer}, but it does not fit now`);
    const before = instant === null ? [at + pace, at + 1_000 * pace] : [at + (instant - at) / 2, instant - 1];
    for (const early of before) {
      if (early <= at || (instant !== null && early > instant - 1)) continue;
      subject.at = early;
      if (subject.fits(mine, reserved) === true)
        throw new ContractViolation(`${answer}, but it fits at ${early} already`);
    }
    if (instant === null) return;
    subject.at = instant;
    if (subject.fits(mine, reserved) !== true) throw new ContractViolation(`${answer}, but it does not fit then`);
  });
}

export function replenishesAsItSays<A>(trial: Trial<A>): void {
  const { pace } = trial;
  const subject = trial.subject();
  const { replenishment } = subject.account;
  subject.fill();
  const [smallest] = [...trial.amounts].sort((one, other) => trial.units(one) - trial.units(other)) as [A];
  if (replenishment === 'time') {
    // A budget that never comes back refuses, so that nobody waits for what the clock does not bring.
    if (subject.fits([smallest]) !== 'refused' && subject.earliestFit([smallest]) === null) {
      throw new ContractViolation(
        `it says 'time', but knows no instant at which the clock brings ${show(smallest)} back, and does not refuse it`,
      );
    }
    subject.giveAll();
  } else {
    const full = subject.inUse();
    for (const later of [pace, 86_400_000]) {
      subject.at += later;
      if (subject.fits([smallest]) !== true && subject.inUse() === full) continue;
      throw new ContractViolation(`it says 'release', but ${later} ms later the clock has brought something back`);
    }
    subject.giveAll();
  }
  const fresh = trial.subject();
  fresh.at = subject.at;
  subject.answersStill(fresh.answers(), 'everything was given back, yet it is not free');
}

export function announcesOnlyMore<A, T extends Account<A>>(
  trial: Trial<A, T>,
  less: ((account: T, at: number) => void) | undefined,
  more: ((account: T, at: number) => void) | undefined,
): void {
  const account = trial.make();
  const heard = [0, 0];
  const errors: ContractViolation[] = [];
  const hooks = [0, 1].map((listener) =>
    account.capacityChanges.subscribe({
      next: () => {
        heard[listener] = (heard[listener] ?? 0) + 1;
      },
      error: (error: unknown) => {
        errors.push(new ContractViolation(`its capacityChanges ends in ${show(error)}: whoever listens would crash`));
      },
    }),
  );
  const unbroken = (): void => {
    const [first] = errors;
    if (first) throw first;
  };
  const silent = (what: string): void => {
    unbroken();
    if (heard.some((count) => count > 0)) throw new ContractViolation(`${what} announces more, and there is none`);
  };
  silent('a subscription');
  const subject = trial.subject(account);
  subject.answers();
  silent('a question');
  if (trial.amounts.length > 0) subject.fill();
  silent('a take');
  less?.(account, subject.at);
  silent('less');
  subject.giveAll();
  more?.(account, subject.at);
  for (const hook of hooks) hook.unsubscribe();
  unbroken();
  if (more && heard[0] === 0) throw new ContractViolation('there is more, and nobody hears of it');
  if (heard[0] !== heard[1])
    throw new ContractViolation(`one listener heard ${heard.join(' times, the other ')}: every one hears all`);
}
