/**
 * One pass over the line: who goes now, who is refused, and when to look again.
 *
 * The head is never overtaken on what it is short of. Its amounts, on every account it names, are kept free while the
 * others are asked: a stream of small demands would otherwise starve a large one for ever (the same reason stops Go's
 * semaphore.Weighted at its head). Ours goes on past the head, because a demand that fits beside the reservation takes
 * nothing from it. Nobody but the head reserves: the rest may overtake each other.
 *
 * The rule is a walk: ask everyone from the head, and start again whenever one left. `search` does what the walk would,
 * event for event, but asks only those whom it would tell something new: within a pass nothing grows but by a head's
 * leaving, so they are, over and over, the first in arrival order who fits, falls newly short, or is refused.
 */
import type { Asking } from './asking.js';
import { attempt, Refusal } from './attempt.js';
import type { Group } from './group.js';
import type { Line } from './line.js';
import type { Turn } from './turn.js';
import { newcomer, type Waiter } from './waiter.js';

/** Looks the line through; answers the earliest instant at which the clock alone could let somebody go. */
export type Pass = (line: Line, turn: Turn) => number | null;

/** Judges a waiter; true when it left, granted or refused. */
function judge(line: Line, waiter: Waiter, turn: Turn): boolean {
  const answered = tell(waiter, line.head === waiter ? null : line.head, turn);
  if (answered === null) line.remove(waiter.ask);
  else if (answered !== waiter) line.replace(answered);
  return answered === null;
}

/** The waiter as it waits on; null when it left. */
export function tell(waiter: Waiter, head: Waiter | null, turn: Turn): Waiter | null {
  const verdict = attempt(waiter, head, turn);
  const answered = verdict === 'granted' || verdict instanceof Refusal;
  const stays = !answered && verdict.onMemory;
  if (stays !== waiter.onMemory) turn.books.ledger.onMemory += stays ? 1 : -1;
  if (!answered) return verdict;
  if (verdict === 'granted') turn.grant(waiter);
  else turn.refuse(verdict.waiter, verdict.error, verdict.error.reason, verdict.by);
  return null;
}

/** The attempt of an ask that finds the line empty: memory is asked once before it, as before any head. */
export function inline(ask: Asking, turn: Turn): Waiter | null {
  const waiter = newcomer(ask);
  const { memory } = turn.books;
  if (memory !== null && !ask.demand.isEmpty) {
    try {
      if (!memory.fits([], [], turn.at)) return waiter;
    } catch {
      // The attempt meets the same fault and refuses the waiter for it.
    }
  }
  return tell(waiter, null, turn);
}

/** Asks everyone, from the head again after each that left: the rule itself, and what `search` must never differ from. */
export const walk: Pass = (line, turn) => {
  while (stayingHead(line, turn) !== null) if (!askFollowers(line, turn)) return soonest(line.toArray());
  return null;
};

/** Asks those for whom something changed. */
export const search: Pass = (line, turn) => {
  const deadline = searched(line, turn);
  line.seen = line.revision;
  return deadline;
};

function searched(line: Line, turn: Turn): number | null {
  const { memory, ledger } = turn.books;
  line.stamp += 1;
  for (let head = stayingHead(line, turn); head !== null; head = stayingHead(line, turn)) {
    // Behind a head that waits for the heap there is nothing to ask, once everyone knows …
    if (head.onMemory && ledger.onMemory === line.size) return head.deadline;
    // … else, while memory is short, everyone is asked in turn: it paces its line by whom it asked last.
    const found = memory !== null && ledger.onMemory > 0 ? 'memory' : visitFollowers(line, head, turn);
    if (found === 'nobody') return soonestBehind(line, head, turn);
    if (found === 'memory' && !askFollowers(line, turn)) return soonest(line.toArray());
  }
  return null;
}

/** Judges the head, and the next one when it left; null when nobody stays. */
function stayingHead(line: Line, turn: Turn): Waiter | null {
  while (line.head !== null && judge(line, line.head, turn));
  return line.head;
}

/** Asks those behind the head in arrival order; true as soon as one left. */
function askFollowers(line: Line, turn: Turn): boolean {
  return line.toArray().some((waiter) => waiter !== line.head && judge(line, waiter, turn));
}

/** Tells the followers what is new to them, in arrival order, until one leaves. */
function visitFollowers(line: Line, head: Waiter, turn: Turn): 'one' | 'nobody' | 'memory' {
  let told: Set<Asking> | null = null;
  const odd = line.odd.size > 0 ? line.odd.toArray() : NOBODY;
  let next = 0;
  for (;;) {
    let first: Waiter | null = odd[next] ?? null;
    for (let n = 0; n < line.groups.length; n += 1) {
      const group = line.groups[n] as Group;
      if (group.size === 0) continue;
      renew(group, line, head, turn);
      const changing = group.firstChanging(group.bounds, told);
      if (changing !== null && (first === null || changing.ask.arrival < first.ask.arrival)) first = changing;
    }
    if (first === null) return 'nobody';
    if (first === odd[next]) next += 1;
    if (judge(line, first, turn)) return 'one';
    const waits = line.waiterOf(first.ask);
    if (waits?.onMemory === true) return 'memory';
    // Told, and nothing left to tell: an account whose `room` and `fits` disagree must not keep us here.
    if (waits === first) told = (told ?? new Set()).add(first.ask);
  }
}

const NOBODY: readonly Waiter[] = [];

function renew(group: Group, line: Line, head: Waiter, turn: Turn): void {
  for (const bound of group.bounds) bound.renew(line.stamp, head, turn.at);
}

/** Everyone was asked: each knows its own deadline. */
function soonest(waiters: readonly Waiter[]): number | null {
  let next: number | null = null;
  for (const { deadline } of waiters) {
    if (deadline !== null && (next === null || deadline < next)) next = deadline;
  }
  return next;
}

/** Only some were asked: the groups know the rest. */
function soonestBehind(line: Line, head: Waiter, turn: Turn): number | null {
  let next = head.deadline ?? Infinity;
  if (line.odd.size > 0) next = Math.min(next, soonest(line.odd.toArray()) ?? Infinity);
  for (const group of line.groups) {
    if (group.size === 0) continue;
    renew(group, line, head, turn);
    next = Math.min(next, group.earliest(group.bounds));
  }
  return Number.isFinite(next) ? next : null;
}
