/** One turn of the fold while it is being made: the instant, the books it works on, and what it decides. */
import type { AnyAccount } from '../accounts/account.js';
import { amountOf } from '../accounts/amounts.js';
import type { AdmissionError, RefusalReason } from '../errors.js';
import type { AdmissionEvent, AdmissionEventType } from '../events.js';
import type { Asking } from './asking.js';
import { inOrder, markOn, type Waiter } from './waiter.js';

/** What the shell carries out, in this order, after the fold: events are told, and asks get their answer. */
export type Effect = AdmissionEvent | Asking;

/** How many wait on what: all that the fold itself writes, besides the accounts. */
export interface Marks {
  /** How many stand in memory's line, at this very moment of a pass. */
  onMemory: number;
  marked(account: AnyAccount): number;
  mark(account: AnyAccount, by: 1 | -1): number;
}

/** What the fold questions and writes to. */
export interface Books {
  readonly memory: AnyAccount | null;
  readonly ledger: Marks;
  readonly maxWaiters: number;
  readonly overflow: 'reject' | 'drop-oldest';
  /** Where events go: unless somebody listens, none is built. */
  readonly listeners: { readonly observed: boolean };
}

interface EventFacts {
  readonly amount: number;
  readonly waiters: number;
  readonly wait?: number;
  readonly reason?: RefusalReason;
}

export class Turn {
  #effects: Effect[] | null = null;

  constructor(
    readonly books: Books,
    readonly at: number,
  ) {}

  get effects(): readonly Effect[] {
    return this.#effects ?? NONE;
  }

  /** Marks the waiter held on an account: HELD is said once per account and wait. */
  hold(waiter: Waiter, account: AnyAccount, amounts: readonly unknown[]): Waiter {
    const { ask, marks, onMemory, deadline } = waiter;
    if (markOn(marks, account) !== null) return waiter;
    const waiters = this.books.ledger.mark(account, 1);
    this.emit('HELD', ask, account, { amount: this.#amount(account, amounts), waiters });
    return { ask, marks: { account, since: this.at, earlier: marks }, onMemory, deadline };
  }

  /** The waiter leaves with a grant: its marks go, entries first and memory last. */
  grant(waiter: Waiter): void {
    const { ledger, memory } = this.books;
    const { ask, marks } = waiter;
    for (let mark = marks; mark !== null; mark = mark.earlier) ledger.mark(mark.account, -1);
    if (this.books.listeners.observed) {
      for (const { account, amounts } of ask.demand.entries) {
        const mark = markOn(marks, account);
        const facts = { amount: amountOf(amounts), waiters: ledger.marked(account) };
        if (mark === null) this.emit('GRANTED_IMMEDIATE', ask, account, facts);
        else this.emit('GRANTED_FROM_HOLD', ask, account, { ...facts, wait: this.at - mark.since });
      }
      const mark = memory === null ? null : markOn(marks, memory);
      if (memory !== null && mark !== null) {
        const facts = { amount: 1, waiters: ledger.marked(memory), wait: this.at - mark.since };
        this.emit('GRANTED_FROM_HOLD', ask, memory, facts);
      }
    }
    ask.grantedAt = this.at;
    ask.marks = marks;
    this.#then(ask);
  }

  /** The waiter leaves ungranted; `by` is the account that refused it, if one did. */
  refuse(waiter: Waiter, error: AdmissionError | null, reason: RefusalReason, by: AnyAccount | null = null): void {
    const { ledger } = this.books;
    const { ask, marks } = waiter;
    if (by !== null && markOn(marks, by) === null) {
      this.emit('REJECTED', ask, by, { amount: 1, waiters: ledger.marked(by), reason });
    }
    for (const { account, since } of inOrder(marks)) {
      const waiters = ledger.mark(account, -1);
      this.emit('REJECTED', ask, account, { amount: 1, waiters, wait: this.at - since, reason });
    }
    ask.marks = marks;
    if (error === null) return;
    ask.refusal = error;
    this.#then(ask);
  }

  released(ask: Asking, account: AnyAccount, amounts: readonly unknown[]): void {
    if (!this.books.listeners.observed) return;
    this.emit('RELEASED', ask, account, { amount: amountOf(amounts), waiters: this.books.ledger.marked(account) });
  }

  /** Best effort: an account that cannot be described costs its event, never a decision. */
  private emit(type: AdmissionEventType, { job }: Asking, account: AnyAccount, facts: EventFacts): void {
    if (!this.books.listeners.observed) return;
    const { at } = this;
    try {
      this.#then({
        type,
        at,
        account: account.name,
        category: account.category ?? 'custom',
        capacity: account.capacity,
        inUse: account.inUse(at),
        waiters: facts.waiters,
        amount: facts.amount,
        wait: Math.floor(facts.wait ?? 0),
        reason: facts.reason ?? null,
        indicator: indicatorOf(account, at),
        job,
      });
    } catch {
      // Telemetry observes; admission never hears that it failed.
    }
  }

  #then(effect: Effect): void {
    // Most turns decide one thing: a list that is grown would be made for sixteen.
    if (this.#effects === null) this.#effects = [effect];
    else this.#effects.push(effect);
  }

  #amount(account: AnyAccount, amounts: readonly unknown[]): number {
    return account === this.books.memory ? 1 : amountOf(amounts);
  }
}

const NONE: readonly Effect[] = [];

/** A gate that cannot read its heap cannot say how it is; that it refused somebody is told all the same. */
function indicatorOf(account: AnyAccount, at: number): string | null {
  try {
    return account.statusIndicator?.(at) ?? null;
  } catch {
    return null;
  }
}

/** The turn of one who will not wait: being short leaves no mark and no event. */
export class PassingTurn extends Turn {
  override hold(waiter: Waiter): Waiter {
    return waiter;
  }
}
