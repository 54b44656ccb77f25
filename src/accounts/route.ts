/** What stands behind an account: the one that a router chooses, and the capacity that several draw on. */
import type { Account, AnyAccount, CommonCapacity } from './account.js';

/** Where an amount goes, and what it is there. */
export interface Route<B = number> {
  readonly account: Account<B>;
  readonly amount: B;
}

/** Marks an account that only stands in front of others; `demand` asks the one behind. */
export const routed = Symbol('rx-admission.routed');

interface Routing {
  [routed](amount: unknown): Route<unknown>;
}

/** The account that a demand debits for `amount`: the one behind a router, any other itself. */
export function resolve(account: AnyAccount, amount: unknown): Route<unknown> {
  let route: Route<unknown> = { account, amount };
  while (routed in route.account) route = (route.account as AnyAccount & Routing)[routed](route.amount);
  return route;
}

/** What moves when the account does: the capacity that it shares with others, or itself. */
export const drawnOn = (account: AnyAccount): CommonCapacity => account.sharedWith ?? account;
