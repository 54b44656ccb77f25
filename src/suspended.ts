/** Those that were granted before an account they name was paused, and not handed over: a pause is strict. */
import { Subscription } from 'rxjs';
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

/** Those whom one account keeps from starting, in the order of their grants. */
interface Wait {
  readonly asks: Set<Ask>;
  readonly subscription: Subscription;
}

/** Invariant: each holds what it was granted, and waits for one account that was paused when it should have started. */
export class Suspended {
  readonly #resumed: (ask: Ask) => void;
  readonly #waits = new Map<AnyAccount, Wait>();
  readonly #pausers = new Map<Ask, AnyAccount>();

  /** `resumed` gets each once that account goes on. */
  constructor(resumed: (ask: Ask) => void) {
    this.#resumed = resumed;
  }

  add(ask: Ask, paused: AnyAccount): void {
    // That of the ask: whoever resumes starts it.
    ask.context = currentContext();
    this.#pausers.set(ask, paused);
    const { asks } = this.#waits.get(paused) ?? this.#listen(paused);
    asks.add(ask);
  }

  /** True for one that was there. */
  delete(ask: Ask): boolean {
    const paused = this.#pausers.get(ask);
    if (paused === undefined) return false;
    this.#pausers.delete(ask);
    const wait = this.#waits.get(paused);
    wait?.asks.delete(ask);
    if (wait?.asks.size === 0) {
      this.#waits.delete(paused);
      wait.subscription.unsubscribe();
    }
    return true;
  }

  get asks(): Ask[] {
    return [...this.#pausers.keys()];
  }

  #listen(paused: AnyAccount): Wait {
    const wait = { asks: new Set<Ask>(), subscription: new Subscription() };
    this.#waits.set(paused, wait);
    const listening = paused.capacityChanges.subscribe({
      next: () => {
        // Whoever starts may pause it again: the others stay.
        for (const ask of wait.asks) if (paused.paused !== true && this.delete(ask)) this.#resumed(ask);
      },
      // An account whose stream broke tells no more: it stays paused for whoever waits for it to go on.
      error: () => undefined,
    });
    wait.subscription.add(listening);
    return wait;
  }
}
