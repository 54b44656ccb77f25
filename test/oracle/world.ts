/** A scenario in the model: its steps are run and its questions answered, from the rules alone. */
import { Bug, Refusal, type ModelAccount } from './account.js';
import { ModelBucket } from './bucket.js';
import { ModelDouble } from './double.js';
import { ModelGate } from './gate.js';
import { ModelLine } from './line.js';
import { ModelMemory } from './memory.js';
import { ModelWindow } from './window.js';
import type { Amounts } from '../conformance/amounts.js';
import type { AccountSpec, Given } from '../conformance/given.js';
import type { Question } from '../conformance/question.js';
import type { Call, Step } from '../conformance/steps.js';

export class ModelWorld {
  now: number;
  readonly memory: ModelMemory;
  readonly line: ModelLine;
  readonly arrived: string[] = [];
  readonly #accounts: ReadonlyMap<string, ModelAccount>;
  readonly #takes = new Map<ModelAccount, number>();
  readonly #answers = new Map<number, unknown>();
  readonly #cancelled = new Set<string>();
  #heap: number;

  constructor(given: Given) {
    this.now = given.clock;
    this.#heap = given.heap;
    const first = [...given.firstLooks];
    this.#accounts = new Map([...given.accounts].map(([name, spec]) => [name, accountOf(name, spec, given.clock)]));
    this.memory = new ModelMemory(
      () => first.shift() ?? this.#heap,
      () => given.heldOnMemory ?? this.line.memoryLine,
    );
    this.line = new ModelLine(this.memory, this.#accounts.values(), () => this.now);
    for (const account of this.#accounts.values()) this.#countTakes(account);
  }

  /** Every deadline up to and at `t` fires at its own instant. */
  advanceTo(t: number): void {
    for (let next = this.line.nextDeadline; next !== null && next <= t; next = this.line.nextDeadline) {
      this.now = Math.max(this.now, next);
      this.line.pass();
    }
    this.now = t;
  }

  run(step: Step, number: number): void {
    this.advanceTo(step.t);
    this.#act(step, number);
    this.advanceTo(step.t);
  }

  /** What the model answers; a call that throws answers `<kind>: <message>`. */
  answer(question: Question): unknown {
    switch (question.kind) {
      case 'queueSize':
        return this.line.queueSize;
      case 'nextDeadline':
        return this.line.nextDeadline;
      case 'answer':
        return this.#answers.get(question.step);
      case 'wake slot':
        return this.line.hooked(this.account(question.account)) ? 'hooked' : null;
      case 'grant': {
        const grant = this.line.grants.get(question.job);
        if (question.about === 'wallWaitMs') return grant?.wallWait;
        return question.about === 'isEmpty'
          ? grant?.entries.length === 0
          : grant && Object.fromEntries(grant.waitTimes);
      }
      case 'property': {
        const { account, path } = question;
        return this.property(account, path[0] === 'status' ? (path[1] ?? 'status') : (path[0] ?? ''));
      }
      case 'questions':
        return undefined;
    }
  }

  property(name: string, property: string): unknown {
    const account = this.account(name);
    if (property === 'inUse') return account.inUse(this.now);
    if (property === 'capacity') return account.capacity;
    if (property === 'wakes') return this.line.wakes.get(account) ?? 0;
    if (property === 'takes') return this.#takes.get(account) ?? 0;
    if (property === 'indicator') return account.indicator(this.now);
    return account.property(property, this.now);
  }

  readonly account = (name: string): ModelAccount => {
    const account = name === 'memory' ? this.memory : this.#accounts.get(name);
    if (!account) throw new Error(`there is no account ${name}`);
    return account;
  };

  #countTakes(account: ModelAccount): void {
    const tryTake = account.tryTake.bind(account);
    account.tryTake = (...asked) => {
      const taken = tryTake(...asked);
      if (taken) this.#takes.set(account, (this.#takes.get(account) ?? 0) + 1);
      return taken;
    };
  }

  #act(step: Step, number: number): void {
    switch (step.kind) {
      case 'arrive':
        for (const job of step.jobs) {
          this.#arrive(job, step.need);
          this.advanceTo(step.t);
        }
        break;
      case 'release':
      case 'rollback':
        this.line.settle(step.job, step.kind);
        break;
      case 'unsubscribe':
        this.line.withdraw(step.job, 'Interrupted');
        break;
      case 'abortContext':
        this.#cancelled.add(step.job);
        this.line.withdraw(step.job, 'Cancelled');
        break;
      case 'heap':
        if (step.reading !== null) this.#heap = step.reading;
        if (step.look) this.memory.fits([], [], this.now);
        break;
      case '429':
      case 'success':
      case 'advisory':
      case 'backpressure':
        for (let time = 0; time < step.times; time += 1) this.#signal(step);
        break;
      case 'setConfig':
        this.#bucket(step.account)?.setConfig(step.requests, step.tokens, this.now);
        break;
      case 'set': {
        const double = this.account(step.account);
        if (!(double instanceof ModelDouble)) throw new Error(`${step.account} is not scripted`);
        double.mode = step.mode ?? double.mode;
        double.giveThrows = step.giveThrows ?? double.giveThrows;
        break;
      }
      case 'wake':
        this.line.wake(this.account(step.account));
        break;
      case 'call':
        this.#answers.set(number, this.#call(step.call));
        break;
      case 'stop':
        if (step.what === 'admission') this.line.stop();
        else this.memory.stop();
        break;
      case 'advance':
        break;
    }
  }

  #arrive(job: string, need: ReadonlyMap<string, Amounts>): void {
    this.arrived.push(job);
    const entries = [...need].map(([name, amounts]) => ({
      account: this.account(name),
      amounts: this.#asked(name, amounts),
    }));
    if (entries.some(({ account, amounts }) => !amounts.every((amount) => countsIn(account, amount)))) {
      this.line.ended.set(job, { at: this.now, kind: 'IllegalArgument' });
    } else if (this.#cancelled.has(job) && !this.line.closed) {
      this.line.ended.set(job, { at: this.now, kind: 'Cancelled', reason: 'cancelled' });
    } else {
      this.line.ask(job, entries);
    }
  }

  #signal(step: Extract<Step, { kind: '429' | 'success' | 'advisory' | 'backpressure' }>): void {
    const account = this.account(step.account);
    if (account instanceof ModelBucket) {
      if (step.kind === 'success') account.success(this.now);
      else account.pressure(step.kind === 'backpressure' ? step.increments : 1, this.now);
    } else if (account instanceof ModelWindow) {
      if (step.kind === 'success') account.success(this.now);
      else if (step.kind === 'advisory') account.advisory(this.now);
      else account.failure(this.now);
    }
  }

  #call({ account: name, method, mine, reserved }: Call): unknown {
    const account = this.account(name);
    const own = this.#spelled(name, mine);
    const ahead = reserved === null ? [] : this.#spelled(name, reserved);
    try {
      if (method !== 'give') return account[method](own, ahead, this.now);
      account.give(own, this.now);
      return null;
    } catch (error) {
      if (error instanceof Refusal) return `Refused: ${error.message}`;
      if (error instanceof Bug) return `IllegalState: ${error.message}`;
      throw error;
    }
  }

  /** As asked for: no permit at all is a wrong argument. */
  #asked(name: string, amounts: Amounts): readonly number[] {
    return 'units' in amounts && amounts.units <= 0 ? [amounts.units] : this.#spelled(name, amounts);
  }

  #spelled(name: string, amounts: Amounts): readonly number[] {
    if ('list' in amounts) return amounts.list;
    if (amounts.units === 0) return [];
    return this.account(name) instanceof ModelBucket ? Array.from({ length: amounts.units }, () => 1) : [amounts.units];
  }

  #bucket(name: string): ModelBucket | null {
    const account = this.account(name);
    return account instanceof ModelBucket ? account : null;
  }
}

function accountOf(name: string, spec: AccountSpec, at: number): ModelAccount {
  switch (spec.kind) {
    case 'gate':
      return new ModelGate(name, spec.capacity, at);
    case 'bucket':
      return new ModelBucket(name, spec.requests, spec.tokens, at);
    case 'window':
      return new ModelWindow(name, spec);
    case 'double':
      return new ModelDouble(name, spec.mode, spec.giveThrows);
  }
}

function countsIn(account: ModelAccount, amount: number): boolean {
  return account instanceof ModelBucket ? amount >= 0 : Number.isSafeInteger(amount) && amount > 0;
}
