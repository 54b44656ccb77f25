/** Asks inside asks: what a grant lends to those that run inside it, so that nobody waits for what its own job holds. */
import type { AnyAccount } from './accounts/account.js';
import { amountOf } from './accounts/amounts.js';
import type { Ask } from './ask.js';
import { Demand, type DemandEntry } from './demand.js';
import type { Grant } from './grant.js';

/** Those of one tree of jobs who wait for what a sibling has borrowed. */
class Family {
  readonly waiting = new Set<Ask>();
}

/** One amount that runs on somebody else's permits. */
export interface Loan {
  readonly lender: Nest;
  readonly account: AnyAccount;
  readonly amount: number;
}

/** What an ask can have from the jobs that it is part of, and what is left to ask the line for. */
export interface Plan {
  readonly loans: readonly Loan[];
  readonly rest: Demand;
}

/** A grant as those see it that run inside it. Invariant: of each account no more is lent than is held or borrowed. */
export class Nest {
  #parent: Nest | null;
  readonly #lent = new Map<AnyAccount, number>();
  /** Weakly: a grant that its job has dropped must be found, and this is kept as long as the ask is. */
  readonly #grant: WeakRef<Grant>;

  constructor(
    grant: Grant,
    readonly ask: Ask,
  ) {
    this.#grant = new WeakRef(grant);
    this.#parent = ask.kin?.parent ?? null;
  }

  /** The nearest one from here outwards that still holds something; by steps, for a chain may be long. */
  static living(nest: Nest | null): Nest | null {
    let alive = nest;
    while (alive?.isOver === true) alive = alive.#parent;
    return alive;
  }

  get isOver(): boolean {
    return this.ask.stage === 'over';
  }

  /** The nearest one around it that still holds something; the others are forgotten, lest a long chain be kept. */
  get parent(): Nest | null {
    this.forget();
    return this.#parent;
  }

  /** Those around it that are over: whoever starts the next job and ends would else be kept by it. */
  forget(): void {
    this.#parent = Nest.living(this.#parent);
  }

  /** It keeps what it holds until then. */
  until(work: PromiseLike<unknown>): void {
    this.#grant.deref()?.until(work);
  }

  /** What of the account it borrowed from that one. */
  borrowedFrom(lender: Nest, account: AnyAccount): number {
    const loan = this.ask.kin?.loans.find((each) => each.lender === lender && each.account === account);
    return loan?.amount ?? 0;
  }

  /** What it took and what it borrowed, of what comes back at the end of work. */
  holds(account: AnyAccount): number {
    const own = this.ask.demand.entries.find((entry) => entry.account === account && lends(entry));
    let held = own === undefined ? 0 : amountOf(own.amounts);
    for (const loan of this.ask.kin?.loans ?? []) if (loan.account === account) held += loan.amount;
    return held;
  }

  /** Somebody inside it waited for it, or might have. */
  get hasLent(): boolean {
    return this.#lent.size > 0;
  }

  free(account: AnyAccount): number {
    return this.holds(account) - (this.#lent.get(account) ?? 0);
  }

  move(account: AnyAccount, amount: number): void {
    this.#lent.set(account, (this.#lent.get(account) ?? 0) + amount);
  }
}

/** Only what work gives back can be waited for in vain, and only numbers can be shared out. */
const lends = ({ account, key, amounts }: DemandEntry): boolean =>
  account.replenishment === 'release' && key === account && amounts.every((amount) => typeof amount === 'number');

/** An ask inside others, what it borrowed, and what is to be done when it is over. */
export class Kin {
  readonly family: Family;
  loans: readonly Loan[] = [];
  nest: Nest | null = null;
  readonly #ends: (() => void)[] = [];

  constructor(
    /** Everything it asked for. */
    readonly whole: Demand,
    public parent: Nest | null,
  ) {
    this.family = parent?.ask.kin?.family ?? new Family();
  }

  plan(): Plan {
    this.parent = Nest.living(this.parent);
    const loans: Loan[] = [];
    let rest = Demand.empty;
    for (const entry of this.whole.entries) {
      const { account, amounts } = entry;
      const wanted = amountOf(amounts);
      const lent = lends(entry) ? this.#loansOf(account, wanted, loans) : 0;
      if (lent === 0) rest = rest.add(account, ...(amounts as never[]));
      else if (lent < wanted) rest = rest.add(account, wanted - lent);
    }
    return { loans, rest };
  }

  /** What its job holds for it, and siblings have now. */
  missing({ loans }: Plan = this.plan()): readonly Loan[] {
    return loans.filter(({ lender, account, amount }) => lender.free(account) < amount);
  }

  /** Takes all of the loans, or waits for whoever of the family has them; what is borrowed keeps its lenders from ending. */
  borrow(ask: Ask, plan: Plan): boolean {
    const { loans } = plan;
    const { waiting } = this.family;
    if (this.missing(plan).length > 0) {
      waiting.add(ask);
      return false;
    }
    waiting.delete(ask);
    this.loans = loans;
    for (const { lender, account, amount } of loans) lender.move(account, amount);
    for (const lender of new Set(loans.map((loan) => loan.lender))) {
      lender.until({
        then: (ended) => {
          this.#ends.push(() => void ended?.(undefined));
          return undefined as never;
        },
      });
    }
    return true;
  }

  /** Gives back what it borrowed, or stops waiting for it; answers how to tell the lenders that their call has ended. */
  end(ask: Ask): (() => void)[] {
    this.family.waiting.delete(ask);
    for (const { lender, account, amount } of this.loans) lender.move(account, -amount);
    this.loans = [];
    // A job that starts the next and ends is forgotten with it.
    this.parent = Nest.living(this.parent);
    this.nest?.forget();
    return this.#ends.splice(0);
  }

  /** From the nearest job outwards, what each has beyond what those inside it have of it; answers how much it comes to. */
  #loansOf(account: AnyAccount, wanted: number, loans: Loan[]): number {
    const inner: Nest[] = [];
    let left = wanted;
    for (let lender = this.parent; lender !== null && left > 0; lender = lender.parent) {
      let has = lender.holds(account);
      for (const nest of inner) has -= nest.borrowedFrom(lender, account);
      const amount = Math.min(left, has);
      if (amount > 0) loans.push({ lender, account, amount });
      left -= Math.max(0, amount);
      inner.push(lender);
    }
    return wanted - left;
  }
}
