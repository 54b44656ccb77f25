/** Asks that are part of a job, at one desk: what they may borrow of it, and what is said where nobody lends. */
import { Observable, type ObservableInput, type ObservedValueOf } from 'rxjs';
import { single, type AdmitOptions } from './admit.js';
import { nestOf, type Ask } from './ask.js';
import type { Demand } from './demand.js';
import type { Desk } from './desk.js';
import { NestedAskError, RefusedError, type AdmissionError } from './errors.js';
import { questioning } from './evaluator/ledger.js';
import type { Grant } from './grant.js';
import { Kin, Nest, type Plan } from './nest.js';
import { around, type NestedPolicy } from './nested.js';
import { assertOptions } from './options.js';
import { assertWork } from './work.js';

/** What the desk does with an ask once it is known whose it is. */
export interface NestingPorts {
  /** It asks the line for its demand. */
  enter(ask: Ask): void;
  /** It waits without standing in line. */
  wait(ask: Ask): void;
  refuse(ask: Ask, error: AdmissionError): void;
  /** In order after what is being carried out. */
  afterwards(work: () => void): void;
}

/** The account's own no to what it could never have as a whole: asking the line for the rest would hide it. */
function impossible(whole: Demand, loans: Plan['loans'], at: number): RefusedError | null {
  try {
    questioning(() => {
      for (const { account, amounts } of whole.entries) {
        if (loans.some((loan) => loan.account === account)) account.fits(amounts, [], at);
      }
    });
  } catch (error) {
    if (error instanceof RefusedError) return error;
  }
  return null;
}

export class Nesting {
  /** Those that wait for a permit of their own job, which a sibling has borrowed; they are in no line. */
  readonly borrowers = new Set<Ask>();
  readonly #desk: Desk;
  readonly #ports: NestingPorts;

  constructor(
    desk: Desk,
    readonly policy: NestedPolicy,
    ports: NestingPorts,
  ) {
    this.#desk = desk;
    this.#ports = ports;
  }

  /** Where its job is said it borrows from that, whatever the policy; others are found where jobs are followed. */
  ask(ask: Ask, parent: Nest | null): void {
    if (parent !== null) this.#lend(ask, new Kin(ask.demand, parent));
    else if (this.policy === 'off') this.#ports.enter(ask);
    else this.#followed(ask, this.policy);
  }

  /** A call that is part of the job of a grant: see `Grant.defer`. */
  defer<O extends ObservableInput<unknown>, R extends ObservableInput<unknown>>(
    ask: Ask,
    grant: Grant,
    demand: Demand | (() => Demand),
    factory: (grant: Grant) => O,
    options?: AdmitOptions<undefined, R>,
  ): Observable<ObservedValueOf<O> | ObservedValueOf<R>> {
    assertWork('defer', factory);
    assertOptions('defer', options);
    return new Observable((consumer) => {
      const whole = typeof demand === 'function' ? demand() : demand;
      const call$ = single(this.#desk, nestOf(ask, grant), whole, (_nothing, inner) => factory(inner), options);
      return (call$ as Observable<ObservedValueOf<O> | ObservedValueOf<R>>).subscribe(consumer);
    });
  }

  /** Something came back in the family: whoever can go on does. */
  again(ask: Ask): void {
    if (ask.kin !== null && this.borrowers.has(ask)) this.#lend(ask, ask.kin);
  }

  /** Afterwards, and not in the midst of it: what was lent is back, and siblings and the jobs around may go on. */
  over(ask: Ask, kin: Kin): void {
    this.borrowers.delete(ask);
    const { waiting } = kin.family;
    const { loans } = kin;
    const ends = kin.end(ask);
    if (ends.length === 0 && waiting.size === 0) return;
    this.#ports.afterwards(() => {
      for (const end of ends) end();
      for (const sibling of waiting) {
        // Of a job that lent nothing only this came back: once it is lent out again, the rest need not be asked.
        if (kin.nest?.hasLent !== true && !loans.some(({ lender, account }) => lender.free(account) > 0)) return;
        sibling.desk.lendAgain(sibling);
      }
    });
  }

  #followed(ask: Ask, policy: Exclude<NestedPolicy, 'off'>): void {
    const parent = Nest.living(around());
    if (parent === null) {
      this.#ports.enter(ask);
      return;
    }
    const kin = new Kin(ask.demand, parent);
    const accounts = policy === 'lend' ? [] : kin.plan().loans.map(({ account }) => account.name);
    const what = `a job asks for ${accounts.join(', ')} while it holds it: give both in one demand, or ask by grant.defer`;
    switch (policy) {
      case 'lend':
        this.#lend(ask, kin);
        return;
      case 'refuse':
        if (accounts.length === 0) break;
        this.#ports.refuse(ask, new NestedAskError(what, { account: accounts[0] }));
        return;
      case 'warn': {
        if (accounts.length === 0) break;
        const { job, demand, askedAt: at, trace } = ask;
        const message = trace === null ? what : `${what}\n  asked for\n${trace}`;
        this.#desk.warnings.tell({ type: 'NESTED_ASK', at, job, parent: parent.ask.job, demand, accounts, message });
      }
    }
    ask.kin = kin;
    this.#ports.enter(ask);
  }

  /** The ask runs on what its job holds and asks the line for the rest; or waits until a sibling is done with it. */
  #lend(ask: Ask, kin: Kin): void {
    ask.kin = kin;
    const plan = kin.plan();
    const refusal = impossible(kin.whole, plan.loans, this.#desk.now());
    if (refusal !== null) this.#ports.refuse(ask, refusal);
    else if (kin.borrow(ask, plan)) {
      this.borrowers.delete(ask);
      if (plan.loans.length > 0) this.#askForTheRest(ask, plan.rest);
      this.#ports.enter(ask);
    } else if (!this.borrowers.has(ask)) {
      this.borrowers.add(ask);
      this.#ports.wait(ask);
    }
  }

  #askForTheRest(ask: Ask, rest: Demand): void {
    const { ledger } = this.#desk;
    const whole = ask.named;
    ask.demand = rest;
    ask.named = ledger.name(rest);
    if (whole !== null) ledger.unname(whole);
  }
}
