/**
 * The line of waiters, from the rules, in the plainest way: a pass walks from the head, asks everyone, and starts again
 * from the head after every grant and every refusal.
 */
import { Bug, Refusal, sum, type ModelAccount, type Receipt } from './account.js';
import type { ModelMemory } from './memory.js';

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

export type Reason = 'cancelled' | 'circuit_blocked' | 'aborted' | 'shutdown';

/** How a job ended that was not granted, as a scenario writes it. */
export interface Ended {
  readonly at: number;
  readonly kind: string;
  readonly reason?: Reason;
  readonly detail?: string;
}

export interface Grant {
  readonly job: string;
  readonly entries: readonly Entry[];
  readonly receipt: Receipt;
  readonly at: number;
  readonly wallWait: number;
  readonly waitTimes: ReadonlyMap<string, number>;
  settled: boolean;
}

export interface Entry {
  readonly account: ModelAccount;
  readonly amounts: readonly number[];
}

interface Waiter {
  readonly job: string;
  readonly entries: readonly Entry[];
  readonly asked: number;
  /** First refusals, in their order. */
  readonly held: Map<ModelAccount, number>;
  /** Its latest answer was short on memory. */
  onMemory: boolean;
  deadline: number | null;
}

type Attempt = { readonly outcome: 'granted' | 'held' } | { readonly outcome: 'refused'; readonly by: ModelAccount; readonly error: Error };

/** A throw in a place that costs more than one waiter. */
class Defect extends Error {}

/** An instant whose passes never come to rest. */
const MOST_PASSES = 10_000;

export class ModelLine {
  readonly events: ModelEvent[] = [];
  readonly grants = new Map<string, Grant>();
  readonly ended = new Map<string, Ended>();
  /** Announcements of more, heard or not. */
  readonly wakes = new Map<ModelAccount, number>();
  nextDeadline: number | null = null;
  #queue: Waiter[] = [];
  readonly #heldOn = new Map<ModelAccount, number>();
  /** How many waiters and unsettled grants name an account: it is listened to while any does. */
  readonly #named = new Map<ModelAccount, number>();
  #closed: Omit<Ended, 'at'> | null = null;
  /** What happens inside one step wakes nobody: a pass of its own follows, or is what goes on. */
  #busy = false;

  constructor(
    private readonly memory: ModelMemory,
    accounts: Iterable<ModelAccount>,
    private readonly now: () => number,
  ) {
    for (const account of [...accounts, memory]) account.wake = () => this.wake(account);
  }

  get closed(): boolean {
    return this.#closed !== null;
  }

  get queueSize(): number {
    return this.#queue.length;
  }

  get parked(): readonly string[] {
    return this.#queue.map(({ job }) => job);
  }

  /** Waiters whose latest answer was short on memory. */
  get memoryLine(): number {
    return this.#queue.reduce((count, { onMemory }) => count + Number(onMemory), 0);
  }

  hooked(account: ModelAccount): boolean {
    if (this.#closed) return false;
    return account === this.memory || (this.#named.get(account) ?? 0) > 0;
  }

  wake(account: ModelAccount): void {
    this.wakes.set(account, (this.wakes.get(account) ?? 0) + 1);
    if (!this.#busy && this.hooked(account)) this.#pass();
  }

  ask(job: string, entries: readonly Entry[]): void {
    if (this.#closed) {
      const { kind, detail } = this.#closed;
      this.ended.set(job, { at: this.now(), kind, ...(detail === undefined ? {} : { detail }) });
      return;
    }
    const waiter: Waiter = { job, entries, asked: this.now(), held: new Map(), onMemory: false, deadline: null };
    this.#name(entries, 1);
    if (this.#queue.length === 0) {
      // Asked once before there is a waiter, then again in the attempt.
      const memoryFits = entries.length === 0 || this.#quietly(() => this.#askMemory(waiter));
      if (memoryFits && this.#closing(() => this.#try(waiter, null), waiter)) return;
    }
    this.#queue.push(waiter);
    this.#pass();
  }

  settle(job: string, how: 'release' | 'rollback'): void {
    const grant = this.grants.get(job);
    if (!grant || grant.settled) return;
    grant.settled = true;
    this.#quietly(() => {
      for (const { account, amounts } of grant.entries) {
        if (how === 'release' && account.replenishment === 'time') continue;
        try {
          account.give(amounts, this.now(), grant.receipt);
        } catch {
          // Reported to the caller at the end; nothing is released.
          continue;
        }
        this.#emit('RELEASED', account, job, sum(amounts));
      }
      if (grant.entries.length > 0) this.memory.give();
    });
    this.#name(grant.entries, -1);
    if (!this.#closed) this.#pass();
  }

  withdraw(job: string, kind: 'Interrupted' | 'Cancelled'): void {
    const waiter = this.#queue.find((one) => one.job === job);
    if (!waiter) return;
    this.#fail(waiter, { kind, reason: 'cancelled' });
    this.#pass();
  }

  stop(): void {
    if (!this.#closed) this.#close({ kind: 'Cancelled', reason: 'shutdown', detail: 'shutdown' });
  }

  pass(): void {
    this.#pass();
  }

  #pass(): void {
    for (let passes = 0; !this.#closed; passes += 1) {
      if (passes > MOST_PASSES) throw new Error(`passes do not come to rest at ${this.now()}`);
      this.#quietly(() => this.#walk());
      const deadlines = this.#queue.flatMap(({ deadline }) => (deadline === null ? [] : [deadline]));
      this.nextDeadline = deadlines.length === 0 ? null : deadlines.reduce((least, one) => Math.min(least, one));
      if (this.nextDeadline === null || this.nextDeadline > this.now()) return;
    }
  }

  #walk(): void {
    for (let index = 0; index < this.#queue.length && !this.#closed; ) {
      const waiter = this.#queue[index]!;
      const head = index === 0 ? null : (this.#queue[0]!);
      // From the head again, which may be a new one; a full walk without progress ends the pass.
      index = this.#closing(() => this.#try(waiter, head)) ? 0 : index + 1;
    }
  }

  /** Whether `attempt` ended a wait, be it by closing admission. An inline waiter is not in the queue yet. */
  #closing(attempt: () => boolean, inline?: Waiter): boolean {
    try {
      return this.#quietly(attempt);
    } catch (error) {
      if (!(error instanceof Defect)) throw error;
      if (inline) this.#queue.push(inline);
      this.#close({ kind: 'Refused', reason: 'aborted', detail: `defect: ${error.message}` });
      return true;
    }
  }

  /** Whether the wait of the waiter is over. */
  #try(waiter: Waiter, head: Waiter | null): boolean {
    const attempt = this.#attempt(waiter, head);
    if (attempt.outcome === 'held') return false;
    if (attempt.outcome === 'refused') this.#refuse(waiter, attempt.by, attempt.error);
    return true;
  }

  #attempt(waiter: Waiter, head: Waiter | null): Attempt {
    const { entries } = waiter;
    if (entries.length > 0) {
      if (head?.onMemory === true) return this.#hold(waiter, [this.memory], head.deadline);
      if (!this.#askMemory(waiter)) return this.#holdOnMemory(waiter);
    }
    const at = this.now();
    const deadlines: (number | null)[] = [];
    for (const { account, amounts } of entries) {
      const ahead = this.#ahead(account, head);
      try {
        if (account.fits(amounts, ahead, at)) continue;
        this.#mark(waiter, account);
        deadlines.push(account.earliestFit(amounts, ahead, at));
      } catch (error) {
        return { outcome: 'refused', by: account, error: error as Error };
      }
    }
    if (deadlines.length > 0) return this.#hold(waiter, [], latest(deadlines));
    return this.#take(waiter, head);
  }

  #take(waiter: Waiter, head: Waiter | null): Attempt {
    const at = this.now();
    const receipt = {};
    const taken: Entry[] = [];
    for (const entry of waiter.entries) {
      const { account, amounts } = entry;
      const ahead = this.#ahead(account, head);
      let short = false;
      try {
        short = !account.tryTake(amounts, ahead, at, receipt);
        if (!short) taken.push(entry);
      } catch (error) {
        this.#giveBack(taken, receipt);
        return { outcome: 'refused', by: account, error: error as Error };
      }
      if (!short) continue;
      this.#giveBack(taken, receipt);
      this.#mark(waiter, account);
      try {
        return this.#hold(waiter, [], account.earliestFit(amounts, ahead, at));
      } catch (error) {
        return { outcome: 'refused', by: account, error: error as Error };
      }
    }
    if (waiter.entries.length > 0 && !this.memory.tryTake([], [], at)) {
      this.#giveBack(taken, receipt);
      return this.#holdOnMemory(waiter);
    }
    this.#grant(waiter, receipt);
    return { outcome: 'granted' };
  }

  #giveBack(taken: readonly Entry[], receipt: Receipt): void {
    const thrown: Error[] = [];
    for (const { account, amounts } of taken) {
      try {
        account.give(amounts, this.now(), receipt);
      } catch (error) {
        thrown.push(error as Error);
      }
    }
    if (thrown[0]) throw new Defect(thrown[0].message);
  }

  #grant(waiter: Waiter, receipt: Receipt): void {
    const { job, entries, held } = waiter;
    const at = this.now();
    this.#queue = this.#queue.filter((one) => one !== waiter);
    this.#unmark(waiter);
    for (const { account, amounts } of entries) this.#emitGranted(waiter, account, sum(amounts));
    if (held.has(this.memory)) this.#emitGranted(waiter, this.memory, 1);
    const waitTimes = new Map([...held].map(([{ name }, since]) => [name, Math.floor(at - since)]));
    const wallWait = Math.floor(at - waiter.asked);
    this.grants.set(job, { job, entries, receipt, at, wallWait, waitTimes, settled: false });
  }

  #emitGranted(waiter: Waiter, account: ModelAccount, amount: number): void {
    const since = waiter.held.get(account);
    if (since === undefined) this.#emit('GRANTED_IMMEDIATE', account, waiter.job, amount);
    else this.#emit('GRANTED_FROM_HOLD', account, waiter.job, amount, this.now() - since);
  }

  #refuse(waiter: Waiter, by: ModelAccount, error: Error): void {
    if (!(error instanceof Refusal || error instanceof Bug)) throw error;
    const reason = error instanceof Refusal ? 'circuit_blocked' : 'aborted';
    if (!waiter.held.has(by)) this.#emit('REJECTED', by, waiter.job, 1, 0, reason);
    const detail = error instanceof Refusal ? error.message : `cause: ${error.message}`;
    this.#fail(waiter, { kind: 'Refused', reason, detail });
  }

  #fail(waiter: Waiter, how: Omit<Ended, 'at'>): void {
    this.#queue = this.#queue.filter((one) => one !== waiter);
    this.#name(waiter.entries, -1);
    this.#unmark(waiter);
    for (const [account, since] of waiter.held) {
      this.#emit('REJECTED', account, waiter.job, 1, this.now() - since, how.reason ?? null);
    }
    this.ended.set(waiter.job, { at: this.now(), ...how });
  }

  #close(how: Omit<Ended, 'at'>): void {
    this.#closed = how;
    for (const waiter of [...this.#queue]) this.#fail(waiter, how);
    this.nextDeadline = null;
  }

  #askMemory(waiter: Waiter): boolean {
    return waiter.entries.length === 0 || this.memory.fits([], [], this.now());
  }

  #holdOnMemory(waiter: Waiter): Attempt {
    this.#hold(waiter, [this.memory], null);
    waiter.deadline = this.memory.earliestFit([], [], this.now());
    return { outcome: 'held' };
  }

  #hold(waiter: Waiter, on: readonly ModelAccount[], deadline: number | null): Attempt {
    for (const account of on) this.#mark(waiter, account);
    waiter.onMemory = on.includes(this.memory);
    waiter.deadline = deadline;
    return { outcome: 'held' };
  }

  #mark(waiter: Waiter, account: ModelAccount): void {
    if (waiter.held.has(account)) return;
    waiter.held.set(account, this.now());
    this.#heldOn.set(account, (this.#heldOn.get(account) ?? 0) + 1);
    const entry = waiter.entries.find((one) => one.account === account);
    this.#emit('HELD', account, waiter.job, entry ? sum(entry.amounts) : 1);
  }

  #unmark(waiter: Waiter): void {
    for (const account of waiter.held.keys()) this.#heldOn.set(account, (this.#heldOn.get(account) ?? 0) - 1);
  }

  #name(entries: readonly Entry[], by: number): void {
    for (const { account } of entries) this.#named.set(account, (this.#named.get(account) ?? 0) + by);
  }

  #ahead(account: ModelAccount, head: Waiter | null): readonly number[] {
    return head?.entries.find((one) => one.account === account)?.amounts ?? [];
  }

  #emit(
    type: ModelEvent['type'],
    account: ModelAccount,
    job: string,
    amount: number,
    wait = 0,
    reason: Reason | null = null,
  ): void {
    const at = this.now();
    this.events.push({
      at,
      type,
      account: account.name,
      category: account.category,
      job,
      waiters: this.#heldOn.get(account) ?? 0,
      amount,
      wait,
      reason,
      capacity: account.capacity,
      inUse: account.inUse(at),
      indicator: account.indicator(at),
    });
  }

  #quietly<T>(work: () => T): T {
    const before = this.#busy;
    this.#busy = true;
    try {
      return work();
    } finally {
      this.#busy = before;
    }
  }
}

function latest(deadlines: readonly (number | null)[]): number | null {
  return deadlines.reduce((late, one) => (late === null || one === null ? null : Math.max(late, one)), -Infinity);
}
