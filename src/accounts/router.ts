/** A router: one name in front of several accounts, each amount debited from the one it is routed to. */
import { merge, type Observable } from 'rxjs';
import type { Account, Identity } from './account.js';
import { routed, type Route } from './route.js';

export interface RouterOptions<A, B = number> {
  readonly name: string;
  /** Every account that `route` may answer. */
  readonly accounts: readonly Account<B>[];
  readonly route: (amount: A) => Route<B>;
}

/**
 * Routes amounts to accounts, such as calls to the bucket of the model they name.
 *
 * `demand` resolves it at once, so the line, the events and the reservations speak of the account behind. Asked directly
 * with amounts for several accounts, a take is all or nothing.
 *
 * @throws RangeError when the accounts are none or replenish differently; TypeError when a route leads elsewhere.
 *
 * @example
 * ```ts
 * const models = router({
 *   name: 'models',
 *   accounts: [gpt, claude],
 *   route: (call: Call) => ({ account: call.model === 'gpt' ? gpt : claude, amount: call.tokens }),
 * });
 * calls$.pipe(admit((call) => demand([models, call]), send));
 * ```
 */
export function router<A, B = number>(options: RouterOptions<A, B>): Router<A, B> {
  return new Router(options);
}

export class Router<A, B = number> implements Account<A> {
  readonly name: string;
  readonly category = 'router';
  readonly replenishment: 'release' | 'time';
  readonly capacityChanges: Observable<void>;
  readonly #accounts: readonly Account<B>[];
  readonly #route: (amount: A) => Route<B>;

  constructor(options: RouterOptions<A, B>) {
    const { name, accounts, route } = options;
    const first = accounts[0];
    if (first === undefined) throw new RangeError(`router ${name}: name at least one account to route to`);
    if (accounts.some((account) => account.replenishment !== first.replenishment)) {
      throw new RangeError(`router ${name}: its accounts must replenish alike, all by release or all by time`);
    }
    this.name = name;
    this.replenishment = first.replenishment;
    this.#accounts = [...new Set(accounts)];
    this.#route = route;
    this.capacityChanges = merge(...this.#accounts.map((account) => account.capacityChanges));
  }

  get capacity(): number {
    return this.#accounts.reduce((sum, account) => sum + account.capacity, 0);
  }

  inUse(at: number): number {
    return this.#accounts.reduce((sum, account) => sum + account.inUse(at), 0);
  }

  /** The account behind an amount, and what it is debited there. */
  [routed](amount: A): Route<B> {
    const route = this.#route(amount);
    if (!this.#accounts.includes(route.account)) {
      throw new TypeError(`router ${this.name} led to "${route.account.name}", which is not among its accounts`);
    }
    return route;
  }

  accountFor(amount: A): Identity {
    return this[routed](amount).account;
  }

  validate(amount: A): void {
    const route = this[routed](amount);
    route.account.validate?.(route.amount);
  }

  fits(mine: readonly A[], reservedAhead: readonly A[], at: number): boolean {
    let all = true;
    // Every account is asked: an impossible amount behind a short one is refused, not held.
    for (const [account, own, reserved] of this.#split(mine, reservedAhead)) {
      if (!account.fits(own, reserved, at)) all = false;
    }
    return all;
  }

  tryTake(mine: readonly A[], reservedAhead: readonly A[], at: number, receipt?: object): boolean {
    const taken: [Account<B>, readonly B[]][] = [];
    try {
      for (const [account, own, reserved] of this.#split(mine, reservedAhead)) {
        if (!account.tryTake(own, reserved, at, receipt)) {
          for (const [debited, amounts] of taken) debited.give(amounts, at, receipt);
          return false;
        }
        taken.push([account, own]);
      }
    } catch (error) {
      for (const [debited, amounts] of taken) debited.give(amounts, at, receipt);
      throw error;
    }
    return true;
  }

  give(amounts: readonly A[], at: number, receipt?: object): void {
    for (const [account, own] of this.#split(amounts, [])) account.give(own, at, receipt);
  }

  earliestFit(mine: readonly A[], reservedAhead: readonly A[], at: number): number | null {
    let latest = at;
    for (const [account, own, reserved] of this.#split(mine, reservedAhead)) {
      const instant = account.earliestFit(own, reserved, at);
      if (instant === null) return null;
      latest = Math.max(latest, instant);
    }
    return latest;
  }

  /** The amounts of each account that is asked for any, in the order of their first. */
  #split(mine: readonly A[], reservedAhead: readonly A[]): [Account<B>, B[], B[]][] {
    const parts = new Map<Account<B>, [Account<B>, B[], B[]]>();
    for (const amount of mine) {
      const route = this[routed](amount);
      const part = parts.get(route.account) ?? [route.account, [], []];
      parts.set(route.account, part);
      part[1].push(route.amount);
    }
    for (const amount of reservedAhead) {
      const route = this[routed](amount);
      parts.get(route.account)?.[2].push(route.amount);
    }
    return [...parts.values()];
  }
}
