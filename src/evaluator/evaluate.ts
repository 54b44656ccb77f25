/**
 * The fold: one change at a time over the immutable queue state, answering what is granted, refused, and when to look
 * again. It questions accounts and the heap and debits them; it runs no code of the user's besides, and it is total.
 */
import type { AnyAccount } from '../accounts/account.js';
import { drawnOn } from '../accounts/route.js';
import type { Demand, DemandEntry } from '../demand.js';
import { RefusedError, QueueFullError, type AdmissionError, type RefusalReason } from '../errors.js';
import type { Asking } from './asking.js';
import { Defect } from './attempt.js';
import { Line } from './line.js';
import { search, tell, type Pass } from './pass.js';
import { giveBack, type Settlement } from './settle.js';
import { Turn, type Books } from './turn.js';
import type { Waiter } from './waiter.js';

/** `created`: parked jobs wait for start. `closed`: stopped, or shut by a defect; `closedBy` is what late asks get. */
export interface LineState {
  readonly phase: 'created' | 'open' | 'closed';
  readonly line: Line;
  /** The instant the evaluator sleeps to; null when only an event wakes it. */
  readonly nextDeadline: number | null;
  readonly closedBy: AdmissionError | null;
}

/** A piece of news with the instant it came at. */
export type Change = News & { readonly at: number };

/** Everything that can change an answer. */
export type News =
  | { readonly type: 'started' }
  | { readonly type: 'arrived'; readonly waiter: Waiter }
  | ({ readonly type: 'settled' } & Settlement)
  | {
      readonly type: 'left';
      /** Each once, in whatever order. */
      readonly asks: readonly Asking[];
      readonly reason: RefusalReason;
      /** What each is told; null for those that nobody listens to any more. */
      readonly error: AdmissionError | null;
    }
  /** A deadline, a heap reading, or an account with more: only a look at the line tells. */
  | { readonly type: 'look' }
  /** An account, or the capacity that several share. */
  | { readonly type: 'shrank'; readonly capacity: object }
  | { readonly type: 'stopped'; readonly error: AdmissionError }
  /** An inline attempt met a defect. */
  | { readonly type: 'broke'; readonly waiter: Waiter; readonly cause: unknown };

export interface Decision {
  readonly state: LineState;
  readonly turn: Turn;
}

export const nobodyWaits = (): LineState => ({ phase: 'created', line: new Line(), nextDeadline: null, closedBy: null });

/** Folds one change. `pass` is the search, so that an index can take the place of the walk. */
export function evaluate(state: LineState, change: Change, books: Books, pass: Pass = search): Decision {
  const turn = new Turn(books, change.at);
  try {
    return { state: after(state, change, turn, pass), turn };
  } catch (error) {
    // A newcomer that a defect caught between being asked and being placed must hear of it too.
    if (change.type === 'arrived' && isUndecided(change.waiter.ask, state.line, turn)) state.line.append(change.waiter);
    return { state: closedByDefect(state, error, turn), turn };
  }
}

const isUndecided = (ask: Asking, line: Line, turn: Turn): boolean =>
  line.waiterOf(ask) === null && !turn.effects.includes(ask);

function after(state: LineState, change: Change, turn: Turn, pass: Pass): LineState {
  switch (change.type) {
    case 'started':
      return passed({ ...state, phase: 'open' }, turn, pass);
    case 'arrived':
      return arrived(state, change.waiter, turn, pass);
    case 'settled':
      change.failures = giveBack(change.ask, change.verb, change.outcome, turn);
      return passed(state, turn, pass);
    case 'left':
      return passed(without(state, change.asks, change.error, change.reason, turn), turn, pass);
    case 'look':
      return passed(state, turn, pass);
    case 'shrank':
      return passed(withoutImpossible(state, change.capacity, turn), turn, pass);
    case 'stopped':
      return closed(state, change.error, 'shutdown', turn);
    case 'broke':
      state.line.append(change.waiter);
      return closedByDefect(state, change.cause, turn);
  }
}

const passed = (state: LineState, turn: Turn, pass: Pass): LineState =>
  state.phase === 'open' ? sleeping(state, lookedThrough(state.line, turn, pass)) : state;

const lookedThrough = (line: Line, turn: Turn, pass: Pass): number | null =>
  line.size === 0 ? null : againIfDue(line, pass(line, turn), turn, pass);

/** Another pass at once when a deadline is due already; a third would ask the same questions again. */
const againIfDue = (line: Line, deadline: number | null, turn: Turn, pass: Pass): number | null =>
  deadline === null || deadline > turn.at ? deadline : pass(line, turn);

/** The state as it sleeps until then: always a new one, for the line may have changed. */
const sleeping = ({ phase, line, closedBy }: LineState, nextDeadline: number | null): LineState => ({
  phase,
  line,
  nextDeadline,
  closedBy,
});

/** No account has moved since the last search, and no deadline is due: it would find what it found. */
const isAsSeen = ({ line, nextDeadline }: LineState, { at, books }: Turn): boolean =>
  line.seen === line.revision && (nextDeadline === null || nextDeadline > at) && books.memory === null;

function arrived(state: LineState, waiter: Waiter, turn: Turn, pass: Pass): LineState {
  const { maxWaiters, overflow } = turn.books;
  const { line } = state;
  const isOpen = state.phase === 'open';
  const before = !isOpen ? null : isAsSeen(state, turn) ? state.nextDeadline : lookedThrough(line, turn, pass);
  // Last in line, so asked last; whoever goes beside the head may have made others short.
  const answered = isOpen ? tell(waiter, line.head, turn) : waiter;
  if (answered === null) return passed(state, turn, pass);
  line.append(answered);
  if (line.size > maxWaiters) {
    const outcast = overflow === 'reject' ? line.waiterOf(waiter.ask) : line.head;
    if (outcast !== null) leaves(line, outcast, new QueueFullError(maxWaiters), 'overflow', turn);
  } else if (!boundEach(line, waiter.ask, turn)) {
    return sleeping(state, againIfDue(line, sooner(before, answered.deadline), turn, pass));
  }
  // The one in excess may have been the head: those it held back go now.
  return passed(sleeping(state, state.nextDeadline), turn, pass);
}

/** Whoever is one too many for an account of the newcomer's leaves; true where somebody did. */
function boundEach(line: Line, newcomer: Asking, turn: Turn): boolean {
  let left = false;
  const { entries } = newcomer.demand;
  for (let n = 0; n < entries.length; n += 1) {
    const { account } = entries[n] as DemandEntry;
    const { maxWaiters } = account;
    if (maxWaiters === undefined || line.naming(account) <= maxWaiters) continue;
    const outcast = turn.books.overflow === 'reject' ? line.waiterOf(newcomer) : line.firstNaming(account);
    if (outcast === null) return left;
    leaves(line, outcast, new QueueFullError(maxWaiters, account.name), 'overflow', turn, account);
    left = true;
    if (outcast.ask === newcomer) return true;
  }
  return left;
}

const sooner = (one: number | null, other: number | null): number | null =>
  one === null || (other !== null && other < one) ? other : one;

/** Those of `asks` who wait leave, in arrival order. */
function without(
  state: LineState,
  asks: readonly Asking[],
  error: AdmissionError | null,
  reason: RefusalReason,
  turn: Turn,
): LineState {
  const { line } = state;
  const leaving = asks.length === 1 ? asks : [...asks].sort((one, other) => one.arrival - other.arrival);
  for (const ask of leaving) {
    const waiter = line.waiterOf(ask);
    if (waiter !== null) leaves(line, waiter, error, reason, turn);
  }
  return sleeping(state, line.size === 0 ? null : state.nextDeadline);
}

function leaves(
  line: Line,
  waiter: Waiter,
  error: AdmissionError | null,
  reason: RefusalReason,
  turn: Turn,
  by: AnyAccount | null = null,
): void {
  line.remove(waiter.ask);
  if (waiter.onMemory) turn.books.ledger.onMemory -= 1;
  turn.refuse(waiter, error, reason, by);
}

/** Refuses who can never fit again, wherever it stands, also where a pass would not ask it. */
function withoutImpossible(state: LineState, capacity: object, turn: Turn): LineState {
  for (const waiter of state.line.toArray()) {
    for (const { account, amounts } of waiter.ask.demand.entries) {
      const error = drawnOn(account) === capacity ? refusalOf(account, amounts, turn.at) : null;
      if (error === null) continue;
      leaves(state.line, waiter, error, error.reason, turn, account);
      break;
    }
  }
  return sleeping(state, state.nextDeadline);
}

/** A bug is no refusal: it is left to the pass, which says whose it is. */
function refusalOf(account: AnyAccount, amounts: readonly unknown[], at: number): RefusedError | null {
  try {
    account.fits(amounts, [], at);
  } catch (error) {
    if (error instanceof RefusedError) return error;
  }
  return null;
}

function closed(state: LineState, error: AdmissionError, reason: RefusalReason, turn: Turn): LineState {
  const { line } = state;
  for (let head = line.head; head !== null; head = line.head) leaves(line, head, error, reason, turn);
  return { phase: 'closed', line, nextDeadline: null, closedBy: state.closedBy ?? error };
}

/** A throw that is no waiter's: the books may be wrong, so nobody else is admitted on them. */
function closedByDefect(state: LineState, thrown: unknown, turn: Turn): LineState {
  const cause = thrown instanceof Defect ? thrown.cause : thrown;
  const message = cause instanceof Error ? cause.message : String(cause);
  console.error('rx-admission: admission is closed by a defect', cause);
  const error = new RefusedError(`admission is closed by a defect: ${message}`, { reason: 'aborted', cause });
  return closed(state, error, 'aborted', turn);
}

/** One who waits, as the queue state shows it. */
export interface Queued {
  readonly job: unknown;
  readonly demand: Demand;
  readonly askedAt: number;
}

/** The queue state as it is handed out: nothing that happens later changes it. */
export interface QueueState {
  readonly phase: LineState['phase'];
  readonly queueSize: number;
  readonly nextDeadline: number | null;
  /** In arrival order; the first is the head. */
  readonly line: readonly Queued[];
}

export function handedOut({ phase, line, nextDeadline }: LineState): QueueState {
  const waiters = line.snapshot();
  let listed: readonly Queued[] | null = null;
  return {
    phase,
    queueSize: line.size,
    nextDeadline,
    get line() {
      listed ??= waiters().map(({ ask: { job, demand, askedAt } }) => ({ job, demand, askedAt }));
      return listed;
    },
  };
}
