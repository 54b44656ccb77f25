/** Every account that was ever asked of an admission: a gauge that is told no more would keep its last value for ever. */
import type { AccountView, Admission, Demand } from '../index.js';

type AnAccount = Demand['entries'][number]['account'];

export class SeenAccounts {
  /** Weakly, and by name, which is what tells their series apart. */
  readonly #seen = new Map<string, WeakRef<AnAccount>>();

  see({ entries }: Demand): void {
    for (const { account } of entries) {
      if (this.#seen.get(account.name)?.deref() !== account) this.#seen.set(account.name, new WeakRef(account));
    }
  }

  /** Those that somebody holds or waits for, as the status has them, and those that nobody does. */
  views(admission: Admission, named: readonly AccountView[]): AccountView[] {
    const present = new Set(named.map(({ name }) => name));
    const at = admission.now();
    const idle: AccountView[] = [];
    for (const [name, reference] of this.#seen) {
      const account = reference.deref();
      if (account === undefined) this.#seen.delete(name);
      else if (!present.has(name)) idle.push(viewOf(account, at));
    }
    return [...named, ...idle];
  }
}

function viewOf(account: AnAccount, at: number): AccountView {
  const nobody = { waiters: 0, queued: 0, queueAge: 0, status: null };
  const { name, category = 'custom' } = account;
  try {
    const indicator = account.statusIndicator?.(at) ?? null;
    return { ...nobody, name, category, capacity: account.capacity, inUse: account.inUse(at), indicator };
  } catch {
    return { ...nobody, name, category, capacity: NaN, inUse: NaN, indicator: null };
  }
}
