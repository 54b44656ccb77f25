/** One who waits: what it was last told, and which accounts ever refused it. */
import type { AnyAccount } from '../accounts/account.js';
import type { Asking } from './asking.js';

/** The first refusal of a wait on one account; a list, the newest first. */
export interface Mark {
  readonly account: AnyAccount;
  readonly since: number;
  readonly earlier: Mark | null;
}

/** One who waits, holding nothing. Every answer that changes something replaces it. */
export interface Waiter {
  readonly ask: Asking;
  readonly marks: Mark | null;
  /** The latest answer was short on memory: this one stands in memory's line. */
  readonly onMemory: boolean;
  /** When the clock alone could change its latest answer; null when only an event can. */
  readonly deadline: number | null;
}

export const newcomer = (ask: Asking): Waiter => ({ ask, marks: null, onMemory: false, deadline: null });

export function markOn(marks: Mark | null, account: AnyAccount | undefined): Mark | null {
  let mark = marks;
  while (mark !== null && mark.account !== account) mark = mark.earlier;
  return mark;
}

/** The marks, first refusal first. */
export function inOrder(marks: Mark | null): Mark[] {
  const list: Mark[] = [];
  for (let mark = marks; mark !== null; mark = mark.earlier) list.push(mark);
  return list.reverse();
}
