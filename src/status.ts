/** The whole of an admission at one instant: every account, every waiter and what it waits for, every grant. */
import type { AnyAccount, Identity } from './accounts/account.js';
import type { Ask } from './ask.js';
import type { AskCounts } from './check.js';
import type { AccountStatus } from './accounts/statuses.js';
import type { DemandEntry } from './demand.js';
import type { Desk } from './desk.js';
import type { Asking } from './evaluator/asking.js';
import { earliestOf, shortOf } from './evaluator/attempt.js';
import type { QueueState } from './evaluator/evaluate.js';
import { questioning } from './evaluator/ledger.js';
import type { Waiter } from './evaluator/waiter.js';
import { WaiterStatus, type WaiterView } from './waiter-view.js';

export interface AccountView {
  readonly name: string;
  readonly category: string;
  /** Not a number where the account cannot tell just now; so `inUse`. */
  readonly capacity: number;
  readonly inUse: number;
  /** Jobs held on it. */
  readonly waiters: number;
  /** How many of the line name it, held on it or not: what its `maxWaiters` bounds. */
  readonly queued: number;
  /** ms that the first of those has waited; 0 where there is none. */
  readonly queueAge: number;
  readonly indicator: string | null;
  /** The account's own status, where it has one. */
  readonly status: AccountStatus | null;
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
  /** ms that the head has waited; 0 where nobody waits. */
  readonly queueAge: number;
  readonly nextDeadline: number | null;
  readonly accounts: readonly AccountView[];
  readonly waiters: readonly WaiterView[];
  /** Those that stand in no line, since they wait for a permit of their own job, which a call beside them has. */
  readonly borrowers: readonly WaiterView[];
  readonly grants: readonly GrantView[];
  /** What became of every ask so far. */
  readonly counts: AskCounts;
  /**
   * Some lines: how many run and wait, the first ten of those that wait, and what each account says of itself.
   *
   * ```text
   * 1 running, 2 waiting
   * 1. long summary waits for gpt-5, 20s more at least
   * 2. order lookup waits for db:orders until one is given back, held by nightly report
   * gpt-5: 0/60000 tokens, 499/500 requests available
   * db:orders: 1/1 permits in use
   * ```
   */
  summary(): string;
}

/** More waiters than these say less than their number. */
const MOST_WAITERS = 10;

/** All but the lines, which are made of the rest when somebody reads them. */
class WholeStatus implements AdmissionStatus {
  declare readonly at: number;
  declare readonly phase: QueueState['phase'];
  declare readonly queueSize: number;
  declare readonly queueAge: number;
  declare readonly nextDeadline: number | null;
  declare readonly accounts: readonly AccountView[];
  declare readonly waiters: readonly WaiterView[];
  declare readonly borrowers: readonly WaiterView[];
  declare readonly grants: readonly GrantView[];
  declare readonly counts: AskCounts;

  constructor(fields: Omit<AdmissionStatus, 'summary'>) {
    Object.assign(this, fields);
  }

  summary(): string {
    const { grants, accounts, phase } = this;
    const waiting = [...this.waiters, ...this.borrowers];
    const more = waiting.length - MOST_WAITERS;
    return [
      `${String(grants.length)} running, ${String(waiting.length)} waiting${phase === 'closed' ? ', closed' : ''}`,
      ...waiting.slice(0, MOST_WAITERS).map((waiter) => `${waiter.place === 0 ? '' : `${String(waiter.place)}. `}${waiter.summary()}`),
      ...(more > 0 ? [`and ${String(more)} more`] : []),
      ...accounts.map(({ name, status, inUse, capacity }) => `${name}: ${status?.summary() ?? `${String(inUse)} of ${String(capacity)} in use`}`),
    ].join('\n');
  }
}

/** @throws Error when an account asks for it from inside an answer. */
export const statusOf = (desk: Desk): AdmissionStatus => questioning(() => described(desk));

function described(desk: Desk): AdmissionStatus {
  const at = desk.now();
  const { phase, line, nextDeadline } = desk.state;
  const { head } = line;
  const holders = new Holders(desk.held);
  const waiters = line.toArray();
  const queues = queuesOf(waiters);
  const queueAge = (first: Asking | undefined): number => (first === undefined ? 0 : at - first.askedAt);
  return new WholeStatus({
    at,
    phase,
    queueSize: line.size,
    queueAge: queueAge(head?.ask),
    nextDeadline,
    accounts: desk.ledger.accounts.map((account) => ({
      name: account.name,
      category: account.category ?? 'custom',
      capacity: known(() => account.capacity) ?? NaN,
      inUse: known(() => account.inUse(at)) ?? NaN,
      waiters: desk.ledger.marked(account),
      queued: queues.get(account)?.length ?? 0,
      queueAge: queueAge(queues.get(account)?.[0]),
      indicator: known(() => account.statusIndicator?.(at)),
      status: known(() => account.status?.(at)),
    })),
    waiters: waiters.map((waiter, index) => {
      const ahead = waiter === head ? null : head;
      const short = shortOf(waiter, ahead, desk.memory, at);
      const fields = {
        place: index + 1,
        job: waiter.ask.job,
        waited: at - waiter.ask.askedAt,
        shortOf: short.map(({ name }) => name),
        heldBy: holders.of(waiter.ask.demand.entries.filter(({ account }) => short.includes(account))),
        behindHead: ahead !== null && !waiter.onMemory && shortOf(waiter, null, desk.memory, at).length === 0,
        earliest: earliestOf(waiter, ahead, at),
      };
      return new WaiterStatus(fields, at);
    }),
    borrowers: [...desk.nesting.borrowers].map((ask) => borrowerOf(ask, desk.held, at)),
    grants: grantsOf(desk, at),
    counts: { ...desk.counts },
  });
}

function borrowerOf({ job, askedAt, kin }: Ask, held: Iterable<Ask>, at: number): WaiterView {
  const missing = kin?.missing() ?? [];
  const holders = [...held].filter((each) =>
    each.kin?.loans.some((loan) => missing.some(({ lender, account }) => loan.lender === lender && loan.account === account)),
  );
  const fields = {
    place: 0,
    job,
    waited: at - askedAt,
    shortOf: missing.map(({ account }) => account.name),
    heldBy: holders.map((holder) => holder.job),
    behindHead: false,
    earliest: null,
  };
  return new WaiterStatus(fields, at);
}

/** Who names what, in arrival order; whoever names an account under several keys counts once. */
function queuesOf(waiters: readonly Waiter[]): ReadonlyMap<AnyAccount, readonly Asking[]> {
  const queues = new Map<AnyAccount, Asking[]>();
  for (const { ask } of waiters) {
    for (const { account } of ask.demand.entries) {
      const queue = queues.get(account);
      if (queue === undefined) queues.set(account, [ask]);
      else if (queue.at(-1) !== ask) queue.push(ask);
    }
  }
  return queues;
}

/** Who holds what, and gives it back at the end: read once, however many wait for it. */
class Holders {
  readonly #jobs = new Map<Identity, unknown[]>();

  constructor(held: Iterable<Asking>) {
    for (const { job, demand } of held) {
      for (const { account, key } of demand.entries) {
        if (account.replenishment !== 'release') continue;
        const jobs = this.#jobs.get(key);
        if (jobs === undefined) this.#jobs.set(key, [job]);
        else jobs.push(job);
      }
    }
  }

  of(entries: readonly DemandEntry[]): readonly unknown[] {
    const lists = entries.flatMap(({ key }) => {
      const jobs = this.#jobs.get(key);
      return jobs === undefined ? [] : [jobs];
    });
    // Where one account is short, as is usual, everyone shares its list.
    return lists.length === 1 ? (lists[0] ?? []) : [...new Set(lists.flat())];
  }
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
