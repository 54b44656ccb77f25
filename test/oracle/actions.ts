/** What happens next in a random trace: an action of a kind, about whom it can concern now. */
import { MODES } from './accounts-of.js';
import type { Demands } from './demands.js';
import type { Situation } from './situation.js';
import { HEAPS, type Kind } from './themes.js';
import type { Amounts } from '../conformance/amounts.js';
import type { Action, Method, Step } from '../conformance/steps.js';

export class Actions {
  /** Of all jobs so far; the line knows which of them are granted or wait. */
  #jobs = 0;

  constructor(
    private readonly at: Situation,
    private readonly demands: Demands,
  ) {}

  action(kind: Exclude<Kind, 'flood'>): Action | null {
    const { random } = this.at;
    switch (kind) {
      case 'arrive':
      case 'cancelledBefore':
        this.#jobs += 1;
        return { kind: 'arrive', jobs: [`J${this.#jobs}`], need: this.demands.need() };
      case 'burst': {
        this.#jobs += 1;
        const jobs = Array.from({ length: random.whole(2, 12) }, (_, index) => `K${this.#jobs}x${index + 1}`);
        return { kind: 'arrive', jobs, need: this.demands.need() };
      }
      case 'release':
      case 'rollback': {
        const held = [...this.at.world.line.grants.values()].filter(({ settled }) => !settled || random.chance(0.05));
        return held.length === 0 ? null : { kind, job: random.of(held).job };
      }
      case 'unsubscribe':
      case 'abortContext': {
        const jobs = random.chance(0.9) ? this.at.world.line.parked : this.at.world.arrived;
        return jobs.length === 0 ? null : { kind, job: random.chance(0.4) ? (jobs[0] ?? '') : random.of(jobs) };
      }
      case 'heap':
        return random.chance(0.1)
          ? { kind, reading: null, look: true }
          : { kind, reading: this.#reading(), look: random.chance(0.05) };
      case '429':
      case 'success': {
        const names = this.at.named('bucket', 'window');
        const times = random.of(kind === '429' ? [1, 1, 2, 3, 9, 11, 12] : [1, 1, 2, 3, 15]);
        return names.length === 0 ? null : { kind, account: random.of(names), times };
      }
      case 'advisory': {
        const names = this.at.named('window');
        return names.length === 0 ? null : { kind, account: random.of(names), times: random.of([1, 2, 10]) };
      }
      case 'backpressure': {
        const names = this.at.named('bucket');
        return names.length === 0
          ? null
          : { kind, account: random.of(names), increments: random.of([1, 2, 3, 20]), times: random.of([1, 2]) };
      }
      case 'setConfig':
        return this.#config();
      case 'set': {
        const names = this.at.named('double');
        if (names.length === 0) return null;
        const mode = random.chance(0.5) ? random.of(['fits', 'short', 'takeFails'] as const) : random.of(MODES);
        const throws = random.chance(this.at.theme === 'doubles' ? 0.06 : 0.01);
        return { kind, account: random.of(names), mode, giveThrows: throws ? true : random.chance(0.1) ? false : null };
      }
      case 'wake':
        return { kind, account: random.of([...this.at.given.accounts.keys(), 'memory']) };
      case 'call':
        return this.#call();
      case 'stop':
        return { kind, what: random.chance(0.5) ? 'admission' : 'memory' };
      case 'advance':
        return { kind };
    }
  }

  #reading(): number {
    return this.at.random.chance(0.8) ? this.at.random.of(HEAPS) : this.at.random.whole(300, 990) / 1000;
  }

  #config(): Action | null {
    const { random } = this.at;
    const names = this.at.named('bucket');
    if (names.length === 0) return null;
    const account = random.of(names);
    const scaled = (cap: number): number => Math.max(1, Math.floor(cap * random.of([0.1, 0.5, 0.9, 1, 1, 1.1, 2, 4])));
    const requests = scaled(Number(this.at.world.property(account, 'maxRequests')));
    return {
      kind: 'setConfig',
      account,
      requests,
      tokens: scaled(Number(this.at.world.property(account, 'maxTokens'))),
    };
  }

  #call(): Action {
    const { random } = this.at;
    const account = random.chance(this.at.theme === 'memory' ? 0.6 : 0.2) ? 'memory' : random.of([...this.at.given.accounts.keys()]);
    const method = random.of<Method>(['fits', 'fits', 'tryTake', 'earliestFit', 'earliestFit', 'give']);
    const mine: Amounts = account === 'memory' ? { units: 0 } : this.demands.amounts(account);
    const reserved =
      method === 'give' || account === 'memory' || random.chance(0.6) ? null : this.demands.amounts(account);
    const some = { ...('units' in mine && mine.units === 0 && account !== 'memory' ? { units: 1 } : mine) };
    const step: Action = { kind: 'call', call: { account, method, mine: some, reserved } };
    return method === 'give' && !this.#wasTaken(account, some)
      ? { ...step, call: { ...step.call, method: 'fits' } }
      : step;
  }

  /** Nobody gives a gate back what no call took from it. */
  #wasTaken(account: string, mine: Amounts): boolean {
    if (!['gate', 'double'].includes(this.at.given.accounts.get(account)?.kind ?? '')) return true;
    const called = this.at.steps.filter(
      (step, index): step is Extract<Step, { kind: 'call' }> =>
        step.kind === 'call' &&
        step.call.account === account &&
        (step.call.method === 'give' ||
          (step.call.method === 'tryTake' && this.at.world.answer({ kind: 'answer', step: index + 1 }) === true)),
    );
    const out = called.reduce(
      (sum, { call }) => sum + ('units' in call.mine ? call.mine.units : 0) * (call.method === 'give' ? -1 : 1),
      0,
    );
    return 'units' in mine && mine.units <= out;
  }
}
