/** Random traces: a walk of steps, steered by the model to where things meet (deadlines, ends of delays, full accounts). */
import { MODES, randomAccounts, type Theme } from './accounts-of.js';
import { Random } from './random.js';
import { keyOfCall, type Asking, type Trace } from './trace.js';
import { ModelWorld } from './world.js';
import type { Amounts } from '../conformance/amounts.js';
import { checksOf } from '../conformance/checks.js';
import type { AccountSpec, Given } from '../conformance/given.js';
import type { Action, Method, Step } from '../conformance/steps.js';

type Kind = Action['kind'] | 'burst' | 'flood' | 'cancelledBefore';
type Weights = Partial<Record<Kind, number>>;

const USUAL: Weights = {
  arrive: 30,
  burst: 2,
  release: 14,
  rollback: 5,
  unsubscribe: 3,
  abortContext: 3,
  cancelledBefore: 0.3,
  heap: 3,
  '429': 7,
  success: 4,
  advisory: 1,
  backpressure: 1,
  setConfig: 3,
  set: 3,
  wake: 6,
  call: 2,
  stop: 0.3,
  advance: 5,
};

const BY_THEME: Readonly<Record<Theme, Weights>> = {
  mixed: USUAL,
  line: { ...USUAL, arrive: 40, burst: 4, release: 25, unsubscribe: 6, abortContext: 6, heap: 0.5, call: 0.5 },
  // So many that the line is more than a few waiters wide, and half of them leave in any order.
  deep: { ...USUAL, arrive: 20, flood: 5, burst: 3, release: 30, unsubscribe: 22, abortContext: 8, heap: 0.3, set: 1, wake: 3, call: 0.5, stop: 0.1 },
  memory: { ...USUAL, heap: 22, release: 16, call: 3, advance: 8, wake: 4 },
  bucket: { ...USUAL, setConfig: 8, '429': 8, success: 8, backpressure: 3, rollback: 8 },
  window: { ...USUAL, '429': 16, success: 10, advisory: 3, rollback: 9, advance: 8 },
  doubles: { ...USUAL, set: 14, wake: 12 },
  calls: { ...USUAL, call: 40 },
};

const THEMES: readonly Theme[] = ['mixed', 'mixed', 'line', 'deep', 'memory', 'memory', 'bucket', 'window', 'window', 'doubles', 'calls'];

const HEAPS = [0.3, 0.5, 0.7, 0.79, 0.8, 0.81, 0.82, 0.85, 0.88, 0.89, 0.899, 0.9, 0.901, 0.92, 0.94, 0.949, 0.95, 0.96, 0.99];

/** The same seed, the same trace. */
export function generate(seed: number): Trace {
  return new Generator(new Random(seed), `oracle-${seed}`).trace();
}

class Generator {
  readonly #theme: Theme;
  readonly #given: Given;
  readonly #world: ModelWorld;
  readonly #steps: Step[] = [];
  readonly #askings: Asking[] = [];
  /** Of all jobs so far; the line knows which of them are granted or wait. */
  #jobs = 0;

  constructor(
    private readonly random: Random,
    private readonly id: string,
  ) {
    this.#theme = random.of(THEMES);
    const heap = random.chance(this.#theme === 'memory' ? 0.6 : 0.2) ? random.of(HEAPS) : 0.5;
    const accounts = randomAccounts(random, this.#theme);
    this.#given = { accounts, clock: 0, heap, firstLooks: [], heldOnMemory: null };
    this.#world = new ModelWorld(this.#given);
  }

  trace(): Trace {
    const weights = BY_THEME[this.#theme];
    const length = this.random.of([8, 15, 30, 30, 50, 80]);
    while (this.#steps.length < length) this.#do(this.#later(), this.random.weighted(weights));
    this.#step({ t: this.#world.now + this.random.of([0, 5000, 100_000]), kind: 'advance' });
    return { id: this.id, given: this.#given, steps: this.#steps, askings: this.#askings };
  }

  /** When the next step is: often at once, often at the very instant of something else. */
  #later(): number {
    const { now, line } = this.#world;
    const choice = this.random.next();
    if (choice < 0.35) return now;
    if (choice < 0.55 && line.nextDeadline !== null && line.nextDeadline < now + 400_000) {
      return Math.max(now, line.nextDeadline + this.random.of([0, 0, 0, 0, -1, 1]));
    }
    if (choice < 0.62) {
      const end = this.#endOfCooldown();
      if (end !== null) return Math.max(now, end + this.random.of([0, 0, -1, 1]));
    }
    const far = this.random.chance(0.02) ? [300_000, 299_999, 3_600_000] : [1, 1, 3, 10, 40, 50, 250, 1000, 2000, 5000];
    return now + this.random.of(far);
  }

  #endOfCooldown(): number | null {
    const windows = this.#named('window').map((name) => Number(this.#world.property(name, 'cooldownRemainingMs')));
    const left = windows.filter((ms) => ms > 0);
    return left.length === 0 ? null : this.#world.now + this.random.of(left);
  }

  #do(t: number, kind: Kind): void {
    this.#world.advanceTo(t);
    if (kind === 'flood') {
      for (let left = this.random.whole(10, 60); left > 0; left -= 1) this.#do(this.#world.now, 'arrive');
      return;
    }
    const step = this.#action(kind);
    if (!step) return;
    if (kind === 'cancelledBefore' && step.kind === 'arrive') this.#step({ t, kind: 'abortContext', job: step.jobs[0] ?? '' });
    this.#step({ ...step, t: this.#world.now });
  }

  #step(step: Step): void {
    this.#steps.push(step);
    this.#world.run(step, this.#steps.length);
    this.#ask(step);
  }

  #action(kind: Exclude<Kind, 'flood'>): Action | null {
    const { random } = this;
    switch (kind) {
      case 'arrive':
      case 'cancelledBefore':
        this.#jobs += 1;
        return { kind: 'arrive', jobs: [`J${this.#jobs}`], need: this.#need() };
      case 'burst': {
        this.#jobs += 1;
        const jobs = Array.from({ length: random.whole(2, 12) }, (_, index) => `K${this.#jobs}x${index + 1}`);
        return { kind: 'arrive', jobs, need: this.#need() };
      }
      case 'release':
      case 'rollback': {
        const held = [...this.#world.line.grants.values()].filter(({ settled }) => !settled || random.chance(0.05));
        return held.length === 0 ? null : { kind, job: random.of(held).job };
      }
      case 'unsubscribe':
      case 'abortContext': {
        const jobs = random.chance(0.9) ? this.#world.line.parked : this.#world.arrived;
        return jobs.length === 0 ? null : { kind, job: random.chance(0.4) ? (jobs[0] ?? '') : random.of(jobs) };
      }
      case 'heap':
        return random.chance(0.1) ? { kind, reading: null, look: true } : { kind, reading: this.#reading(), look: random.chance(0.05) };
      case '429':
      case 'success': {
        const names = this.#named('bucket', 'window');
        const times = random.of(kind === '429' ? [1, 1, 2, 3, 9, 11, 12] : [1, 1, 2, 3, 15]);
        return names.length === 0 ? null : { kind, account: random.of(names), times };
      }
      case 'advisory': {
        const names = this.#named('window');
        return names.length === 0 ? null : { kind, account: random.of(names), times: random.of([1, 2, 10]) };
      }
      case 'backpressure': {
        const names = this.#named('bucket');
        return names.length === 0 ? null : { kind, account: random.of(names), increments: random.of([1, 2, 3, 20]), times: random.of([1, 2]) };
      }
      case 'setConfig':
        return this.#config();
      case 'set': {
        const names = this.#named('double');
        if (names.length === 0) return null;
        const mode = random.chance(0.5) ? random.of(['fits', 'short', 'takeFails'] as const) : random.of(MODES);
        const throws = random.chance(this.#theme === 'doubles' ? 0.06 : 0.01);
        return { kind, account: random.of(names), mode, giveThrows: throws ? true : random.chance(0.1) ? false : null };
      }
      case 'wake':
        return { kind, account: random.of([...this.#given.accounts.keys(), 'memory']) };
      case 'call':
        return this.#call();
      case 'stop':
        return { kind, what: random.chance(0.5) ? 'admission' : 'memory' };
      case 'advance':
        return { kind };
    }
  }

  #reading(): number {
    return this.random.chance(0.8) ? this.random.of(HEAPS) : this.random.whole(300, 990) / 1000;
  }

  #need(): ReadonlyMap<string, Amounts> {
    if (this.random.chance(0.06)) return new Map();
    const names = this.random.some([...this.#given.accounts.keys()], this.random.chance(0.5) ? 1 : 3);
    return new Map(names.map((name) => [name, this.#amounts(name)]));
  }

  #amounts(name: string): Amounts {
    const { random } = this;
    const spec = this.#spec(name);
    const impossible = random.chance(0.02);
    switch (spec.kind) {
      case 'gate':
        return { units: impossible ? spec.capacity + 1 : random.chance(0.005) ? 0 : random.whole(1, random.chance(0.6) ? 1 : spec.capacity) };
      case 'window':
        return { units: impossible ? spec.maxRequests + 1 : random.whole(1, random.chance(0.8) ? 1 : spec.maxRequests) };
      case 'double':
        return { units: random.of([1, 1, 1, 2]) };
      case 'bucket': {
        if (impossible && random.chance(0.5) && spec.requests < 100) return { list: Array.from({ length: spec.requests + 1 }, () => 1) };
        if (impossible) return { list: [spec.tokens + random.of([1, 10, spec.tokens])] };
        const capacity = Number(this.#world.property(name, 'maxTokens'));
        const level = Math.floor(Number(this.#world.property(name, 'tokens')));
        if (random.chance(0.15) && level > 0) return { list: [level + random.of([0, 1])] };
        const amount = (): number => (random.chance(0.7) ? 10 * random.whole(0, capacity / 40) : random.whole(0, capacity));
        return { list: Array.from({ length: random.of([1, 1, 1, 2, 3]) }, amount) };
      }
    }
  }

  #config(): Action | null {
    const { random } = this;
    const names = this.#named('bucket');
    if (names.length === 0) return null;
    const account = random.of(names);
    const scaled = (cap: number): number => Math.max(1, Math.floor(cap * random.of([0.1, 0.5, 0.9, 1, 1, 1.1, 2, 4])));
    const requests = scaled(Number(this.#world.property(account, 'maxRequests')));
    return { kind: 'setConfig', account, requests, tokens: scaled(Number(this.#world.property(account, 'maxTokens'))) };
  }

  #call(): Action {
    const { random } = this;
    const account = random.chance(0.2) ? 'memory' : random.of([...this.#given.accounts.keys()]);
    const method = random.of<Method>(['fits', 'fits', 'tryTake', 'earliestFit', 'earliestFit', 'give']);
    const mine: Amounts = account === 'memory' ? { units: 0 } : this.#amounts(account);
    const reserved = method === 'give' || account === 'memory' || random.chance(0.6) ? null : this.#amounts(account);
    const some = { ...('units' in mine && mine.units === 0 && account !== 'memory' ? { units: 1 } : mine) };
    const step: Action = { kind: 'call', call: { account, method, mine: some, reserved } };
    return method === 'give' && !this.#wasTaken(account, some) ? { ...step, call: { ...step.call, method: 'fits' } } : step;
  }

  /** Nobody gives a gate back what no call took from it. */
  #wasTaken(account: string, mine: Amounts): boolean {
    if (!['gate', 'double'].includes(this.#given.accounts.get(account)?.kind ?? '')) return true;
    const called = this.#steps.filter(
      (step, index): step is Extract<Step, { kind: 'call' }> =>
        step.kind === 'call' &&
        step.call.account === account &&
        (step.call.method === 'give' || (step.call.method === 'tryTake' && this.#world.answer({ kind: 'answer', step: index + 1 }) === true)),
    );
    const out = called.reduce((sum, { call }) => sum + ('units' in call.mine ? call.mine.units : 0) * (call.method === 'give' ? -1 : 1), 0);
    return 'units' in mine && mine.units <= out;
  }

  #ask(step: Step): void {
    const { random } = this;
    const keys = new Set<string>();
    if (step.kind === 'call') keys.add(keyOfCall(step));
    if (random.chance(0.6)) keys.add('queueSize');
    if (random.chance(0.4)) keys.add('nextDeadline');
    while (random.chance(0.4)) keys.add(this.#key());
    if (keys.size > 0) this.#asking(step.t, [...keys]);
    if (!random.chance(0.08)) return;
    // Between two steps, at the instant of the next deadline.
    const { nextDeadline } = this.#world.line;
    const t = nextDeadline !== null && nextDeadline < step.t + 10_000 ? nextDeadline : step.t + random.of([1, 7, 100]);
    this.#asking(t, ['queueSize', 'nextDeadline', this.#key()]);
  }

  #asking(t: number, keys: readonly string[]): void {
    const asking = { after: this.#steps.length, t, keys };
    this.#askings.push(asking);
    this.#world.advanceTo(t);
    const fields = { t, after: asking.after, ...Object.fromEntries(keys.map((key) => [key, null])) };
    // Some questions are looks at the heap: the model is asked as the real one will be.
    for (const { asks } of checksOf([fields], this.#given, this.#steps)) for (const { question } of asks) this.#world.answer(question);
  }

  #key(): string {
    const { random } = this;
    const name = random.chance(this.#theme === 'memory' ? 0.4 : 0.1) ? 'memory' : random.of([...this.#given.accounts.keys()]);
    if (random.chance(0.08)) return `wake slot of ${name}`;
    if (name === 'memory') return `memory.${random.of(['latched', 'floor', 'penalty', 'zone', 'pacingDelayMs', 'heldOnMemory', 'indicator'])}`;
    switch (this.#spec(name).kind) {
      case 'gate':
        return `${name}.${random.of(['inUse', 'inUse', 'availablePermits', 'lastActivity'])}`;
      case 'bucket':
        return `${name}.${random.of(['tokens', 'tokens', 'inUse', 'indicator', 'throttle', 'capacity', 'status.availableTokens', 'status.availableRequests'])}`;
      case 'window':
        return `${name}.${random.of(['circuit', 'circuit', 'throttle', 'inUse', 'indicator', 'effectiveWindowMs', 'cooldownRemainingMs', 'availablePermits'])}`;
      case 'double':
        return `${name}.inUse`;
    }
  }

  #named(...kinds: AccountSpec['kind'][]): readonly string[] {
    return [...this.#given.accounts].filter(([, { kind }]) => kinds.includes(kind)).map(([name]) => name);
  }

  #spec(name: string): AccountSpec {
    const spec = this.#given.accounts.get(name);
    if (!spec) throw new Error(`there is no account ${name}`);
    return spec;
  }
}
