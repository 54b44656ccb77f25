/** Those that were granted before an account they name was paused, and not handed over: a pause is strict. */
import type { Subscription } from 'rxjs';
import type { AnyAccount } from './accounts/account.js';
import type { Ask } from './ask.js';
import type { Demand } from './demand.js';
import { currentContext } from '#platform';

/** The first account of the demand that is paused. */
export function pausedIn({ entries }: Demand): AnyAccount | null {
  // By index: the iterator of a frozen array is made anew for each grant.
  for (let n = 0; n < entries.length; n += 1) {
    const account = entries[n]?.account;
    if (account?.paused === true) return account;
  }
  return null;
}

/** Invariant: each holds what it was granted, and listens to one account that was paused when it should have started. */
export class Suspended {
  readonly #resumed: (ask: Ask) => void;
  readonly #waits = new Map<Ask, Subscription>();

  /** `resumed` gets each once that account goes on. */
  constructor(resumed: (ask: Ask) => void) {
    this.#resumed = resumed;
  }

  add(ask: Ask, paused: AnyAccount): void {
    // That of the ask: whoever resumes starts it.
    ask.context = currentContext();
    const wait = paused.capacityChanges.subscribe({
      next: () => {
        if (paused.paused !== true && this.delete(ask)) this.#resumed(ask);
      },
      // An account whose stream broke tells no more: it stays paused for whoever waits for it to go on.
      error: () => undefined,
    });
    this.#waits.set(ask, wait);
  }

  /** True for one that was there. */
  delete(ask: Ask): boolean {
    const wait = this.#waits.get(ask);
    if (wait === undefined) return false;
    this.#waits.delete(ask);
    wait.unsubscribe();
    return true;
  }

  get asks(): Ask[] {
    return [...this.#waits.keys()];
  }
}
