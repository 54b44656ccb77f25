/** What the rules of the account contract work with: fresh accounts, amounts to ask of them, and random walks. */
import type { Account } from '../index.js';
import { AccountSubject, ContractViolation } from './account-subject.js';
import { Random } from './random.js';

/** What the rules work with: fresh accounts on demand, the amounts to ask of them, and the seeds of random walks. */
export class Trial<A, T extends Account<A> = Account<A>> {
  constructor(
    readonly make: () => T,
    readonly amounts: readonly A[],
    readonly units: (amount: A) => number,
    readonly at: number,
    readonly seeds: readonly number[],
  ) {}

  subject(account: Account<A> = this.make()): AccountSubject<A> {
    return new AccountSubject(account, this.amounts, this.units, this.at);
  }

  /** About how long the clock takes to bring an amount back; a second where it brings none. */
  get pace(): number {
    const full = this.subject();
    full.fill();
    const instants = this.amounts.map((amount) => full.earliestFit([amount]) ?? full.at + 1_000);
    return Math.max(1, ...instants.map((instant) => instant - full.at));
  }

  /** Runs a check from a random state of a fresh account, once a seed. */
  wandering(check: (subject: AccountSubject<A>, random: Random) => void): void {
    const { pace } = this;
    this.seeded((random) => {
      const subject = this.subject();
      subject.wander(random, random.below(12), pace);
      check(subject, random);
    });
  }

  /** Runs a check once a seed; a violation names the seed. */
  seeded(check: (random: Random, seed: number) => void): void {
    for (const seed of this.seeds) {
      try {
        check(new Random(seed), seed);
      } catch (error) {
        if (!(error instanceof ContractViolation)) throw error;
        throw new ContractViolation(`${error.message} (seed ${seed})`, { cause: error.cause });
      }
    }
  }
}
