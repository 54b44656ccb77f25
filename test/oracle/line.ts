/**
 * The line of waiters, from the rules, in the plainest way: a pass walks from the head, asks everyone, and starts again
 * from the head after every grant and every refusal.
 */
import { Bug, Refusal, sum, type ModelAccount, type Receipt } from './account.js';
import { Attempts, Defect } from './attempt.js';
import { Books, type Entry, type Reason, type Waiter } from './books.js';
import type { ModelMemory } from './memory.js';

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

type Ending = Omit<Ended, 'at'>;

/** An instant whose passes never come to rest. */
const MOST_PASSES = 10_000;

export class ModelLine {
  readonly grants = new Map<string, Grant>();
  readonly ended = new Map<string, Ended>();
  /** Announcements of more, heard or not. */
  readonly wakes = new Map<ModelAccount, number>();
  readonly books: Books;
  nextDeadline: number | null = null;
  readonly #attempts: Attempts;
  #queue: Waiter[] = [];
  #closed: Ending | null = null;
  /** What happens inside one step wakes nobody: a pass of its own follows, or is what goes on. */
  #busy = false;

  constructor(
    private readonly memory: ModelMemory,
    accounts: Iterable<ModelAccount>,
    private readonly now: () => number,
  ) {
    this.books = new Books(now);
    this.#attempts = new Attempts(memory, this.books);
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
    return this.books.onMemory.size;
  }

  hooked(account: ModelAccount): boolean {
    return this.#closed === null && (account === this.memory || this.books.isNamed(account));
  }

  wake(account: ModelAccount): void {
    this.wakes.set(account, (this.wakes.get(account) ?? 0) + 1);
    if (!this.#busy && this.hooked(account)) this.pass();
  }

  ask(job: string, entries: readonly Entry[]): void {
    if (this.#closed) {
      const { kind, detail } = this.#closed;
      this.ended.set(job, { at: this.now(), kind, ...(detail === undefined ? {} : { detail }) });
      return;
    }
    const waiter: Waiter = { job, entries, asked: this.now(), held: new Map(), deadline: null };
    this.books.name(entries, 1);
    const inline = this.#queue.length === 0;
    this.#queue.push(waiter);
    // Memory is asked once before there is a waiter, then again in the attempt; a pass follows for who is still short.
    if (inline && this.#quietly(() => this.#attempts.memoryFits(waiter)) && this.#left(waiter, null)) return;
    this.pass();
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
        this.books.emit('RELEASED', account, job, { amount: sum(amounts) });
      }
      if (grant.entries.length > 0) this.memory.give();
    });
    this.books.name(grant.entries, -1);
    this.pass();
  }

  withdraw(job: string, kind: 'Interrupted' | 'Cancelled'): void {
    const waiter = this.#queue.find((one) => one.job === job);
    if (!waiter) return;
    this.#fail(waiter, { kind, reason: 'cancelled' });
    this.pass();
  }

  stop(): void {
    if (!this.#closed) this.#close({ kind: 'Cancelled', reason: 'shutdown', detail: 'shutdown' });
  }

  /** Who can never fit the account any more is refused, wherever it stands. */
  shrank(account: ModelAccount): void {
    if (!this.hooked(account)) return;
    for (const waiter of [...this.#queue]) {
      const entry = waiter.entries.find((one) => one.account === account);
      if (entry === undefined) continue;
      try {
        account.fits(entry.amounts, [], this.now());
      } catch (error) {
        this.#refuse(waiter, account, error as Error);
      }
    }
    this.pass();
  }

  /** One deadline that is not in the future means another pass at once. */
  pass(): void {
    for (let passes = 0; !this.#closed; passes += 1) {
      if (passes > MOST_PASSES) throw new Error(`passes do not come to rest at ${this.now()}`);
      this.#walk();
      const deadlines = this.#queue.flatMap(({ deadline }) => (deadline === null ? [] : [deadline]));
      this.nextDeadline = deadlines.length === 0 ? null : deadlines.reduce((least, one) => Math.min(least, one));
      if (this.nextDeadline === null || this.nextDeadline > this.now()) return;
    }
  }

  #walk(): void {
    for (let index = 0; index < this.#queue.length && !this.#closed;) {
      const waiter = this.#queue[index];
      const head = index === 0 ? null : (this.#queue[0] ?? null);
      // From the head again, which may be a new one; a full walk without progress ends the pass.
      index = waiter && this.#left(waiter, head) ? 0 : index + 1;
    }
  }

  /** Whether the wait of the waiter is over: granted, refused, or admission closed by what it met. */
  #left(waiter: Waiter, head: Waiter | null): boolean {
    try {
      const attempt = this.#quietly(() => this.#attempts.attempt(waiter, head));
      if (attempt.outcome === 'held') return false;
      if (attempt.outcome === 'granted') this.#grant(waiter, attempt.receipt);
      else this.#refuse(waiter, attempt.by, attempt.error);
    } catch (error) {
      if (!(error instanceof Defect)) throw error;
      this.#close({ kind: 'Refused', reason: 'aborted', detail: `defect: ${error.message}` });
    }
    return true;
  }

  #grant(waiter: Waiter, receipt: Receipt): void {
    const { job, entries, held } = waiter;
    const at = this.now();
    this.#queue = this.#queue.filter((one) => one !== waiter);
    this.books.granted(waiter, this.memory);
    const waitTimes = new Map([...held].map(([{ name }, since]) => [name, Math.floor(at - since)]));
    const wallWait = Math.floor(at - waiter.asked);
    this.grants.set(job, { job, entries, receipt, at, wallWait, waitTimes, settled: false });
  }

  #refuse(waiter: Waiter, by: ModelAccount, error: Error): void {
    if (!(error instanceof Refusal || error instanceof Bug)) throw error;
    const reason = error instanceof Refusal ? 'circuit_blocked' : 'aborted';
    if (!waiter.held.has(by)) this.books.emit('REJECTED', by, waiter.job, { reason });
    const detail = error instanceof Refusal ? error.message : `cause: ${error.message}`;
    this.#fail(waiter, { kind: 'Refused', reason, detail });
  }

  #fail(waiter: Waiter, how: Ending): void {
    this.#queue = this.#queue.filter((one) => one !== waiter);
    this.books.name(waiter.entries, -1);
    this.books.rejected(waiter, how.reason ?? null);
    this.ended.set(waiter.job, { at: this.now(), ...how });
  }

  #close(how: Ending): void {
    this.#closed = how;
    for (const waiter of [...this.#queue]) this.#fail(waiter, how);
    this.nextDeadline = null;
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
