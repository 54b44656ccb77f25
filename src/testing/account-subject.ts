/** An account under the contract: every answer is checked for its kind, and what was taken is remembered. */
import { RefusedError, type Account } from '../index.js';
import type { Random } from './random.js';
import { show } from './show.js';

/** Thrown by a case of {@link accountContract}; the message says what was asked, what was answered, and what it should be. */
export class ContractViolation extends Error {
  override readonly name = 'ContractViolation';
}

/** An answer to `fits` or `tryTake`. */
export type Verdict = boolean | 'refused';

/** What an account answers to one question; instants are compared to the millisecond, everything else exactly. */
interface Answer {
  readonly question: string;
  readonly answer: boolean | number | string | null;
  readonly tolerance: number;
}

interface Taken<A> {
  readonly mine: readonly A[];
  readonly receipt: object | undefined;
}

/** More takes than this without a no, and the amounts are too small to test with. */
const MOST_TAKES = 10_000;
const INDICATOR = /^(?:blocked|probing|throttle:\d+\.\d+x|pace:\d+ms)$/;

export class AccountSubject<A> {
  readonly out: Taken<A>[] = [];

  constructor(
    readonly account: Account<A>,
    readonly amounts: readonly A[],
    readonly units: (amount: A) => number,
    public at: number,
  ) {}

  fits(mine: readonly A[], reserved: readonly A[] = []): Verdict {
    return this.#verdict('fits', mine, reserved, () => this.account.fits(mine, reserved, this.at));
  }

  /** Takes, and remembers what it took. */
  tryTake(mine: readonly A[], reserved: readonly A[] = [], receipt?: object): Verdict {
    const took = this.#verdict('tryTake', mine, reserved, () => this.account.tryTake(mine, reserved, this.at, receipt));
    if (took === true) this.out.push({ mine, receipt });
    return took;
  }

  /** Gives back the take of that place among those that are out. */
  give(place: number): void {
    const [taken] = this.out.splice(place, 1);
    if (taken === undefined) return;
    const { account } = this as { account: { give(...call: unknown[]): unknown } };
    const question = `give(${show(taken.mine)}, ${this.at})`;
    const answer = answerTo(question, () => account.give(taken.mine, this.at, taken.receipt));
    if (answer !== undefined) throw new ContractViolation(`${question} answers ${show(answer)}: it only credits`);
  }

  giveAll(): void {
    while (this.out.length > 0) this.give(0);
  }

  earliestFit(mine: readonly A[], reserved: readonly A[] = []): number | null {
    const question = this.asked('earliestFit', mine, reserved);
    const answer: unknown = answerTo(question, () => this.account.earliestFit(mine, reserved, this.at));
    if (answer === null || (typeof answer === 'number' && Number.isFinite(answer))) return answer;
    throw new ContractViolation(`${question} answers ${show(answer)}: an instant or null`);
  }

  inUse(): number {
    const answer: unknown = answerTo(`inUse(${this.at})`, () => this.account.inUse(this.at));
    if (typeof answer !== 'number' || Number.isNaN(answer)) {
      throw new ContractViolation(`inUse(${this.at}) answers ${show(answer)}: a number`);
    }
    return answer;
  }

  indicator(): string | null {
    const question = `statusIndicator(${this.at})`;
    const answer: unknown = answerTo(question, () => this.account.statusIndicator?.(this.at)) ?? null;
    if (answer === null || (typeof answer === 'string' && INDICATOR.test(answer))) return answer;
    throw new ContractViolation(
      `${question} answers ${show(answer)}: null when nominal, else blocked, probing, throttle:<n.n>x or pace:<n>ms`,
    );
  }

  /** Units that are out together. */
  get unitsOut(): number {
    return this.out.reduce((sum, { mine }) => sum + this.sum(mine), 0);
  }

  sum(amounts: readonly A[]): number {
    return amounts.reduce((sum, amount) => sum + this.units(amount), 0);
  }

  /** So many of the amount that they exceed the capacity together; null where nothing does. */
  tooMany(amount: A): A[] | null {
    const each = this.units(amount);
    const count = Math.floor(this.account.capacity / each) + 1;
    return each > 0 && count <= MOST_TAKES ? Array<A>(count).fill(amount) : null;
  }

  /** Takes, the largest amounts first, until none fits any more. */
  fill(): void {
    const largest = [...this.amounts].sort((one, other) => this.units(other) - this.units(one));
    let takes = 0;
    for (const amount of largest) {
      while (this.tryTake([amount]) === true) {
        takes += 1;
        if (takes < MOST_TAKES) continue;
        throw new ContractViolation(
          `${takes} takes of ${show(this.amounts)} do not fill the account: give the contract larger amounts, or it overdraws`,
        );
      }
    }
  }

  /** A few takes, gives and waits. What time brings back is given back at the instant of its take only. */
  wander(random: Random, steps: number, pace: number): void {
    for (let step = 0; step < steps; step += 1) {
      const choice = random.next();
      if (choice < 0.6) this.tryTake(random.some(this.amounts, 1, 2), random.some(this.amounts, 0, 1), {});
      else if (choice < 0.8) this.give(random.below(Math.max(1, this.out.length)));
      else this.wait(Math.floor(random.next() * pace));
    }
  }

  wait(ms: number): void {
    if (ms <= 0) return;
    this.at += ms;
    if (this.account.replenishment === 'time') this.out.length = 0;
  }

  /** The account as its answers show it. */
  answers(): Answer[] {
    const all: Answer[] = [
      { question: `inUse(${this.at})`, answer: this.inUse(), tolerance: 1e-6 },
      { question: `statusIndicator(${this.at})`, answer: this.indicator(), tolerance: 0 },
    ];
    const mines: (readonly A[])[] = this.amounts.length === 0 ? [[]] : this.amounts.map((amount) => [amount]);
    for (const mine of mines) {
      for (const reserved of [[], ...this.amounts.map((amount) => [amount])]) {
        all.push({ question: this.asked('fits', mine, reserved), answer: this.fits(mine, reserved), tolerance: 0 });
        all.push({
          question: this.asked('earliestFit', mine, reserved),
          answer: this.earliestFit(mine, reserved),
          tolerance: 1,
        });
      }
    }
    return all;
  }

  /** Throws when the account does not answer as it did. */
  answersStill(before: readonly Answer[], what: string): void {
    for (const [place, { question, answer }] of this.answers().entries()) {
      const was = before[place];
      if (was === undefined || isSame(was.answer, answer, was.tolerance)) continue;
      throw new ContractViolation(`${what}: ${question} answers ${show(answer)} where it answered ${show(was.answer)}`);
    }
  }

  asked(verb: string, mine: readonly A[], reserved: readonly A[]): string {
    return `${verb}(${show(mine)}, ${show(reserved)}, ${this.at})`;
  }

  #verdict(verb: string, mine: readonly A[], reserved: readonly A[], ask: () => unknown): Verdict {
    let answer: unknown;
    try {
      answer = ask();
    } catch (error) {
      if (error instanceof RefusedError) return 'refused';
      throw new ContractViolation(
        `${this.asked(verb, mine, reserved)} throws ${show(error)}: an account answers, or refuses with a RefusedError`,
        { cause: error },
      );
    }
    if (typeof answer === 'boolean') return answer;
    throw new ContractViolation(`${this.asked(verb, mine, reserved)} answers ${show(answer)}: true or false, at once`);
  }
}

/**
 * An answer of anything but `fits` and `tryTake`, the two that may refuse.
 *
 * @throws ContractViolation that names the question, whatever is thrown instead of an answer.
 */
export function answerTo<T>(question: string, ask: () => T): T {
  try {
    return ask();
  } catch (error) {
    const rule = error instanceof RefusedError ? 'only fits and tryTake refuse' : 'an account answers';
    throw new ContractViolation(`${question} throws ${show(error)}: ${rule}`, { cause: error });
  }
}

const isSame = (one: Answer['answer'], other: Answer['answer'], tolerance: number): boolean =>
  typeof one === 'number' && typeof other === 'number' ? Math.abs(one - other) <= tolerance : one === other;
