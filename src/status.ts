/** The whole of an admission at one instant: every account, every waiter and what it waits for, every grant. */
import type { AccountStatus } from './accounts/statuses.js';
import type { Desk } from './desk.js';
import { earliestOf, shortOf } from './evaluator/attempt.js';
import type { QueueState } from './evaluator/evaluate.js';

export interface AccountView {
  readonly name: string;
  readonly category: string;
  readonly capacity: number;
  /** Not a number where the account cannot tell just now. */
  readonly inUse: number;
  /** Jobs held on it. */
  readonly waiters: number;
  readonly indicator: string | null;
  /** The account's own status, where it has one. */
  readonly status: AccountStatus | null;
}

export interface WaiterView {
  /** From 1, the head. */
  readonly place: number;
  readonly job: unknown;
  /** ms since it asked. */
  readonly waited: number;
  /** Names of the accounts that its latest answer was short of. */
  readonly shortOf: readonly string[];
  /** Only what the head has reserved keeps it: without the reservation it would fit now. */
  readonly behindHead: boolean;
  /** The earliest instant it could go by the clock alone; null when only an event helps. */
  readonly earliest: number | null;
}

export interface GrantView {
  readonly job: unknown;
  /** Names of the accounts it holds. */
  readonly accounts: readonly string[];
  /** ms since it was granted. */
  readonly age: number;
}

export interface AdmissionStatus {
  readonly at: number;
  readonly phase: QueueState['phase'];
  readonly queueSize: number;
  readonly nextDeadline: number | null;
  readonly accounts: readonly AccountView[];
  readonly waiters: readonly WaiterView[];
  readonly grants: readonly GrantView[];
}

export function statusOf(desk: Desk): AdmissionStatus {
  const at = desk.now();
  const { phase, line, nextDeadline } = desk.state;
  const { head } = line;
  return {
    at,
    phase,
    queueSize: line.size,
    nextDeadline,
    accounts: desk.ledger.accounts.map((account) => ({
      name: account.name,
      category: account.category ?? 'custom',
      capacity: account.capacity,
      inUse: known(() => account.inUse(at)) ?? NaN,
      waiters: desk.ledger.marked(account),
      indicator: known(() => account.statusIndicator?.(at)),
      status: known(() => account.status?.(at)),
    })),
    waiters: line.toArray().map((waiter, index) => {
      const ahead = waiter === head ? null : head;
      return {
        place: index + 1,
        job: waiter.ask.job,
        waited: at - waiter.ask.askedAt,
        shortOf: shortOf(waiter, ahead, desk.memory, at).map(({ name }) => name),
        behindHead: ahead !== null && !waiter.onMemory && shortOf(waiter, null, desk.memory, at).length === 0,
        earliest: earliestOf(waiter, ahead, at),
      };
    }),
    grants: grantsOf(desk, at),
  };
}

/** What is held, and since when. */
export function grantsOf(desk: Desk, at: number): GrantView[] {
  return [...desk.held].map(({ job, demand, grantedAt }) => ({
    job,
    accounts: demand.entries.map(({ account }) => account.name),
    age: at - grantedAt,
  }));
}

/** An account that cannot describe itself just now, such as a heap that cannot be read, hides nobody else. */
function known<T>(describe: () => T | null | undefined): T | null {
  try {
    return describe() ?? null;
  } catch {
    return null;
  }
}
