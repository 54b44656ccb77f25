/** Random traces: a walk of steps, steered by the model to where things meet: deadlines, ends of delays, full accounts. */
import { randomAccounts } from './accounts-of.js';
import { Actions } from './actions.js';
import { Demands } from './demands.js';
import { moveInModel, type Move } from './moves.js';
import { questionAt } from './questions.js';
import { Random } from './random.js';
import { Situation } from './situation.js';
import { BY_THEME, HEAPS, THEMES, type Kind } from './themes.js';
import { keyOfCall, type Asking, type Trace } from './trace.js';
import { ModelWorld } from './world.js';
import { checksOf } from '../conformance/checks.js';
import type { Step } from '../conformance/steps.js';

/** After so long without pressure a success relaxes more. */
const QUIET = 300_000;

/** The same seed, the same trace. */
export function generate(seed: number): Trace {
  return new Walk(situationOf(new Random(seed)), `oracle-${seed}`).trace();
}

function situationOf(random: Random): Situation {
  const theme = random.of(THEMES);
  const heap = random.chance(theme === 'memory' ? 0.6 : 0.2) ? random.of(HEAPS) : 0.5;
  const accounts = randomAccounts(random, theme);
  // Most clocks start at nothing, some count from 1970.
  const clock = random.chance(0.1) ? 1_700_000_000_123 : 0;
  const given = { accounts, clock, heap, firstLooks: [], heldOnMemory: null };
  return new Situation(random, theme, given, new ModelWorld(given));
}

class Walk {
  readonly #askings: Asking[] = [];
  readonly #moves: Move[] = [];
  readonly #actions: Actions;
  /** Of a step: most traces have no moves, for the runner has no word for them. */
  readonly #moving: number;

  constructor(
    private readonly at: Situation,
    private readonly id: string,
  ) {
    this.#moving = at.random.chance(0.15) ? 0.1 : 0;
    this.#actions = new Actions(at, new Demands(at));
  }

  trace(): Trace {
    const { random, theme, given, world, steps } = this.at;
    const length = random.of([8, 15, 30, 30, 50, 80]);
    while (steps.length < length) {
      if (random.chance(0.03)) this.#recover();
      this.#do(this.#later(), random.weighted(BY_THEME[theme]));
    }
    this.#step({ t: world.now + random.of([0, 5000, 100_000]), kind: 'advance' });
    return { id: this.id, given, steps, askings: this.#askings, moves: this.#moves };
  }

  /** A success at the instant from which quiet counts for more, or a millisecond before it. */
  #recover(): void {
    const { random, world, steps } = this.at;
    const signal = steps.findLast(({ kind }) => kind === '429' || kind === 'advisory' || kind === 'backpressure');
    const t = (signal?.t ?? -Infinity) + QUIET - random.of([0, 0, 1]);
    if (t >= world.now) this.#do(t, 'success');
  }

  /** When the next step is: often at once, often at the very instant of something else. */
  #later(): number {
    const { random, world } = this.at;
    const { now, line } = world;
    const choice = random.next();
    if (choice < 0.35) return now;
    if (choice < 0.55 && line.nextDeadline !== null && line.nextDeadline < now + 400_000) {
      return Math.max(now, line.nextDeadline + random.of([0, 0, 0, 0, -1, 1]));
    }
    if (choice < 0.62) {
      const end = random.chance(0.5) ? this.#endOfCooldown() : this.#endOfProbe();
      if (end !== null) return Math.max(now, end + random.of([0, 0, -1, 1]));
    }
    const far = random.chance(0.02) ? [300_000, 299_999, 3_600_000] : [1, 1, 3, 10, 40, 50, 250, 1000, 2000, 5000];
    return now + random.of(far);
  }

  #endOfCooldown(): number | null {
    const windows = this.at.named('window').map((name) => Number(this.at.world.property(name, 'cooldownRemainingMs')));
    const left = windows.filter((ms) => ms > 0);
    return left.length === 0 ? null : this.at.world.now + this.at.random.of(left);
  }

  /** Of a probe that a recent step may have sent. */
  #endOfProbe(): number | null {
    const { random, world, steps } = this.at;
    const ends = this.at.named('window').flatMap((name) => {
      const spec = this.at.spec(name);
      const timeout = spec.kind === 'window' ? (spec.probeTimeout ?? spec.maxCooldown) : undefined;
      return timeout === undefined ? [] : steps.slice(-4).map(({ t }) => t + timeout);
    });
    const left = ends.filter((end) => end >= world.now);
    return left.length === 0 ? null : random.of(left);
  }

  #do(t: number, kind: Kind): void {
    this.at.world.advanceTo(t);
    if (kind === 'flood') {
      for (let left = this.at.random.whole(10, 60); left > 0; left -= 1) this.#do(this.at.world.now, 'arrive');
      return;
    }
    const step = this.#actions.action(kind);
    if (!step) return;
    if (kind === 'cancelledBefore' && step.kind === 'arrive')
      this.#step({ t, kind: 'abortContext', job: step.jobs[0] ?? '' });
    this.#step({ ...step, t: this.at.world.now });
  }

  #step(step: Step): void {
    this.at.steps.push(step);
    this.at.world.run(step, this.at.steps.length);
    if (this.at.random.chance(this.#moving)) this.#move();
    this.#ask(step);
  }

  #move(): void {
    const { random, world, steps } = this.at;
    const gates = this.at.named('gate');
    if (gates.length === 0) return;
    const gate = random.of(gates);
    const capacity = world.account(gate).capacity;
    const to = random.of(['pause', 'resume', 'resume', 1, capacity - 1, capacity + 1, 2 * capacity] as const);
    const move = { after: steps.length, gate, to: typeof to === 'number' ? Math.max(1, to) : to };
    this.#moves.push(move);
    moveInModel(move, world);
  }

  #ask(step: Step): void {
    const { random } = this.at;
    const keys = new Set<string>();
    if (step.kind === 'call') keys.add(keyOfCall(step));
    if (random.chance(0.6)) keys.add('queueSize');
    if (random.chance(0.4)) keys.add('nextDeadline');
    while (random.chance(0.4)) keys.add(questionAt(this.at));
    if (keys.size > 0) this.#asking(step.t, [...keys]);
    if (!random.chance(0.08)) return;
    // Between two steps, at the instant of the next deadline.
    const { nextDeadline } = this.at.world.line;
    const t = nextDeadline !== null && nextDeadline < step.t + 10_000 ? nextDeadline : step.t + random.of([1, 7, 100]);
    this.#asking(t, ['queueSize', 'nextDeadline', questionAt(this.at)]);
  }

  #asking(t: number, keys: readonly string[]): void {
    const asking = { after: this.at.steps.length, t, keys };
    this.#askings.push(asking);
    this.at.world.advanceTo(t);
    const fields = { t, after: asking.after, ...Object.fromEntries(keys.map((key) => [key, null])) };
    // Some questions are looks at the heap: the model is asked as the real one will be.
    for (const { asks } of checksOf([fields], this.at.given, this.at.steps))
      for (const { question } of asks) this.at.world.answer(question);
  }
}
