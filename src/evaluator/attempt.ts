/** One attempt: may this waiter have its whole demand now? All of it is debited, or nothing is. */
import type { AnyAccount, Identity } from '../accounts/account.js';
import type { DemandEntry } from '../demand.js';
import { RefusedError } from '../errors.js';
import type { Waiter } from './waiter.js';
import type { Turn } from './turn.js';

/** Which account refused whom, and why. */
export class Refusal {
  constructor(
    /** With its marks as they are now. */
    readonly waiter: Waiter,
    readonly by: AnyAccount,
    readonly error: RefusedError,
  ) {}
}

/** The waiter as it waits on: the same object if nothing changed. */
export type Verdict = 'granted' | Waiter | Refusal;

/** Something that no single waiter is to blame for: the books may be wrong, so admission closes. */
export class Defect extends Error {
  override name = 'Defect';

  constructor(override readonly cause: unknown) {
    super('a defect met in a pass');
  }
}

const NOTHING: readonly never[] = [];

/** The amounts that the head has on this key, all its entries there together: they are set aside for it. */
export function reservedOn(head: Waiter | null, key: Identity): readonly unknown[] {
  if (head === null) return NOTHING;
  const { entries } = head.ask.demand;
  let reserved: readonly unknown[] = NOTHING;
  for (let n = 0; n < entries.length; n += 1) {
    const entry = entries[n] as DemandEntry;
    if (entry.key === key) reserved = reserved.length === 0 ? entry.amounts : [...reserved, ...entry.amounts];
  }
  return reserved;
}

/** When the clock alone lets such amounts fit; an answer that is none would never wake the line again. */
function earliestFit(account: AnyAccount, amounts: readonly unknown[], reserved: readonly unknown[], at: number): number | null {
  const instant: unknown = account.earliestFit(amounts, reserved, at);
  if (instant === null || (typeof instant === 'number' && !Number.isNaN(instant))) return instant;
  throw new TypeError(`earliestFit must answer an instant (ms) or null, not ${typeof instant}`);
}

/**
 * Judges one waiter. `head` is null for the head itself.
 *
 * @throws Defect when an account cannot take back what a failed attempt took from it.
 */
export function attempt(waiter: Waiter, head: Waiter | null, turn: Turn): Verdict {
  const { demand } = waiter.ask;
  const memory = demand.isEmpty ? null : turn.books.memory;
  if (memory !== null) {
    // Memory's line goes in order: behind a head that waits for the heap nobody is asked anything.
    if (head?.onMemory === true) return heldOnMemory(waiter, memory, head.deadline, turn);
    try {
      if (!memory.fits(NOTHING, NOTHING, turn.at)) {
        return heldOnMemory(waiter, memory, earliestFit(memory, NOTHING, NOTHING, turn.at), turn);
      }
    } catch (error) {
      return refused(waiter, memory, error);
    }
  }
  return shortfalls(waiter, head, turn) ?? take(waiter, head, turn);
}

function heldOnMemory(waiter: Waiter, memory: AnyAccount, deadline: number | null, turn: Turn): Verdict {
  return waiting(turn.hold(waiter, memory, NOTHING), true, deadline);
}

/** The waiter as its latest answer leaves it. */
function waiting(waiter: Waiter, onMemory: boolean, deadline: number | null): Waiter {
  if (waiter.onMemory === onMemory && waiter.deadline === deadline) return waiter;
  return { ask: waiter.ask, marks: waiter.marks, onMemory, deadline };
}

/** Asks every entry, beyond the first shortfall too: each account is marked where it first refuses. */
function shortfalls(waiter: Waiter, head: Waiter | null, turn: Turn): Verdict | null {
  const { at } = turn;
  let marked = waiter;
  let deadline: number | null = -Infinity;
  let short = false;
  const { entries } = waiter.ask.demand;
  for (let n = 0; n < entries.length; n += 1) {
    const { account, key, amounts } = entries[n] as DemandEntry;
    const reserved = reservedOn(head, key);
    try {
      if (account.fits(amounts, reserved, at)) continue;
      marked = turn.hold(marked, account, amounts);
      short = true;
      const instant = earliestFit(account, amounts, reserved, at);
      // Short on one that only an event helps, the clock alone changes nothing.
      deadline = deadline === null || instant === null ? null : Math.max(deadline, instant);
    } catch (error) {
      return refused(marked, account, error);
    }
  }
  return short ? waiting(marked, false, deadline) : null;
}

function take(waiter: Waiter, head: Waiter | null, turn: Turn): Verdict {
  const { at } = turn;
  const { ask } = waiter;
  const { entries } = ask.demand;
  for (let taken = 0; taken < entries.length; taken += 1) {
    const { account, key, amounts } = entries[taken] as DemandEntry;
    const reserved = reservedOn(head, key);
    try {
      if (account.tryTake(amounts, reserved, at, ask)) continue;
      // Asked before the others are given back: what they hold may be what this one is short of.
      const deadline = earliestFit(account, amounts, reserved, at);
      compensate(entries.slice(0, taken), at, ask);
      return waiting(turn.hold(waiter, account, amounts), false, deadline);
    } catch (error) {
      if (error instanceof Defect) throw error;
      compensate(entries.slice(0, taken), at, ask);
      return refused(waiter, account, error);
    }
  }
  const memory = ask.demand.isEmpty ? null : turn.books.memory;
  if (memory !== null) {
    try {
      if (!memory.tryTake(NOTHING, NOTHING, at)) {
        const deadline = earliestFit(memory, NOTHING, NOTHING, at);
        compensate(entries, at, ask);
        return heldOnMemory(waiter, memory, deadline, turn);
      }
    } catch (error) {
      if (error instanceof Defect) throw error;
      compensate(entries, at, ask);
      return refused(waiter, memory, error);
    }
  }
  return 'granted';
}

/** Gives back what a failed attempt took. Every account gets its own back, whichever of them throws. */
function compensate(taken: readonly DemandEntry[], at: number, receipt: object): void {
  const errors: unknown[] = [];
  for (const { account, amounts } of taken) {
    try {
      account.give(amounts, at, receipt);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw new Defect(combined(errors));
}

/** One error as it is, several as one. */
export const combined = (errors: readonly unknown[]): unknown =>
  errors.length === 1 ? errors[0] : new AggregateError(errors, 'several accounts could not take back what they gave');

const refused = (waiter: Waiter, by: AnyAccount, thrown: unknown): Refusal =>
  new Refusal(waiter, by, asRefusal(thrown, by));

/** A readable refusal passes as it is, and names its account; anything else is a bug of that, and travels as the cause. */
function asRefusal(thrown: unknown, by: AnyAccount): RefusedError {
  if (thrown instanceof RefusedError) {
    // One that may not be changed stays as it is: `set` then answers false, and throws nothing.
    if (thrown.account === undefined) Reflect.set(thrown, 'account', by.name);
    return thrown;
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new RefusedError(`the account "${by.name}" failed while it was asked: ${message}`, {
    reason: 'aborted',
    account: by.name,
    cause: thrown,
  });
}

/** What a waiter is short of now, for whoever asks why it waits; the answer is nobody's decision. */
export function shortOf(waiter: Waiter, head: Waiter | null, memory: AnyAccount | null, at: number): AnyAccount[] {
  if (waiter.onMemory && memory !== null) return [memory];
  const short = waiter.ask.demand.entries.filter(({ account, key, amounts }) => {
    try {
      return !account.fits(amounts, reservedOn(head, key), at);
    } catch {
      // It refuses: the next pass tells the waiter.
      return true;
    }
  });
  return short.map(({ account }) => account);
}

/** The earliest instant the clock alone could let a waiter go; null when only an event can. */
export function earliestOf(waiter: Waiter, head: Waiter | null, at: number): number | null {
  if (waiter.onMemory) return head?.onMemory === true ? head.deadline : waiter.deadline;
  let deadline = -Infinity;
  for (const { account, key, amounts } of waiter.ask.demand.entries) {
    try {
      const reserved = reservedOn(head, key);
      if (account.fits(amounts, reserved, at)) continue;
      deadline = Math.max(deadline, earliestFit(account, amounts, reserved, at) ?? Infinity);
    } catch {
      return null;
    }
  }
  return Number.isFinite(deadline) ? deadline : null;
}
