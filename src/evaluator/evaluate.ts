/**
 * The fold: one change at a time over the immutable queue state, answering what is granted, refused, and when to look
 * again. It questions accounts and the heap and debits them; it runs no code of the user's besides, and it is total.
 */
import type { AnyAccount } from '../accounts/account.js';
import { RefusedError, QueueFullError, type AdmissionError, type RefusalReason } from '../errors.js';
import { Defect } from './attempt.js';
import { nextDeadline, type Asking, type Line, type Waiter } from './line.js';
import { walk, type Pass } from './pass.js';
import { giveBack, type Settlement } from './settle.js';
import { Turn, type Books } from './turn.js';

/** `created`: parked jobs wait for start. `closed`: stopped, or shut by a defect; `closedBy` is what late asks get. */
export interface QueueState {
  readonly phase: 'created' | 'open' | 'closed';
  readonly line: Line;
  /** The instant the evaluator sleeps to; null when only an event wakes it. */
  readonly nextDeadline: number | null;
  readonly closedBy: AdmissionError | null;
}

/** Everything that can change an answer. */
export type Change =
  | { readonly type: 'started' }
  | { readonly type: 'arrived'; readonly waiter: Waiter }
  | ({ readonly type: 'settled' } & Settlement)
  | {
      readonly type: 'left';
      readonly asks: ReadonlySet<Asking>;
      readonly reason: RefusalReason;
      /** What each is told; null for those that nobody listens to any more. */
      readonly error: AdmissionError | null;
    }
  /** A deadline, a heap reading, or an account with more: only a look at the line tells. */
  | { readonly type: 'look' }
  | { readonly type: 'shrank'; readonly account: AnyAccount }
  | { readonly type: 'stopped'; readonly error: AdmissionError }
  /** An inline attempt met a defect. */
  | { readonly type: 'broke'; readonly waiter: Waiter; readonly cause: unknown };

/** A change with the instant it came at. */
export type Dated<C = Change> = C & { readonly at: number };

export interface Decision {
  readonly state: QueueState;
  readonly turn: Turn;
}

export const nobodyWaits: QueueState = { phase: 'created', line: [], nextDeadline: null, closedBy: null };

/** Folds one change. `pass` is the search, so that an index can take the place of the walk. */
export function evaluate(state: QueueState, change: Dated, books: Books, pass: Pass = walk): Decision {
  const turn = new Turn(books, change.at);
  try {
    return { state: after(state, change, turn, pass), turn };
  } catch (error) {
    return { state: closedByDefect(waitingAt(error, state, change), error, turn), turn };
  }
}

function after(state: QueueState, change: Dated, turn: Turn, pass: Pass): QueueState {
  switch (change.type) {
    case 'started':
      return passed({ ...state, phase: 'open' }, turn, pass);
    case 'arrived':
      return arrived(state, change.waiter, turn, pass);
    case 'settled':
      giveBack(change, turn);
      return passed(state, turn, pass);
    case 'left':
      return passed(without(state, change.asks, change.error, change.reason, turn), turn, pass);
    case 'look':
      return passed(state, turn, pass);
    case 'shrank':
      return passed(withoutImpossible(state, change.account, turn), turn, pass);
    case 'stopped':
      return closed(state, change.error, 'shutdown', turn);
    case 'broke':
      return closedByDefect({ ...state, line: [change.waiter] }, change.cause, turn);
  }
}

/** A pass, and another at once when a deadline is due already; a third would ask the same questions again. */
function passed(state: QueueState, turn: Turn, pass: Pass): QueueState {
  if (state.phase !== 'open') return state;
  let line = pass(state.line, turn);
  let next = nextDeadline(line);
  if (next !== null && next <= turn.at) {
    line = pass(line, turn);
    next = nextDeadline(line);
  }
  return { ...state, line, nextDeadline: next };
}

function arrived(state: QueueState, waiter: Waiter, turn: Turn, pass: Pass): QueueState {
  const { maxWaiters, overflow } = turn.books;
  const next = passed({ ...state, line: [...state.line, waiter] }, turn, pass);
  if (next.line.length <= maxWaiters) return next;
  const outcast = overflow === 'reject' ? next.line.at(-1) : next.line[0];
  if (outcast === undefined) return next;
  const asks = new Set([outcast.ask]);
  // The one in excess may have been the head: those it held back go now.
  return passed(without(next, asks, new QueueFullError(maxWaiters), 'overflow', turn), turn, pass);
}

function without(
  state: QueueState,
  asks: ReadonlySet<Asking>,
  error: AdmissionError | null,
  reason: RefusalReason,
  turn: Turn,
): QueueState {
  const line = state.line.filter((waiter) => {
    if (!asks.has(waiter.ask)) return true;
    leaves(waiter, error, reason, turn);
    return false;
  });
  return { ...state, line, nextDeadline: line.length === 0 ? null : state.nextDeadline };
}

function leaves(
  waiter: Waiter,
  error: AdmissionError | null,
  reason: RefusalReason,
  turn: Turn,
  by: AnyAccount | null = null,
): void {
  if (waiter.onMemory) turn.books.ledger.onMemory -= 1;
  turn.refuse(waiter, error, reason, by);
}

/** Refuses who can never fit the account again, wherever it stands, also where a pass would not ask it. */
function withoutImpossible(state: QueueState, account: AnyAccount, turn: Turn): QueueState {
  const line = state.line.filter((waiter) => {
    for (const entry of waiter.ask.demand.entries) {
      if (entry.account !== account) continue;
      try {
        account.fits(entry.amounts, [], turn.at);
      } catch (error) {
        // A bug is left to the pass, which says whose it is.
        if (!(error instanceof RefusedError)) continue;
        leaves(waiter, error, error.reason, turn, account);
        return false;
      }
    }
    return true;
  });
  return { ...state, line };
}

function closed(state: QueueState, error: AdmissionError, reason: RefusalReason, turn: Turn): QueueState {
  for (const waiter of state.line) leaves(waiter, error, reason, turn);
  return { phase: 'closed', line: [], nextDeadline: null, closedBy: state.closedBy ?? error };
}

/** The line when a defect struck: as far as the pass had come, or as the change found it. */
function waitingAt(thrown: unknown, state: QueueState, change: Change): QueueState {
  if (thrown instanceof Defect && thrown.line !== null) return { ...state, line: thrown.line };
  return change.type === 'arrived' ? { ...state, line: [...state.line, change.waiter] } : state;
}

/** A throw that is no waiter's: the books may be wrong, so nobody else is admitted on them. */
function closedByDefect(state: QueueState, thrown: unknown, turn: Turn): QueueState {
  const cause = thrown instanceof Defect ? thrown.cause : thrown;
  const message = cause instanceof Error ? cause.message : String(cause);
  console.error('rx-admission: admission is closed by a defect', cause);
  return closed(state, new RefusedError(`admission is closed by a defect: ${message}`, { reason: 'aborted', cause }), 'aborted', turn);
}
