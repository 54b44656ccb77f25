/** Whether the books of an admission are sound: what must hold between asks, at any time, whatever happened. */
import type { AnyAccount } from './accounts/account.js';
import { amountOf } from './accounts/amounts.js';
import type { Desk } from './desk.js';
import { shortOf } from './evaluator/attempt.js';
import { questioning } from './evaluator/ledger.js';

/** What became of all asks since the admission was made. */
export interface AskCounts {
  /** Asked, with options that make sense; a `tryAcquire` that answered `null` asked for nothing. */
  readonly accepted: number;
  readonly granted: number;
  readonly refused: number;
  /** Left with nobody to tell, such as an unsubscribed one. */
  readonly withdrawn: number;
  /** Granted, and released or rolled back since. */
  readonly settled: number;
}

/**
 * - `HEAD_COULD_GO`: what the head waits for is there, and it was not granted: an account had more and did not say so.
 * - `CAPACITY`: what grants hold of an account, and what it says is free, do not make up its capacity.
 * - `ASKS`: accepted are not granted, refused, withdrawn and waiting together.
 * - `GRANTS`: granted are not settled and held together.
 */
export type Rule = 'HEAD_COULD_GO' | 'CAPACITY' | 'ASKS' | 'GRANTS';

export interface Violation {
  readonly rule: Rule;
  /** Names of the accounts that it is about. */
  readonly accounts: readonly string[];
  /** What follows from the records, and what was found instead; of `HEAD_COULD_GO`, who should wait: nobody, and the head. */
  readonly expected: number;
  readonly found: number;
  readonly message: string;
}

/** An account may be named by several admissions: what it has out, they hold together. */
const desks = new Set<WeakRef<Desk>>();
const forgotten = new FinalizationRegistry<WeakRef<Desk>>((desk) => desks.delete(desk));

export function remember(desk: Desk): void {
  const reference = new WeakRef(desk);
  desks.add(reference);
  forgotten.register(desk, reference);
}

/** @throws Error when an account asks for it from inside an answer. */
export function violationsOf(desk: Desk): Violation[] {
  return questioning(() => [...headCouldGo(desk), ...capacities(desk), ...balances(desk)]);
}

/** A timer fires at whole ms: up to one later than what it waits for. */
const TIMER_UNIT = 1;

function headCouldGo(desk: Desk): Violation[] {
  const { phase, line, nextDeadline } = desk.state;
  const { head } = line;
  // Whom the heap holds up is let go by its pace, not by its room; and what the clock brought, its timer is about to tell.
  if (phase !== 'open' || head === null || head.onMemory) return [];
  const at = desk.now();
  if (nextDeadline !== null && nextDeadline <= at + TIMER_UNIT) return [];
  if (shortOf(head, null, desk.memory, at).length > 0) return [];
  const accounts = namesOf(head.ask.demand.entries.map(({ account }) => account));
  const message = `the head has waited for ${String(at - head.ask.askedAt)}ms for ${accounts.join(', ')}, where all of it is free`;
  return [{ rule: 'HEAD_COULD_GO', accounts, expected: 0, found: 1, message }];
}

function capacities(desk: Desk): Violation[] {
  const at = desk.now();
  const held = new Map<AnyAccount, number>();
  for (const account of desk.ledger.accounts) if (account.replenishment === 'release') held.set(account, 0);
  for (const reference of desks) addHeld(reference.deref(), held);
  return [...held].flatMap(([account, expected]) => {
    const found = inUseOf(account, at);
    // An account that cannot tell just now, or has no capacity to make up, breaks no rule.
    if (found === null || close(found, expected)) return [];
    const accounts = [account.name];
    const message = `${account.name}: ${String(found)} of ${String(account.capacity)} are in use by what it says, and ${String(expected)} are held`;
    return [{ rule: 'CAPACITY', accounts, expected, found, message } as const];
  });
}

function addHeld(desk: Desk | undefined, held: Map<AnyAccount, number>): void {
  for (const { demand, charged } of desk?.held ?? []) {
    for (const entry of demand.entries) {
      const sum = held.get(entry.account);
      if (sum !== undefined) held.set(entry.account, sum + (charged?.get(entry) ?? amountOf(entry.amounts)));
    }
  }
}

function inUseOf(account: AnyAccount, at: number): number | null {
  try {
    return Number.isFinite(account.capacity) ? account.inUse(at) : null;
  } catch {
    return null;
  }
}

/** Amounts of an account of one's own may be fractions, whose sum depends on their order. */
const SLACK = 1e-9;

const close = (one: number, other: number): boolean => Math.abs(one - other) <= SLACK * Math.max(1, Math.abs(other));

function balances({ counts, state, held, nesting: { borrowers } }: Desk): Violation[] {
  const { accepted, granted, refused, withdrawn, settled } = counts;
  const waiting = state.line.size + borrowers.size;
  const asks = granted + refused + withdrawn + waiting;
  const grants = settled + held.size;
  const told = (parts: Readonly<Record<string, number>>): string =>
    Object.entries(parts).map(([name, count]) => `${String(count)} ${name}`).join(', ');
  const found: Violation[] = [];
  if (accepted !== asks) {
    const message = `${String(accepted)} asks were accepted, and ${told({ granted, refused, withdrawn, waiting })}`;
    found.push({ rule: 'ASKS', accounts: [], expected: accepted, found: asks, message });
  }
  if (granted !== grants) {
    const message = `${String(granted)} were granted, and ${told({ settled, held: held.size })}`;
    found.push({ rule: 'GRANTS', accounts: [], expected: granted, found: grants, message });
  }
  return found;
}

const namesOf = (accounts: readonly AnyAccount[]): string[] => [...new Set(accounts.map(({ name }) => name))];
