/**
 * One pass over the line: who goes now, who is refused, and when to look again.
 *
 * The head is never overtaken on what it is short of. Its amounts, on every account it names, are kept free while the
 * others are asked: a stream of small demands would otherwise starve a large one for ever (the same reason stops Go's
 * semaphore.Weighted at its head). Ours goes on past the head, because a demand that fits beside the reservation takes
 * nothing from it. Nobody but the head reserves: the rest may overtake each other.
 */
import { attempt, Defect } from './attempt.js';
import { newcomer, type Asking, type Line, type Waiter } from './line.js';
import type { Turn } from './turn.js';

/** Searches the line once; the interface behind which an index may replace the walk. */
export type Pass = (line: Line, turn: Turn) => Line;

/** Asks everyone, from the head again after each that left: a grant may have made a new head, or left others short. */
export const walk: Pass = (line, turn) => {
  const waiting = [...line];
  let place = 0;
  try {
    for (let waiter = waiting[place]; waiter !== undefined; waiter = waiting[place]) {
      const head = place === 0 ? null : (waiting[0] ?? null);
      const answered = judge(waiter, head, turn);
      if (answered === null) {
        waiting.splice(place, 1);
        place = 0;
      } else {
        waiting[place] = answered;
        place += 1;
      }
    }
  } catch (error) {
    if (error instanceof Defect) error.line = waiting;
    throw error;
  }
  return waiting;
};

/** The waiter as it waits on; null when it left, granted or refused. */
export function judge(waiter: Waiter, head: Waiter | null, turn: Turn): Waiter | null {
  const verdict = attempt(waiter, head, turn);
  const stays = verdict.kind === 'held' && verdict.waiter.onMemory;
  turn.books.ledger.onMemory += Number(stays) - Number(waiter.onMemory);
  switch (verdict.kind) {
    case 'held':
      return verdict.waiter;
    case 'granted':
      turn.grant(verdict.waiter, verdict.holding);
      return null;
    case 'refused':
      turn.refuse(verdict.waiter, verdict.error, verdict.error.reason, verdict.by);
      return null;
  }
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
  return judge(waiter, null, turn);
}
