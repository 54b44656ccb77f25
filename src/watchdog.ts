/** The watchdog: checks the books now and then, while somebody waits or holds something, and tells what is new. */
import { positive } from './accounts/validation.js';
import { violationsOf, type Violation } from './check.js';
import type { Alarm } from './clock.js';
import type { Desk } from './desk.js';

export interface WatchdogOptions {
  /** ms between two looks; each costs as much as a `check`. */
  readonly every: number;
  /** Gets what was found, besides the warning. */
  readonly report?: ((violations: readonly Violation[]) => void) | undefined;
}

export class Watchdog {
  readonly #desk: Desk;
  readonly #options: WatchdogOptions;
  #alarm: Alarm | null = null;
  /** What was told already: a fault that stays is no news. */
  #told = '';

  constructor(desk: Desk, options: WatchdogOptions) {
    this.#desk = desk;
    this.#options = options;
  }

  /** Something changed: it sleeps while nothing is pending, and then costs no timer. */
  look(): void {
    const { state, held, alarms } = this.#desk;
    if (state.line.size === 0 && held.size === 0) {
      this.#alarm?.cancel();
      this.#alarm = null;
    } else {
      this.#alarm ??= alarms.set(this.#desk.now() + this.#options.every, () => {
        this.#alarm = null;
        this.#check();
        this.look();
      });
    }
  }

  #check(): void {
    const violations = violationsOf(this.#desk);
    const told = violations.map(({ rule, accounts }) => [rule, ...accounts].join(' ')).join();
    if (told === this.#told) return;
    this.#told = told;
    if (violations.length === 0) return;
    const message = `the books do not hold: ${violations.map((violation) => violation.message).join('; ')}`;
    const { report } = this.#options;
    this.#desk.warnings.tell({ type: 'UNSOUND', at: this.#desk.now(), violations, message }, () => report?.(violations));
  }
}

/** @throws RangeError or TypeError on what says no interval. */
export function assertWatchdog(options: WatchdogOptions | undefined): void {
  if (options === undefined) return;
  const given: unknown = options;
  if (typeof given !== 'object' || given === null) {
    throw new TypeError(`watchdog takes { every, report }, such as { every: 10_000 }, not ${String(given)}`);
  }
  positive('watchdog.every (ms)', options.every);
}
