/** The desk: takes asks, hands grants over, takes them back. It carries out what the evaluator decides. */
import { Subject, type Observable, type SchedulerLike } from 'rxjs';
import type { AnyAccount } from './accounts/account.js';
import type { HttpGate } from './accounts/counting-gate.js';
import type { MemoryGate } from './accounts/memory-gate.js';
import { Alarms, bindClock, type Alarm } from './clock.js';
import { connected, Demand } from './demand.js';
import { CancelledError, StoppedError, WaitTimeoutError, type AdmissionError } from './errors.js';
import { attempt, combined, shortOf } from './evaluator/attempt.js';
import { nobodyWaits, type Decision, type LineState } from './evaluator/evaluate.js';
import { Evaluator } from './evaluator/evaluator.js';
import type { Group } from './evaluator/group.js';
import type { Holding } from './evaluator/holding.js';
import { assertOutsideFold, foldWith, Ledger } from './evaluator/ledger.js';
import { newcomer, type Asking, type Waiter } from './evaluator/line.js';
import { inline } from './evaluator/pass.js';
import { giveBack, type Outcome, type Settlement, type Verb } from './evaluator/settle.js';
import { PassingTurn, Turn, type Books, type Effect } from './evaluator/turn.js';
import type { AdmissionEvent } from './events.js';
import { chargeHolding, Grant, type Settler } from './grant.js';
import { Outbox } from './outbox.js';
import { Signals } from './signals.js';
import { nonNegative } from './accounts/validation.js';
import { currentContext, type Context } from '#platform';

/** Options of one ask. */
export interface AskOptions {
  /** Aborted: the ask leaves at once, a running call sees `grant.signal` abort. Aborted already: refused, charged nothing. */
  readonly signal?: AbortSignal | undefined;
  /** ms to wait at most; then `WaitTimeoutError`. Never cuts a running call. */
  readonly maxWait?: number | undefined;
  /** An instant of `admission.now()`: the wait ends there, and so does the work's budget (`grant.remaining()`). */
  readonly deadline?: number | undefined;
  /** A label or snapshot that every event, status and grant carries. */
  readonly job?: unknown;
}

/** Who asks: it gets exactly one of the two, unless it withdraws. */
export interface Consumer {
  granted(grant: Grant): void;
  refused(error: AdmissionError): void;
}

export interface DeskOptions {
  readonly scheduler: SchedulerLike;
  readonly memory: MemoryGate | null;
  readonly http: HttpGate | undefined;
  readonly maxWaiters: number;
  readonly overflow: 'reject' | 'drop-oldest';
}

/** One ask from asking until its grant is settled. */
export class Ask implements Asking {
  /** `landed`: granted and debited, not yet handed over. */
  stage: 'waiting' | 'landed' | 'delivered' | 'over' = 'waiting';
  holding: Holding | null = null;
  arrival = -1;
  group: Group | null = null;
  slot = -1;
  alarm: Alarm | null = null;
  /** Taken when the delivery cannot happen inside the ask itself. */
  context: Context | null = null;

  constructor(
    readonly demand: Demand,
    readonly askedAt: number,
    readonly job: unknown,
    readonly options: AskOptions,
    readonly consumer: Consumer,
  ) {}
}

export class Desk implements Settler {
  readonly events$: Observable<AdmissionEvent>;
  /** Something changed that a status shows. */
  readonly changes$: Observable<void>;
  readonly alarms: Alarms;
  readonly ledger: Ledger;
  readonly holdings = new Set<Holding>();
  readonly #events = new Subject<AdmissionEvent>();
  readonly #changes = new Subject<void>();
  readonly #options: DeskOptions;
  readonly #books: Books;
  readonly #evaluator: Evaluator;
  readonly #outbox = new Outbox();
  readonly #signals: Signals<Ask>;
  #state: LineState = nobodyWaits();
  #unobserveMemory: (() => void) | null = null;

  constructor(options: DeskOptions) {
    this.#options = options;
    this.events$ = this.#events.asObservable();
    this.changes$ = this.#changes.asObservable();
    const { scheduler, memory, http } = options;
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
    this.#books = { ...options, ledger: this.ledger, listening: () => this.#events.observed };
    this.#evaluator = new Evaluator(
      this.#books,
      this.alarms,
      () => this.now(),
      () => {
        this.#outbox.flush();
      },
    );
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

  get memory(): MemoryGate | null {
    return this.#options.memory;
  }

  now(): number {
    return this.#options.scheduler.now();
  }

  start(): void {
    assertOutsideFold();
    const { memory } = this.#options;
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
    this.ledger.watch(false);
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
    if (refusal) {
      this.#refuse(ask, refusal);
      this.#outbox.flush();
      return ask;
    }
    this.ledger.name(ask.demand);
    const waiter = this.#state.line.size === 0 ? this.#tryInline(ask) : newcomer(ask);
    if (waiter) this.#park(ask, waiter);
    this.#outbox.flush();
    return ask;
  }

  /**
   * Tries once, beside the head's reservation, and waits for nothing: null, and no trace, when it would have to.
   *
   * @throws AdmissionError when the demand is refused, or admission has stopped.
   */
  tryAsk(asked: Demand): Grant | null {
    const ask = this.#admissible(asked, {}, NOBODY, undefined);
    const refusal = this.#refusedAtTheDoor(ask);
    if (refusal) throw refusal;
    const turn = new PassingTurn(this.#books, ask.askedAt);
    this.ledger.name(ask.demand);
    const verdict = foldWith(() => attempt(newcomer(ask), this.#state.line.head, turn));
    switch (verdict.kind) {
      case 'held':
        this.ledger.unname(ask.demand);
        return null;
      case 'refused':
        turn.refuse(verdict.waiter, null, verdict.error.reason, verdict.by);
        this.ledger.unname(ask.demand);
        break;
      case 'granted':
        turn.grant(verdict.waiter, verdict.holding);
        // Handed over by returning it: nothing is left for the outbox but the events.
        ask.stage = 'delivered';
        ask.holding = verdict.holding;
        this.holdings.add(verdict.holding);
        break;
    }
    this.#carryOut(turn.effects.filter(({ kind }) => kind === 'event'));
    this.#changed();
    this.#outbox.flush();
    if (verdict.kind === 'refused') throw verdict.error;
    return new Grant(verdict.holding, this, undefined);
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

  settle(holding: Holding, verb: Verb, outcome: Outcome): void {
    assertOutsideFold();
    if (holding.settled) return;
    holding.settled = true;
    const ask = holding.ask as Ask;
    ask.stage = 'over';
    ask.alarm?.cancel();
    if (ask.options.signal) this.#signals.unwatch(ask.options.signal, ask);
    this.holdings.delete(holding);
    this.ledger.unname(ask.demand);
    // Whoever else shares the accounts is told once our own line had its turn.
    this.#announce(ask.demand);
    const settlement: Settlement = { holding, verb, outcome, failures: [] };
    if (this.#state.line.size > 0) this.#evaluator.post({ type: 'settled', ...settlement });
    else {
      const turn = new Turn(this.#books, this.now());
      foldWith(() => {
        giveBack(settlement, turn);
      });
      this.#carryOut(turn.effects);
      this.#changed();
      this.#outbox.flush();
    }
    if (settlement.failures.length > 0) throw combined(settlement.failures);
  }

  charge(holding: Holding, account: AnyAccount, actual: number): void {
    assertOutsideFold();
    chargeHolding(holding, account, actual, this.now());
  }

  #admissible(asked: Demand, options: AskOptions, consumer: Consumer, job: unknown): Ask {
    assertOutsideFold();
    if (!(asked instanceof Demand)) {
      throw new TypeError(`an ask needs a Demand, made by demand(…) or Demand.empty, not ${describe(asked)}`);
    }
    const { maxWait = Infinity, deadline = Infinity } = options;
    if (maxWait !== Infinity) nonNegative('maxWait (ms)', maxWait);
    if (Number.isNaN(deadline)) throw new RangeError('deadline must be an instant of admission.now(), not NaN');
    return new Ask(connected(asked, this.#options.http), this.now(), job, options, consumer);
  }

  #refusedAtTheDoor(ask: Ask): AdmissionError | null {
    const { closedBy } = this.#state;
    if (closedBy) return closedBy;
    const { signal, deadline = Infinity } = ask.options;
    if (signal?.aborted) return new CancelledError('the ask was cancelled before it was made', { cause: signal.reason });
    if (deadline <= ask.askedAt) return new WaitTimeoutError('the deadline of the ask had passed before it was made');
    return null;
  }

  #tryInline(ask: Ask): Waiter | null {
    const turn = new Turn(this.#books, ask.askedAt);
    try {
      const waiter = foldWith(() => inline(ask, turn));
      this.#carryOut(turn.effects);
      return waiter;
    } catch (cause) {
      this.#carryOut(turn.effects);
      this.#evaluator.post({ type: 'broke', waiter: newcomer(ask), cause });
      return null;
    }
  }

  #park(ask: Ask, waiter: Waiter): void {
    const { maxWait = Infinity, deadline = Infinity } = ask.options;
    const until = Math.min(ask.askedAt + maxWait, deadline);
    if (ask.options.signal) this.#signals.watch(ask.options.signal, ask);
    this.#evaluator.post({ type: 'arrived', waiter });
    if (ask.stage !== 'waiting') return;
    ask.context ??= currentContext();
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
    const short = waiter ? shortOf(waiter, ahead, this.memory, this.now()).map(({ name }) => name) : [];
    const waited = `${String(Math.floor(this.now() - ask.askedAt))}ms`;
    const what = short.length > 0 ? `: it was short of ${short.join(', ')}` : '';
    const [account] = short;
    this.#leave([ask], new WaitTimeoutError(`not granted within ${waited}${what}`, { account }), 'timeout');
  }

  #aborted(asks: readonly Ask[], reason: unknown): void {
    for (const { holding } of asks) holding?.abort(reason);
    this.#leave(asks, new CancelledError(undefined, { cause: reason }), 'cancelled');
    this.#outbox.flush();
  }

  /** Those that wait leave the line; those that landed and were not handed over are rolled back. */
  #leave(asks: readonly Ask[], error: AdmissionError | null, reason: 'cancelled' | 'timeout'): void {
    const waiting = asks.filter(({ stage }) => stage === 'waiting');
    if (waiting.length > 0) {
      for (const ask of waiting) this.#over(ask);
      this.#evaluator.post({ type: 'left', asks: new Set(waiting), reason, error });
      // Those who are told leave the books when they are.
      if (error === null) for (const ask of waiting) this.ledger.unname(ask.demand);
    }
    for (const ask of asks) {
      if (ask.stage !== 'landed' || ask.holding === null) continue;
      this.settle(ask.holding, 'rollback', 'ignored');
      if (error) this.#send(ask, error);
    }
  }

  #accept({ state, turn }: Decision): void {
    this.#state = state;
    this.#carryOut(turn.effects);
    this.ledger.watch(state.line.size > 0);
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
        case 'event': {
          const { event } = effect;
          this.#outbox.send(() => {
            this.#events.next(event);
          });
          break;
        }
        case 'granted':
          this.#land(effect.ask as Ask, effect.holding);
          break;
        case 'refused': {
          const ask = effect.ask as Ask;
          if (ask.stage === 'waiting') this.#over(ask);
          this.ledger.unname(ask.demand);
          this.#send(ask, effect.error);
          break;
        }
      }
    }
  }

  #land(ask: Ask, holding: Holding): void {
    ask.stage = 'landed';
    ask.holding = holding;
    ask.alarm?.cancel();
    ask.alarm = null;
    this.holdings.add(holding);
    const { signal, deadline = Infinity } = ask.options;
    if (signal) this.#signals.watch(signal, ask);
    if (deadline !== Infinity) ask.alarm = this.alarms.set(deadline, () => { holding.abort(pastDeadline()); });
    if (this.#outbox.busy) ask.context ??= currentContext();
    this.#changed();
    this.#outbox.send(() => {
      if (ask.stage !== 'landed') return;
      ask.stage = 'delivered';
      const hand = (): void => {
        ask.consumer.granted(new Grant(holding, this, ask.options.deadline));
      };
      if (ask.context) ask.context(hand);
      else hand();
      ask.context = null;
    });
  }

  #refuse(ask: Ask, error: AdmissionError): void {
    this.#over(ask);
    this.#send(ask, error);
  }

  #send(ask: Ask, error: AdmissionError): void {
    if (this.#outbox.busy) ask.context ??= currentContext();
    this.#outbox.send(() => {
      const tell = (): void => {
        ask.consumer.refused(error);
      };
      if (ask.context) ask.context(tell);
      else tell();
      ask.context = null;
    });
  }

  #over(ask: Ask): void {
    ask.stage = 'over';
    ask.alarm?.cancel();
    ask.alarm = null;
    if (ask.options.signal) this.#signals.unwatch(ask.options.signal, ask);
  }

  #announce({ entries }: Demand): void {
    const { memory } = this.#options;
    const moved = entries.map(({ account }) => account);
    if (memory !== null && moved.length > 0) moved.push(memory);
    if (!moved.some((account) => this.ledger.isShared(account))) return;
    this.#outbox.send(() => {
      this.ledger.announce(moved);
    });
  }

  #changed(): void {
    if (!this.#changes.observed) return;
    this.#outbox.send(() => {
      this.#changes.next();
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
