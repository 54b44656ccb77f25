/** Everything a scenario happens to: the clock, the heap, the accounts, the admission and its jobs. */
import { createAdmission, ElasticWindow, TokenBucket, UpstreamFailure, type Account, type AdmissionEvent } from 'rx-admission';
import { accountsOf, memoryOf, type Heap } from './accounts.js';
import type { Amounts } from './amounts.js';
import { Jobs, kindOf, spelled } from './jobs.js';
import { ScriptedDouble } from './scripted-double.js';
import type { Running } from './scenario.js';
import type { Call, Step } from './step.js';
import { VirtualClock } from './virtual-clock.js';
import type { WatchedAccount } from './watched-account.js';

/** What a direct call answered: a value, or the kind of what it threw. */
export type Answer = { readonly value: unknown } | { readonly threw: string; readonly message: string };

const FAILURE = new UpstreamFailure({ status: 429, service: 'upstream', detail: 'slow down' });

export class World {
  readonly clock: VirtualClock;
  readonly heap: Heap;
  readonly memory;
  readonly admission;
  readonly jobs: Jobs;
  readonly events: AdmissionEvent[] = [];
  /** By number of the step, from 1. */
  readonly answers = new Map<number, Answer>();
  readonly #accounts: ReadonlyMap<string, WatchedAccount>;

  constructor({ given, steps }: Pick<Running, 'given' | 'steps'>) {
    this.clock = new VirtualClock(given.clock);
    this.heap = { current: given.heap };
    this.#accounts = accountsOf(given, this.clock);
    this.memory = memoryOf(given, this.heap, this.clock);
    this.admission = createAdmission({ memory: this.memory.account, scheduler: this.clock });
    this.admission.events$.subscribe((event) => this.events.push(event));
    const cancelled = steps.flatMap((step) => (step.kind === 'abortContext' ? [step.job] : []));
    this.jobs = new Jobs(this.admission, new Set(cancelled));
  }

  get now(): number {
    return this.clock.now();
  }

  has(name: string): boolean {
    return name === 'memory' || this.#accounts.has(name);
  }

  watched(name: string): WatchedAccount {
    const found = name === 'memory' ? this.memory : this.#accounts.get(name);
    if (!found) throw new Error(`there is no account ${name}`);
    return found;
  }

  /** Lets the clock run to the step, does it, and lets everything that it causes at that instant happen. */
  run(step: Step, number: number): void {
    this.clock.advanceTo(step.t);
    this.#act(step, number);
    this.clock.advanceTo(step.t);
  }

  #act(step: Step, number: number): void {
    switch (step.kind) {
      case 'arrive':
        for (const job of step.jobs) {
          this.jobs.arrive(job, this.#need(step.need));
          this.clock.advanceTo(step.t);
        }
        break;
      case 'release':
      case 'rollback':
        this.jobs.settle(step.job, step.kind);
        break;
      case 'unsubscribe':
        this.jobs.unsubscribe(step.job);
        break;
      case 'abortContext':
        this.jobs.abortContext(step.job);
        break;
      case 'heap':
        if (step.reading !== null) this.heap.current = step.reading;
        if (step.look) this.memory.account.fits([], [], this.now);
        break;
      case '429':
      case 'success':
      case 'advisory':
      case 'backpressure':
        for (let time = 0; time < step.times; time += 1) this.#signal(step);
        break;
      case 'setConfig':
        this.#only(step.account, TokenBucket).setConfig({ requestsPerMinute: step.requests, tokensPerMinute: step.tokens });
        break;
      case 'set': {
        const double = this.#only(step.account, ScriptedDouble);
        double.mode = step.mode ?? double.mode;
        double.giveThrows = step.giveThrows ?? double.giveThrows;
        break;
      }
      case 'wake':
        this.watched(step.account).wake();
        break;
      case 'call':
        this.answers.set(number, this.#answer(step.call));
        break;
      case 'stop':
        if (step.what === 'admission') this.admission.stop();
        else this.memory.account.stop();
        break;
      case 'advance':
        break;
    }
  }

  #signal(step: Extract<Step, { kind: '429' | 'success' | 'advisory' | 'backpressure' }>): void {
    const { account } = this.watched(step.account);
    switch (step.kind) {
      case '429':
        account.onRateLimitError?.(FAILURE, this.now);
        break;
      case 'success':
        account.onSuccess?.(this.now);
        break;
      case 'advisory':
        this.#only(step.account, ElasticWindow).recordAdvisory(this.now);
        break;
      case 'backpressure':
        this.#only(step.account, TokenBucket).recordBackpressure(step.increments, this.now);
        break;
    }
  }

  #answer({ account: name, method, mine, reserved }: Call): Answer {
    const { account } = this.watched(name);
    const own = this.#spelled(account, mine);
    const ahead = reserved === null ? [] : this.#spelled(account, reserved);
    try {
      if (method !== 'give') return { value: account[method](own, ahead, this.now) };
      account.give(own, this.now);
      return { value: null };
    } catch (error) {
      return { threw: kindOf(error), message: String(error) };
    }
  }

  #need(need: ReadonlyMap<string, Amounts>): ReadonlyMap<Account, readonly number[]> {
    return new Map(
      [...need].map(([name, amounts]) => {
        const { account } = this.watched(name);
        // Asking for no permit is an argument error, which the demand must raise.
        return [account, 'units' in amounts && amounts.units <= 0 ? [amounts.units] : this.#spelled(account, amounts)];
      }),
    );
  }

  #spelled(account: Account, amounts: Amounts): readonly number[] {
    return spelled(amounts, account instanceof TokenBucket);
  }

  #only<T>(name: string, kind: abstract new (...args: never) => T): T {
    const { account } = this.watched(name);
    if (account instanceof kind) return account;
    throw new Error(`${name} is no ${kind.name}`);
  }
}
