/** What is told of the line: who is held where since when, and every event. */
import { sum, type ModelAccount } from './account.js';

export type Reason = 'cancelled' | 'circuit_blocked' | 'aborted' | 'shutdown';

export interface ModelEvent {
  readonly at: number;
  readonly type: 'HELD' | 'GRANTED_IMMEDIATE' | 'GRANTED_FROM_HOLD' | 'REJECTED' | 'RELEASED';
  readonly account: string;
  readonly category: string;
  readonly job: string;
  readonly waiters: number;
  readonly amount: number;
  readonly wait: number;
  readonly reason: Reason | null;
  readonly capacity: number;
  readonly inUse: number;
  readonly indicator: string | null;
}

export interface Entry {
  readonly account: ModelAccount;
  readonly amounts: readonly number[];
}

export interface Waiter {
  readonly job: string;
  readonly entries: readonly Entry[];
  readonly asked: number;
  /** First refusals, in their order. */
  readonly held: Map<ModelAccount, number>;
  deadline: number | null;
}

/** The part of an event that is not always the same. */
interface Told {
  readonly amount?: number;
  readonly wait?: number;
  readonly reason?: Reason | null;
}

export class Books {
  readonly events: ModelEvent[] = [];
  /** Waiters whose latest answer was short on memory: memory's line. */
  readonly onMemory = new Set<Waiter>();
  readonly #held = new Map<ModelAccount, number>();
  /** How many waiters and unsettled grants name an account: it is listened to while any does. */
  readonly #named = new Map<ModelAccount, number>();

  constructor(readonly now: () => number) {}

  /** A job is held on an account once a wait. */
  hold(waiter: Waiter, account: ModelAccount): void {
    if (waiter.held.has(account)) return;
    waiter.held.set(account, this.now());
    add(this.#held, account, 1);
    const entry = waiter.entries.find((one) => one.account === account);
    this.emit('HELD', account, waiter.job, { amount: entry ? sum(entry.amounts) : 1 });
  }

  granted(waiter: Waiter, memory: ModelAccount): void {
    this.#unhold(waiter);
    for (const { account, amounts } of waiter.entries) this.#grantedOn(account, waiter, sum(amounts));
    if (waiter.held.has(memory)) this.#grantedOn(memory, waiter, 1);
  }

  rejected(waiter: Waiter, reason: Reason | null): void {
    this.#unhold(waiter);
    for (const [account, since] of waiter.held) {
      this.emit('REJECTED', account, waiter.job, { wait: this.now() - since, reason });
    }
  }

  name(entries: readonly Entry[], by: 1 | -1): void {
    for (const { account } of entries) add(this.#named, account, by);
  }

  isNamed(account: ModelAccount): boolean {
    return (this.#named.get(account) ?? 0) > 0;
  }

  emit(
    type: ModelEvent['type'],
    account: ModelAccount,
    job: string,
    { amount = 1, wait = 0, reason = null }: Told,
  ): void {
    const at = this.now();
    this.events.push({
      at,
      type,
      account: account.name,
      category: account.category,
      job,
      waiters: this.#held.get(account) ?? 0,
      amount,
      wait,
      reason,
      capacity: account.capacity,
      inUse: account.inUse(at),
      indicator: account.indicator(at),
    });
  }

  #grantedOn(account: ModelAccount, { job, held }: Waiter, amount: number): void {
    const since = held.get(account);
    if (since === undefined) this.emit('GRANTED_IMMEDIATE', account, job, { amount });
    else this.emit('GRANTED_FROM_HOLD', account, job, { amount, wait: this.now() - since });
  }

  #unhold(waiter: Waiter): void {
    this.onMemory.delete(waiter);
    for (const account of waiter.held.keys()) add(this.#held, account, -1);
  }
}

function add(counts: Map<ModelAccount, number>, account: ModelAccount, by: number): void {
  counts.set(account, (counts.get(account) ?? 0) + by);
}
