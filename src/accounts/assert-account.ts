/** Whether something that was handed over as an account is one: what it lacks is said at once, not met while a line waits. */
import type { Account, AnyAccount } from './account.js';

const METHODS = ['inUse', 'fits', 'tryTake', 'give', 'earliestFit'] as const;

const RULE = 'a demand names accounts, alone or in a list with their amounts';

/** What stands where an account should, and what was meant by it. */
function shown(asked: unknown): string {
  if (typeof asked === 'number') return `the number ${String(asked)}: write [account, ${String(asked)}]`;
  if (Array.isArray(asked)) return 'a list in a list: spread it, demand(...parts)';
  return typeof asked === 'function' ? `the function ${asked.name}: make one of it, or call it` : String(asked);
}

/** Those that were looked at already. */
const known = new WeakSet<object>();

/** @throws TypeError that names what is missing, and what to do about it. */
export function assertAccount(asked: unknown): asserts asked is Account<never> {
  if (typeof asked !== 'object' || asked === null || Array.isArray(asked)) throw new TypeError(`${RULE}, not ${shown(asked)}`);
  if (known.has(asked)) return;
  const account: Partial<AnyAccount> = asked;
  const missing: string[] = METHODS.filter((method) => typeof account[method] !== 'function').map((method) => `${method}()`);
  if (missing.length === METHODS.length && typeof account.name !== 'string') {
    throw new TypeError(`${RULE}, not an object of ${Object.keys(asked).join(', ') || 'nothing'}: write demand([gpt, 500], http)`);
  }
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
