/** The line: who waits, in arrival order, and what each was last told. Immutable, and free of RxJS. */
import type { AnyAccount } from '../accounts/account.js';
import type { Demand } from '../demand.js';

/** One request for admission, from asking until it is over. */
export interface Asking {
  readonly demand: Demand;
  /** The user's label or snapshot, taken at asking. */
  readonly job: unknown;
  readonly askedAt: number;
}

/** One who waits, holding nothing. Every pass that learns something replaces it. */
export interface Waiter {
  readonly ask: Asking;
  /** Accounts that ever refused this wait, first refusal first, with its instant. */
  readonly marks: ReadonlyMap<AnyAccount, number>;
  /** What the latest answer was short of. */
  readonly shortOf: readonly AnyAccount[];
  /** The latest answer was short on memory: this one stands in memory's line. */
  readonly onMemory: boolean;
  /** When the clock alone could change the answer; null when only an event can. */
  readonly deadline: number | null;
}

/** In arrival order; the first is the head, the only one whose amounts are reserved. */
export type Line = readonly Waiter[];

const NO_MARKS: ReadonlyMap<AnyAccount, number> = new Map();

export const newcomer = (ask: Asking): Waiter => ({
  ask,
  marks: NO_MARKS,
  shortOf: [],
  onMemory: false,
  deadline: null,
});

/** The earliest instant at which the clock alone could let somebody go. */
export function nextDeadline(line: Line): number | null {
  let next: number | null = null;
  for (const { deadline } of line) {
    if (deadline !== null && (next === null || deadline < next)) next = deadline;
  }
  return next;
}
