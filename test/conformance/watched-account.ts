/** An account under watch: its announcements counted and forced, its hooks seen, the questions put to it counted. */
import { Subject } from 'rxjs';
import type { Account } from 'rx-admission';

/** Through the account's public contract alone: the account itself stays the real one. */
export class WatchedAccount<T extends Account = Account> {
  /** Announcements of more so far. */
  wakes = 0;
  /** Successful takes. */
  takes = 0;
  /** Fits and takes asked. */
  questions = 0;
  readonly #announcements = new Subject<void>();

  constructor(readonly account: T) {
    account.capacityChanges.subscribe(() => this.wake());
    const fits = account.fits.bind(account);
    const tryTake = account.tryTake.bind(account);
    Object.defineProperties(account, {
      // Answered beside `fits`, so that the account compares as it did before it was watched.
      room: { value: account.room?.bind(account) },
      capacityChanges: { value: this.#announcements },
      fits: {
        value: (...asked: Parameters<Account['fits']>): boolean => {
          this.questions += 1;
          return fits(...asked);
        },
      },
      tryTake: {
        value: (...asked: Parameters<Account['tryTake']>): boolean => {
          this.questions += 1;
          const taken = tryTake(...asked);
          if (taken) this.takes += 1;
          return taken;
        },
      },
    });
  }

  /** Announces more to whoever is hooked. */
  wake(): void {
    this.wakes += 1;
    this.#announcements.next();
  }

  /** Whether an admission listens for announcements. */
  get hooked(): boolean {
    return this.#announcements.observed;
  }
}
