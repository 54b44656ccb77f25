/** Whether something that was handed over as an account is one: what it lacks is said at once, not met while a line waits. */
import type { Account, AnyAccount } from './account.js';

const METHODS = ['inUse', 'fits', 'tryTake', 'give', 'earliestFit'] as const;

/** Those that were looked at already. */
const known = new WeakSet<object>();

/** @throws TypeError that names what is missing, and what to do about it. */
export function assertAccount(asked: unknown): asserts asked is Account<never> {
  if (typeof asked !== 'object' || asked === null) {
    throw new TypeError(`a demand names accounts, alone or in a list with their amounts, not ${String(asked)}`);
  }
  if (known.has(asked)) return;
  const account: Partial<AnyAccount> = asked;
  const missing: string[] = METHODS.filter((method) => typeof account[method] !== 'function').map((method) => `${method}()`);
  const changes: { readonly subscribe?: unknown } | undefined = account.capacityChanges;
  if (typeof changes?.subscribe !== 'function') missing.push('capacityChanges, an observable');
  // No default: the wrong guess is silent in both directions.
  if (account.replenishment !== 'release' && account.replenishment !== 'time') {
    missing.push("replenishment, 'release' or 'time'");
  }
  if (missing.length > 0) {
    throw new TypeError(`"${String(account.name)}" is no account, it lacks ${missing.join(', ')}: extend AbstractAccount, or add them`);
  }
  known.add(asked);
}
