/** The desk: takes asks, hands grants over, takes them back. It carries out what the evaluator decides. */
import { Subject, type Observable, type SchedulerLike } from 'rxjs';
import type { AnyAccount } from './accounts/account.js';
import type { HttpGate } from './accounts/counting-gate.js';
import type { MemoryGate } from './accounts/memory-gate.js';
import { nonNegative } from './accounts/validation.js';
import { Ask, type AskOptions, type Consumer } from './ask.js';
import { Alarms, bindClock } from './clock.js';
import { connected, Demand } from './demand.js';
import { CancelledError, StoppedError, WaitTimeoutError, type AdmissionError } from './errors.js';
import type { Asking } from './evaluator/asking.js';
import { attempt, combined, shortOf } from './evaluator/attempt.js';
import { nobodyWaits, type Decision, type LineState } from './evaluator/evaluate.js';
import { Evaluator } from './evaluator/evaluator.js';
import { Held } from './evaluator/held.js';
import { assertOutsideFold, foldWith, Ledger } from './evaluator/ledger.js';
import { inline } from './evaluator/pass.js';
import { giveBack, type Outcome, type Settlement, type Verb } from './evaluator/settle.js';
import { PassingTurn, Turn, type Books, type Effect } from './evaluator/turn.js';
import { newcomer, type Waiter } from './evaluator/waiter.js';
import type { AdmissionEvent } from './events.js';
import { chargeAsk, Grant, type Settler } from './grant.js';
import { Outbox } from './outbox.js';
import { Signals } from './signals.js';
import { currentContext } from '#platform';

export interface DeskOptions {
  readonly scheduler: SchedulerLike;
  readonly memory: MemoryGate | null;
  readonly http: HttpGate | undefined;
  readonly maxWaiters: number;
  readonly overflow: 'reject' | 'drop-oldest';
}

export class Desk implements Settler {
  readonly events$: Observable<AdmissionEvent>;
  /** Something changed that a status shows. */
  readonly changes$: Observable<void>;
  readonly alarms: Alarms;
  readonly ledger: Ledger;
  readonly held = new Held();
  readonly memory: MemoryGate | null;
  readonly #events = new Subject<AdmissionEvent>();
  readonly #changes = new Subject<void>();
  readonly #scheduler: SchedulerLike;
  readonly #http: HttpGate | undefined;
  readonly #books: Books;
  readonly #evaluator: Evaluator;
  readonly #outbox = new Outbox();
  readonly #signals: Signals<Ask>;
  #state: LineState = nobodyWaits();
  #unobserveMemory: (() => void) | null = null;
  /** The instant last read: what happens inside a delivery happens at it. */
  #instant = 0;

  constructor({ scheduler, memory, http, maxWaiters, overflow }: DeskOptions) {
    this.#scheduler = scheduler;
    this.#http = http;
    this.memory = memory;
    this.events$ = this.#events.asObservable();
    this.changes$ = this.#changes.asObservable();
    this.alarms = new Alarms(scheduler);
    this.ledger = new Ledger({
      scheduler,
      woken: () => {
        this.#evaluator.post({ type: 'look' });
      },
      shrunk: (account) => {
        this.#evaluator.post({ type: 'shrank', account });
      },
    });
    if (http) bindClock(http, scheduler);
    if (memory) {
      bindClock(memory, scheduler);
      this.ledger.nameAccount(memory);
    }
    this.#books = { memory, maxWaiters, overflow, ledger: this.ledger, listeners: this.#events };
    const decided = (): void => {
      this.#outbox.flush();
    };
    this.#evaluator = new Evaluator(this.#books, this.alarms, () => this.now(), decided);
    this.#evaluator.decisions$.subscribe({
      next: (decision) => {
        this.#accept(decision);
      },
      // The fold is total; what throws here is a defect of ours and must be seen.
      error: (error: unknown) => {
        throw error;
      },
    });
    this.#signals = new Signals((asks, reason) => {
      this.#aborted(asks, reason);
    });
  }

  get state(): LineState {
    return this.#state;
  }

  now(): number {
    this.#instant = this.#scheduler.now();
    return this.#instant;
  }

  start(): void {
    assertOutsideFold();
    const { memory } = this;
    if (memory) {
      const observed = memory.observeHeld(() => this.ledger.onMemory);
      this.#unobserveMemory = typeof observed === 'function' ? observed : null;
      this.#evaluator.read(memory.readings);
    }
    this.#evaluator.post({ type: 'started' });
  }

  stop(reason?: unknown): void {
    assertOutsideFold();
    if (this.#state.phase === 'closed') return;
    // Hooks go first: nothing that the leaving waiters cause may let one of them in.
    this.ledger.watch('nothing');
    this.#evaluator.post({ type: 'stopped', error: new StoppedError(reason) });
  }

  /**
   * One ask. Decided at once; delivered at once as well, unless a delivery is under way: then in order after it.
   *
   * @throws TypeError, RangeError or Error on what is no ask at all; nothing is charged then.
   */
  ask(asked: Demand, options: AskOptions, consumer: Consumer, job = options.job): Ask {
    const ask = this.#admissible(asked, options, consumer, job);
    const refusal = this.#refusedAtTheDoor(ask);
    if (refusal === null) {
      this.ledger.name(ask.demand);
      const waiter = this.#state.line.size === 0 ? this.#tryInline(ask) : newcomer(ask);
      if (waiter !== null) this.#park(ask, waiter);
    } else this.#answerNo(ask, refusal);
    this.#outbox.flush();
    return ask;
  }

  /**
   * Tries once, beside the head's reservation, and waits for nothing: null, and no trace, when it would have to.
   *
   * @throws AdmissionError when the demand is refused, or admission has stopped.
   */
  tryAsk(asked: Demand, job: unknown): Grant | null {
    const ask = this.#admissible(asked, {}, NOBODY, job);
    const refusal = this.#refusedAtTheDoor(ask);
    if (refusal) throw refusal;
    const turn = new PassingTurn(this.#books, ask.askedAt);
    this.ledger.name(ask.demand);
    const verdict = this.#guarded(ask, () => attempt(newcomer(ask), this.#state.line.head, turn));
    if (verdict === null) throw this.#state.closedBy ?? new StoppedError();
    if (verdict.kind === 'held') {
      this.ledger.unname(ask.demand);
      return null;
    }
    if (verdict.kind === 'granted') {
      turn.grant(verdict.waiter);
      // Handed over by returning it: nothing is left for the outbox but the events.
      ask.stage = 'delivered';
      this.held.add(ask);
    } else {
      turn.refuse(verdict.waiter, null, verdict.error.reason, verdict.by);
      this.ledger.unname(ask.demand);
    }
    this.#carryOut(turn.effects.filter(({ kind }) => kind === 'event'));
    this.#changed();
    this.#outbox.flush();
    if (verdict.kind === 'refused') throw verdict.error;
    return new Grant(ask, this, undefined);
  }

  /** The asks leave without an answer, all in one change: none of them is let in by another's leaving. */
  withdraw(asks: readonly Ask[]): void {
    this.#leave(asks, null, 'cancelled');
    this.#outbox.flush();
  }

  /** Whatever `work` causes is decided at once, and delivered in order once all of it is done. */
  together(work: () => void): void {
    this.#outbox.hold(work);
  }

  settle(asking: Asking, verb: Verb, outcome: Outcome): void {
    assertOutsideFold();
    const ask = asking as Ask;
    if (ask.stage === 'over') return;
    this.#over(ask);
    this.held.delete(ask);
    this.ledger.unname(ask.demand);
    const settlement: Settlement = { ask, verb, outcome, failures: [] };
    // Inside a delivery the instant is that of the turn: a synchronous call costs one look at the clock.
    const at = this.#outbox.busy ? this.#instant : this.now();
    this.#outbox.hold(() => {
      if (this.#state.line.size > 0) this.#evaluator.post({ type: 'settled', ...settlement });
      else this.#giveBack(settlement, at);
      // Whoever else shares the accounts is told once our own line had its turn.
      const others = this.ledger.others(ask.demand, this.memory);
      if (others !== null) this.#outbox.send({ deliver: () => { others.forEach((other) => { other.hear(); }); } });
    });
    if (settlement.failures.length > 0) throw combined(settlement.failures);
  }

  #giveBack(settlement: Settlement, at: number): void {
    const turn = new Turn(this.#books, at);
    foldWith(() => {
      giveBack(settlement, turn);
    });
    this.#carryOut(turn.effects);
    this.#changed();
  }

  charge(ask: Asking, account: AnyAccount, actual: number): void {
    assertOutsideFold();
    chargeAsk(ask, account, actual, this.now());
  }

  #admissible(asked: Demand, options: AskOptions, consumer: Consumer, job: unknown): Ask {
    assertOutsideFold();
    if (!(asked instanceof Demand)) {
      throw new TypeError(`an ask needs a Demand, made by demand(…) or Demand.empty, not ${describe(asked)}`);
    }
    const { maxWait, deadline } = options;
    if (maxWait !== undefined && maxWait !== Infinity) nonNegative('maxWait (ms)', maxWait);
    if (Number.isNaN(deadline)) throw new RangeError('deadline must be an instant of admission.now(), not NaN');
    return new Ask(connected(asked, this.#http), this.now(), job, options, consumer, this);
  }

  #refusedAtTheDoor(ask: Ask): AdmissionError | null {
    const { closedBy } = this.#state;
    if (closedBy) return closedBy;
    const { signal, deadline } = ask.options;
    if (signal?.aborted) return new CancelledError('the ask was cancelled before it was made', { cause: signal.reason });
    if (deadline !== undefined && deadline <= ask.askedAt) {
      return new WaitTimeoutError('the deadline of the ask had passed before it was made');
    }
    return null;
  }

  #tryInline(ask: Ask): Waiter | null {
    const turn = new Turn(this.#books, ask.askedAt);
    const waiter = this.#guarded(ask, () => inline(ask, turn));
    this.#carryOut(turn.effects);
    return waiter;
  }

  /** An attempt outside the evaluator; a defect that it meets closes admission as one met in a pass. */
  #guarded<T>(ask: Ask, work: () => T): T | null {
    try {
      // Held: what an account causes from inside its answers is carried out after it.
      return this.#outbox.hold(() => foldWith(work));
    } catch (cause) {
      this.#evaluator.post({ type: 'broke', waiter: newcomer(ask), cause });
      return null;
    }
  }

  #park(ask: Ask, waiter: Waiter): void {
    const { signal, maxWait = Infinity, deadline = Infinity } = ask.options;
    if (signal) this.#signals.watch(signal, ask);
    this.#evaluator.post({ type: 'arrived', waiter });
    if (ask.stage !== 'waiting') return;
    ask.context ??= currentContext();
    const until = Math.min(ask.askedAt + maxWait, deadline);
    if (until <= ask.askedAt) this.#timedOut(ask);
    else if (until !== Infinity) {
      ask.alarm = this.alarms.set(until, () => {
        ask.alarm = null;
        this.#timedOut(ask);
      });
    }
  }

  #timedOut(ask: Ask): void {
    const { line } = this.#state;
    const waiter = line.waiterOf(ask);
    const ahead = waiter === line.head ? null : line.head;
    const now = this.now();
    const short = waiter ? foldWith(() => shortOf(waiter, ahead, this.memory, now)).map(({ name }) => name) : [];
    const what = short.length > 0 ? `: it was short of ${short.join(', ')}` : '';
    const waited = Math.floor(now - ask.askedAt);
    const [account] = short;
    this.#leave([ask], new WaitTimeoutError(`not granted within ${String(waited)}ms${what}`, { account }), 'timeout');
  }

  #aborted(asks: readonly Ask[], reason: unknown): void {
    const running = asks.filter(({ stage }) => stage === 'delivered');
    this.together(() => {
      // Before any listener runs: one that releases at once must let in nobody who is leaving.
      this.#leave(asks, new CancelledError(undefined, { cause: reason }), 'cancelled');
      for (const ask of running) ask.abort(reason);
    });
  }

  /** Those that wait leave the line; those that landed and were not handed over are rolled back. */
  #leave(asks: readonly Ask[], error: AdmissionError | null, reason: 'cancelled' | 'timeout'): void {
    const waiting = asks.filter(({ stage }) => stage === 'waiting');
    const landed = asks.filter(({ stage }) => stage === 'landed');
    if (waiting.length > 0) {
      for (const ask of waiting) this.#over(ask);
      this.#evaluator.post({ type: 'left', asks: new Set(waiting), reason, error });
      // Those who are told leave the books when they are.
      if (error === null) for (const ask of waiting) this.ledger.unname(ask.demand);
    }
    for (const ask of landed) {
      this.settle(ask, 'rollback', 'ignored');
      if (error !== null) this.#send(ask, error);
    }
  }

  #accept({ state, turn }: Decision): void {
    this.#state = state;
    this.#carryOut(turn.effects);
    this.ledger.watch(state.line.size > 0 ? 'the named' : 'nothing');
    this.#evaluator.sleepTo(state);
    if (state.phase === 'closed') this.#shut();
    this.#changed();
  }

  #shut(): void {
    this.#unobserveMemory?.();
    this.#unobserveMemory = null;
    this.#evaluator.read(null);
  }

  #carryOut(effects: readonly Effect[]): void {
    for (const effect of effects) {
      switch (effect.kind) {
        case 'event':
          this.#outbox.send({
            deliver: () => {
              this.#events.next(effect.event);
            },
          });
          break;
        case 'granted':
          this.#land(effect.ask as Ask);
          break;
        case 'refused':
          this.ledger.unname(effect.ask.demand);
          this.#answerNo(effect.ask as Ask, effect.error);
          break;
      }
    }
  }

  #land(ask: Ask): void {
    ask.stage = 'landed';
    ask.alarm?.cancel();
    ask.alarm = null;
    this.held.add(ask);
    const { signal, deadline } = ask.options;
    if (signal) this.#signals.watch(signal, ask);
    if (deadline !== undefined && deadline !== Infinity) {
      ask.alarm = this.alarms.set(deadline, () => {
        ask.abort(pastDeadline());
      });
    }
    this.#changed();
    this.#deliver(ask);
  }

  #answerNo(ask: Ask, error: AdmissionError): void {
    this.#over(ask);
    this.#send(ask, error);
  }

  #send(ask: Ask, error: AdmissionError): void {
    ask.error = error;
    this.#deliver(ask);
  }

  #deliver(ask: Ask): void {
    if (this.#outbox.busy) ask.context ??= currentContext();
    this.#outbox.send(ask);
  }

  #over(ask: Ask): void {
    ask.stage = 'over';
    ask.alarm?.cancel();
    ask.alarm = null;
    if (ask.options.signal) this.#signals.unwatch(ask.options.signal, ask);
  }

  #changed(): void {
    if (!this.#changes.observed) return;
    this.#outbox.send({
      deliver: () => {
        this.#changes.next();
      },
    });
  }
}

/** Gets its answer as a return value. */
const NOBODY: Consumer = { granted: () => undefined, refused: () => undefined };

const pastDeadline = (): Error =>
  Object.assign(new Error('the deadline of the ask has passed'), { name: 'TimeoutError' });

function describe(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return `a ${value.constructor.name}`;
}
