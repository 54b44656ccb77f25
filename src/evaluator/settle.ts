/** What a grant gives back at its end: the accounts are told how it went, credited, and memory hears of a completion. */
import type { AnyAccount } from '../accounts/account.js';
import { amountOf } from '../accounts/amounts.js';
import { learns } from '../accounts/learning.js';
import type { UpstreamFailure } from '../accounts/upstream-failure.js';
import type { DemandEntry } from '../demand.js';
import type { Asking } from './asking.js';
import type { Turn } from './turn.js';

/** `release` returns what work holds; `rollback` returns everything, metered debits included. */
export type Verb = 'release' | 'rollback';

/** Pressure that an upstream put on a call, and the account it is about. */
export interface Pressure {
  readonly pressure: UpstreamFailure;
  /** Unless named, the only account of the grant that learns; where there are several, none. */
  readonly account?: AnyAccount;
}

/** How a granted call ended, for the accounts that learn; `ignored` says nothing about load. */
export type Outcome = 'success' | 'ignored' | Pressure;

/** The end of one grant. */
export interface Settlement {
  readonly ask: Asking;
  readonly verb: Verb;
  readonly outcome: Outcome;
  /** What accounts threw, for the caller who settles. */
  failures: readonly unknown[];
}

const NONE: readonly unknown[] = [];

/** Settles a grant: every account gets its own back, whichever of them throws. Answers what they threw. */
export function giveBack(ask: Asking, verb: Verb, outcome: Outcome, turn: Turn): readonly unknown[] {
  const { entries } = ask.demand;
  let failures = NONE;
  if (outcome !== 'ignored') {
    try {
      teach(entries, outcome, turn.at, ask);
    } catch (error) {
      failures = [error];
    }
  }
  for (let n = 0; n < entries.length; n += 1) {
    const entry = entries[n] as DemandEntry;
    if (verb === 'release' && entry.account.replenishment === 'time') continue;
    try {
      giveEntry(entry, ask, turn);
    } catch (error) {
      failures = [...failures, error];
    }
  }
  const { memory } = turn.books;
  if (memory === null || ask.demand.isEmpty) return failures;
  try {
    memory.give([], turn.at);
  } catch (error) {
    failures = [...failures, error];
  }
  return failures;
}

/** No RELEASED is told of an account whose give threw. */
function giveEntry(entry: DemandEntry, ask: Asking, turn: Turn): void {
  const { account, amounts } = entry;
  const charged = ask.charged?.get(entry);
  // What was corrected after the take is undone first, so that the give matches the take.
  if (charged !== undefined) account.adjust?.(amountOf(amounts) - charged, turn.at);
  account.give(amounts, turn.at, ask);
  turn.released(ask, account, amounts);
}

/** Base methods that learn nothing are told as well: telling them is free, guessing who learns is not. */
function teach(entries: readonly DemandEntry[], outcome: 'success' | Pressure, at: number, receipt: object): void {
  if (outcome === 'success') {
    for (let n = 0; n < entries.length; n += 1) entries[n]?.account.onSuccess?.(at, undefined, receipt);
    return;
  }
  const about = outcome.account ?? onlyLearner(entries);
  about?.onRateLimitError?.(outcome.pressure, at, undefined, receipt);
}

/** A gate's capacity is a fact, and learns nothing: it does not count. */
function onlyLearner(entries: readonly DemandEntry[]): AnyAccount | null {
  const learners = entries.map(({ account }) => account).filter(learns);
  const [only] = learners;
  if (only !== undefined && learners.length === 1) return only;
  if (learners.length > 1 && !warned) {
    warned = true;
    console.warn(
      `rx-admission: an outcome of pressure names no account and ${String(learners.length)} of its grant learn ` +
        `(${learners.map(({ name }) => name).join(', ')}): none is told; name the account in the outcome`,
    );
  }
  return null;
}

/** One warning is enough to find the call that forgets the name. */
let warned = false;
