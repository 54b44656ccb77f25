/** One attempt, step by step as the rules have it: the whole demand is debited, or nothing is. */
import type { ModelAccount, Receipt } from './account.js';
import type { Books, Entry, Waiter } from './books.js';

export type Attempt =
  | { readonly outcome: 'held' }
  | { readonly outcome: 'granted'; readonly receipt: Receipt }
  | { readonly outcome: 'refused'; readonly by: ModelAccount; readonly error: Error };

/** A throw in a place that costs more than one waiter. */
export class Defect extends Error {}

export class Attempts {
  constructor(
    private readonly memory: ModelAccount,
    private readonly books: Books,
  ) {}

  /** `head` is null for the head itself. */
  attempt(waiter: Waiter, head: Waiter | null): Attempt {
    if (waiter.entries.length > 0) {
      if (head !== null && this.books.onMemory.has(head)) return this.#held(waiter, this.memory, head.deadline);
      if (!this.memoryFits(waiter)) return this.#heldOnMemory(waiter);
    }
    const at = this.books.now();
    const deadlines: (number | null)[] = [];
    for (const { account, amounts } of waiter.entries) {
      const ahead = aheadOn(account, head);
      try {
        if (account.fits(amounts, ahead, at)) continue;
        this.books.hold(waiter, account);
        deadlines.push(account.earliestFit(amounts, ahead, at));
      } catch (error) {
        return { outcome: 'refused', by: account, error: error as Error };
      }
    }
    return deadlines.length > 0 ? this.#held(waiter, null, latest(deadlines)) : this.#take(waiter, head, at);
  }

  memoryFits({ entries }: Waiter): boolean {
    return entries.length === 0 || this.memory.fits([], [], this.books.now());
  }

  #take(waiter: Waiter, head: Waiter | null, at: number): Attempt {
    const receipt = {};
    const taken: Entry[] = [];
    for (const entry of waiter.entries) {
      const { account, amounts } = entry;
      const ahead = aheadOn(account, head);
      try {
        if (account.tryTake(amounts, ahead, at, receipt)) {
          taken.push(entry);
          continue;
        }
      } catch (error) {
        this.#giveBack(taken, receipt, at);
        return { outcome: 'refused', by: account, error: error as Error };
      }
      this.#giveBack(taken, receipt, at);
      this.books.hold(waiter, account);
      try {
        return this.#held(waiter, null, account.earliestFit(amounts, ahead, at));
      } catch (error) {
        return { outcome: 'refused', by: account, error: error as Error };
      }
    }
    if (waiter.entries.length > 0 && !this.memory.tryTake([], [], at)) {
      this.#giveBack(taken, receipt, at);
      return this.#heldOnMemory(waiter);
    }
    return { outcome: 'granted', receipt };
  }

  /** Every account gets back what was taken from it, whichever of them throws. */
  #giveBack(taken: readonly Entry[], receipt: Receipt, at: number): void {
    const thrown: Error[] = [];
    for (const { account, amounts } of taken) {
      try {
        account.give(amounts, at, receipt);
      } catch (error) {
        thrown.push(error as Error);
      }
    }
    const [first, another] = thrown;
    if (first) throw new Defect(another ? 'several accounts could not take back what they gave' : first.message);
  }

  #heldOnMemory(waiter: Waiter): Attempt {
    this.books.hold(waiter, this.memory);
    return this.#held(waiter, this.memory, this.memory.earliestFit([], [], this.books.now()));
  }

  #held(waiter: Waiter, on: ModelAccount | null, deadline: number | null): Attempt {
    if (on !== null) this.books.hold(waiter, on);
    if (on === this.memory) this.books.onMemory.add(waiter);
    else this.books.onMemory.delete(waiter);
    waiter.deadline = deadline;
    return { outcome: 'held' };
  }
}

function aheadOn(account: ModelAccount, head: Waiter | null): readonly number[] {
  return head?.entries.find((one) => one.account === account)?.amounts ?? [];
}

/** The latest of the clocked shortfalls; none where only an event helps. */
function latest(deadlines: readonly (number | null)[]): number | null {
  return deadlines.reduce((late, one) => (late === null || one === null ? null : Math.max(late, one)), -Infinity);
}
