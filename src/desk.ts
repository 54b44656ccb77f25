/** The desk: takes asks, hands grants over, takes them back. It carries out what the evaluator decides. */
import { Subject, type Observable, type SchedulerLike } from 'rxjs';
import type { AnyAccount, Log } from './accounts/account.js';
import type { HttpGate } from './accounts/counting-gate.js';
import type { MemoryGate } from './accounts/memory-gate.js';
import { AskByHand, type Ask, type AskOptions, type Consumer } from './ask.js';
import { Alarms, bindClock } from './clock.js';
import { remember } from './check.js';
import { connected, Demand } from './demand.js';
import { Diagnostics } from './diagnostics.js';
import { CancelledError, StoppedError, WaitTimeoutError, type AdmissionError } from './errors.js';
import { Asking } from './evaluator/asking.js';
import { attempt, combined, Refusal, shortOf } from './evaluator/attempt.js';
import { nobodyWaits, type Decision, type LineState } from './evaluator/evaluate.js';
import { Evaluator } from './evaluator/evaluator.js';
import { assertOutsideFold, enterFold, isFolding, leaveFold, Ledger } from './evaluator/ledger.js';
import { inline } from './evaluator/pass.js';
import { giveBack, type Outcome, type Settlement, type Verb } from './evaluator/settle.js';
import { PassingTurn, Turn, type Books, type Effect } from './evaluator/turn.js';
import { newcomer, type Waiter } from './evaluator/waiter.js';
import type { AdmissionEvent } from './events.js';
import { chargeAsk, Grant } from './grant.js';
import { assertAskOptions } from './options.js';
import type { Nest } from './nest.js';
import type { NestedPolicy } from './nested.js';
import { Nesting } from './nesting.js';
import { Notice, Outbox } from './outbox.js';
import { NOWHERE, Roster } from './roster.js';
import { Signals } from './signals.js';
import { Suspended } from './suspended.js';
import { reportUnhandled } from './unhandled.js';
import { Upkeep, type UpkeepOptions } from './upkeep.js';
import { Warnings } from './warnings.js';
import { Watchdog, type WatchdogOptions } from './watchdog.js';
import { currentContext } from '#platform';

export interface DeskOptions extends UpkeepOptions {
  /** Whose desk it is. */
  readonly admission: { readonly name: string };
  readonly scheduler: SchedulerLike;
  readonly memory: MemoryGate | null;
  readonly http: HttpGate | undefined;
  readonly maxWaiters: number;
  readonly overflow: 'reject' | 'drop-oldest';
  readonly log: Pick<Log, 'warn'>;
  readonly watchdog: WatchdogOptions | undefined;
  readonly nested: NestedPolicy;
}

export class Desk {
  readonly events$: Observable<AdmissionEvent>;
  /** Something changed that a status shows. */
  readonly changes$: Observable<void>;
  readonly alarms: Alarms;
  readonly ledger: Ledger;
  /** Those that hold something. */
  readonly held = new Roster<Ask>((ask, place) => { ask.held = place; });
  readonly memory: MemoryGate | null;
  readonly warnings: Warnings;
  readonly upkeep: Upkeep;
  readonly suspended: Suspended;
  readonly nesting: Nesting;
  /** What became of all asks: every one is counted once as accepted, and once by how it left the line. */
  readonly counts = { accepted: 0, granted: 0, refused: 0, withdrawn: 0, settled: 0 };
  readonly #events = new Subject<AdmissionEvent>();
  readonly #changes = new Subject<void>();
  readonly #scheduler: SchedulerLike;
  readonly #http: HttpGate | undefined;
  readonly #books: Books;
  readonly #evaluator: Evaluator;
  readonly #outbox = new Outbox();
  readonly #diagnostics: Diagnostics;
  readonly #signals: Signals<Ask>;
  #state: LineState = nobodyWaits();
  readonly #watchdog: Watchdog | null;
  /** Withdrawn by an account that was being asked about them: the fold may have decided already. */
  readonly #withdrawnInside = new WeakSet<Ask>();
  #unobserveMemory: (() => void) | null = null;
  /** The instant last read: what happens inside a delivery happens at it. */
  #instant = 0;

  constructor(options: DeskOptions) {
    const { admission, scheduler, memory, http, maxWaiters, overflow } = options;
    this.#diagnostics = new Diagnostics(admission, this.#outbox);
    this.#scheduler = scheduler;
    this.#http = http;
    this.memory = memory;
    this.nesting = new Nesting(this, options.nested, {
      enter: (ask) => {
        this.#enter(ask);
      },
      wait: (ask) => {
        this.#await(ask);
      },
      refuse: (ask, error) => {
        this.#answerNo(ask, error);
      },
      afterwards: (work) => {
        this.#outbox.send(new Notice(work));
      },
    });
    remember(this);
    this.events$ = this.#events.asObservable();
    this.changes$ = this.#changes.asObservable();
    this.alarms = new Alarms(scheduler);
    this.#watchdog = options.watchdog === undefined ? null : new Watchdog(this, options.watchdog);
    this.warnings = new Warnings(admission, options.log, this.#outbox);
    this.suspended = new Suspended((ask) => {
      ask.alarm?.cancel();
      this.#endAtDeadline(ask);
      this.#deliver(ask);
      this.#outbox.flush();
    });
    this.upkeep = new Upkeep(options, this.warnings, this.alarms, () => this.now());
    this.ledger = new Ledger({
      scheduler,
      memory,
      woken: () => {
        this.#evaluator.post({ type: 'look', at: this.now() });
      },
      shrunk: (capacity) => {
        this.#evaluator.post({ type: 'shrank', capacity, at: this.now() });
      },
    });
    if (http) bindClock(scheduler, http);
    if (memory) this.ledger.name(Demand.empty.add(memory));
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
    this.#evaluator.post({ type: 'started', at: this.now() });
  }

  stop(reason?: unknown): void {
    assertOutsideFold();
    if (this.#state.phase === 'closed') return;
    // Hooks go first: nothing that the leaving waiters cause may let one of them in.
    this.ledger.watch('nothing');
    this.#evaluator.post({ type: 'stopped', error: new StoppedError(reason), at: this.now() });
    this.#outbox.flush();
  }

  /**
   * What a demand comes to here: with a place in the HTTP pool where one of its accounts needs a connection.
   *
   * @throws TypeError on what is no demand.
   */
  whole(asked: Demand): Demand {
    if (asked instanceof Demand) return connected(asked, this.#http);
    const remedy = 'an ask needs a Demand, made by demand(…) or Demand.empty of this copy of rx-admission';
    throw new TypeError(`${remedy}, not ${describe(asked)}`);
  }

  /**
   * One ask. Decided at once; delivered at once as well, unless a delivery is under way: then in order after it.
   *
   * @param parent the job that it is part of, where somebody says so
   * @throws RangeError or Error on what is no ask at all; nothing is charged then.
   */
  ask(ask: Ask, parent: Nest | null = null): void {
    const refusal = this.#refusedAtTheDoor(ask);
    if (refusal !== null) {
      this.counts.accepted += 1;
      this.#answerNo(ask, refusal);
    } else {
      ask.named = this.ledger.name(ask.demand);
      this.counts.accepted += 1;
      this.nesting.ask(ask, parent);
    }
    this.#outbox.flush();
  }

  #enter(ask: Ask): void {
    const waiter = this.#state.line.size === 0 ? this.#tryInline(ask) : newcomer(ask);
    if (waiter !== null) this.#park(ask, waiter);
  }

  /**
   * Tries once, beside the head's reservation, and waits for nothing: null, and no trace, when it would have to.
   *
   * @throws AdmissionError when the demand is refused, or admission has stopped.
   */
  tryAsk(asked: Demand, options: AskOptions): Grant | null {
    const ask = new AskByHand(this, asked, options, NOBODY);
    const refusal = this.#refusedAtTheDoor(ask);
    if (refusal) {
      this.counts.accepted += 1;
      this.counts.refused += 1;
      throw refusal;
    }
    const turn = new PassingTurn(this.#books, ask.askedAt);
    ask.named = this.ledger.name(ask.demand);
    this.counts.accepted += 1;
    const waiter = newcomer(ask);
    const verdict = this.#guarded(ask, () => attempt(waiter, this.#state.line.head, turn));
    if (verdict === null) throw this.#state.closedBy ?? new StoppedError();
    const isRefused = verdict instanceof Refusal;
    if (isRefused) {
      this.counts.refused += 1;
      turn.refuse(verdict.waiter, null, verdict.error.reason, verdict.by);
    } else if (verdict !== 'granted') this.counts.accepted -= 1;
    if (verdict !== 'granted') this.#over(ask);
    else {
      turn.grant(waiter);
      // Handed over by returning it: nothing is left for the outbox but the events.
      ask.stage = 'delivered';
      ask.held = this.held.add(ask);
      this.counts.granted += 1;
      this.upkeep.landed(ask);
      this.#diagnostics.granted(ask);
    }
    for (const effect of turn.effects) if (!(effect instanceof Asking)) this.#tell(effect);
    this.#changed();
    this.#outbox.flush();
    if (isRefused) throw verdict.error;
    if (verdict !== 'granted') return null;
    const grant = new Grant(ask);
    this.upkeep.handedOut(grant, ask);
    return grant;
  }

  /** The asks leave without an answer, all in one change: none of them is let in by another's leaving. */
  withdraw(asks: readonly Ask[]): void {
    this.#leave(asks, null, 'cancelled');
    this.#outbox.flush();
  }

  /** Whatever `work` causes is decided at once, and delivered in order once all of it is done. */
  together(work: () => void): void {
    const wasBusy = this.#outbox.hold();
    try {
      work();
    } finally {
      this.#outbox.release(wasBusy);
    }
  }

  /** @throws what accounts threw, once everybody got their own back. */
  settle(ask: Ask, verb: Verb, outcome: Outcome): void {
    assertOutsideFold();
    if (ask.stage === 'over') return;
    this.#over(ask);
    this.counts.settled += 1;
    // Inside a delivery the instant is that of the turn: a synchronous call costs one look at the clock.
    const at = this.#outbox.busy ? this.#instant : this.now();
    const wasBusy = this.#outbox.hold();
    let failures: readonly unknown[];
    try {
      failures = this.#state.line.size > 0 ? this.#settleInLine(ask, verb, outcome, at) : this.#giveBack(ask, verb, outcome, at);
      this.#diagnostics.settled(ask, verb, outcome, at);
      // Whoever else shares the accounts is told once our own line had its turn.
      this.#sayMoved(this.ledger.others(ask.demand, this.memory));
    } finally {
      this.#outbox.release(wasBusy);
    }
    if (failures.length > 0) throw combined(failures);
  }

  #settleInLine(ask: Ask, verb: Verb, outcome: Outcome, at: number): readonly unknown[] {
    const settlement: Settlement & { type: 'settled'; at: number } = { type: 'settled', at, ask, verb, outcome, failures: [] };
    this.#evaluator.post(settlement);
    return settlement.failures;
  }

  #giveBack(ask: Ask, verb: Verb, outcome: Outcome, at: number): readonly unknown[] {
    const turn = new Turn(this.#books, at);
    enterFold();
    try {
      return giveBack(ask, verb, outcome, turn);
    } finally {
      leaveFold();
      this.#carryOut(turn.effects);
      this.#changed();
    }
  }

  charge(ask: Asking, account: AnyAccount, actual: number): void {
    assertOutsideFold();
    chargeAsk(ask, account, actual, this.now());
  }

  /** Null for an ask that may go on to the accounts. */
  #refusedAtTheDoor(ask: Ask): AdmissionError | null {
    assertOutsideFold();
    assertAskOptions(ask.options);
    this.upkeep.asked(ask);
    const { signal, deadline } = ask.options;
    const { closedBy } = this.#state;
    if (closedBy) return closedBy;
    if (signal?.aborted) return new CancelledError('the ask was cancelled before it was made', { cause: signal.reason });
    if (deadline !== undefined && deadline <= ask.askedAt) {
      return new WaitTimeoutError('the deadline of the ask had passed before it was made');
    }
    return null;
  }

  #tryInline(ask: Ask): Waiter | null {
    const turn = new Turn(this.#books, ask.kin === null ? ask.askedAt : this.now());
    const waiter = this.#guarded(ask, () => inline(ask, turn));
    this.#carryOut(turn.effects);
    return waiter;
  }

  /** An attempt outside the evaluator; a defect that it meets closes admission as one met in a pass. */
  #guarded<T>(ask: Ask, work: () => T): T | null {
    // Held: what an account causes from inside its answers is carried out after it.
    const wasBusy = this.#outbox.hold();
    enterFold();
    let defect: unknown;
    try {
      return work();
    } catch (cause) {
      defect = cause;
    } finally {
      leaveFold();
      this.#outbox.release(wasBusy);
    }
    this.#evaluator.post({ type: 'broke', waiter: newcomer(ask), cause: defect, at: ask.askedAt });
    return null;
  }

  #park(ask: Ask, waiter: Waiter): void {
    const { signal } = ask.options;
    if (signal) this.#signals.watch(signal, ask);
    this.#evaluator.post({ type: 'arrived', waiter, at: ask.kin === null ? ask.askedAt : this.now() });
    if (ask.stage === 'waiting') this.#await(ask);
  }

  /** From here on it waits: until its signal aborts, or its time is up. */
  #await(ask: Ask): void {
    const { signal, maxWait = Infinity, deadline = Infinity } = ask.options;
    if (signal) this.#signals.watch(signal, ask);
    if (signal?.aborted) {
      this.#aborted([ask], signal.reason);
      return;
    }
    ask.context ??= currentContext();
    const until = Math.min(ask.askedAt + maxWait, deadline);
    if (until <= ask.askedAt) {
      this.#timedOut(ask);
      return;
    }
    if (until !== Infinity) {
      ask.alarm ??= this.alarms.set(until, () => {
        ask.alarm = null;
        this.#timedOut(ask);
      });
    }
    this.#diagnostics.waiting(ask, this.#state.line.waiterOf(ask));
  }

  #timedOut(ask: Ask): void {
    const { line } = this.#state;
    const waiter = line.waiterOf(ask);
    const ahead = waiter === line.head ? null : line.head;
    const now = this.now();
    enterFold();
    const accounts = waiter ? shortOf(waiter, ahead, this.memory, now) : (ask.kin?.missing() ?? []).map(({ account }) => account);
    leaveFold();
    const short = accounts.map(({ name }) => name);
    const what = short.length > 0 ? `: it was short of ${short.join(', ')}` : '';
    const waited = Math.floor(now - ask.askedAt);
    const [account] = short;
    this.#leave([ask], new WaitTimeoutError(`not granted within ${String(waited)}ms${what}`, { account }), 'timeout');
    this.#outbox.flush();
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
    const borrowing = this.nesting.borrowers.size === 0 ? [] : waiting.filter((ask) => this.nesting.borrowers.has(ask));
    if (waiting.length > 0) {
      for (const ask of waiting) {
        this.#over(ask);
        ask.refusal = error;
      }
      const at = this.now();
      this.#evaluator.post({ type: 'left', asks: waiting, reason, error, at });
      // Whoever has an answer is told with it.
      if (error !== null) for (const ask of borrowing) this.#answerNo(ask, error);
      else {
        this.counts.withdrawn += waiting.length;
        for (const ask of waiting) {
          if (isFolding()) this.#withdrawnInside.add(ask);
          this.#diagnostics.refused(ask, null, at);
        }
      }
    }
    for (const ask of landed) {
      // Its delivery is on the way already, unless a pause holds it up, and brings this answer.
      ask.refusal = error;
      if (this.suspended.delete(ask)) this.#deliver(ask);
      try {
        this.settle(ask, 'rollback', 'ignored');
      } catch (error) {
        // An abort or a time that is up has no caller to tell, and the next of them must leave as well.
        reportUnhandled(error);
      }
    }
  }

  #accept({ state, turn }: Decision): void {
    this.#state = state;
    this.#carryOut(turn.effects);
    this.ledger.watch(state.line.size > 0 ? 'the named' : 'nothing');
    this.#evaluator.sleepTo(state);
    if (state.phase === 'closed') this.#shut();
    this.#sayMoved(this.ledger.eased());
    this.#changed();
  }

  #sayMoved(others: Set<Ledger> | null): void {
    if (others !== null) this.#outbox.send(new Notice(() => { others.forEach((other) => { other.hear(); }); }));
  }

  #shut(): void {
    this.#unobserveMemory?.();
    this.#unobserveMemory = null;
    this.#evaluator.read(null);
    // They have not started, and never will.
    this.#leave([...this.suspended.asks, ...this.nesting.borrowers], this.#state.closedBy, 'cancelled');
  }

  #carryOut(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (!(effect instanceof Asking)) this.#tell(effect);
      else if (!Number.isNaN(effect.grantedAt)) this.#land(effect as Ask);
      else if (effect.refusal !== null) this.#answerNo(effect as Ask, effect.refusal);
    }
  }

  #tell(event: AdmissionEvent): void {
    this.#outbox.send(
      new Notice(() => {
        this.#events.next(event);
      }),
    );
  }

  #land(ask: Ask): void {
    if (ask.stage === 'over') {
      // An account that was being asked made it leave: it has gone, whatever was taken for it.
      this.#evaluator.post({ type: 'settled', ask, verb: 'rollback', outcome: 'ignored', failures: [], at: this.#instant });
      if (ask.refusal !== null) {
        this.counts.refused += 1;
        this.#deliver(ask);
      }
      return;
    }
    ask.stage = 'landed';
    ask.alarm?.cancel();
    ask.alarm = null;
    ask.held = this.held.add(ask);
    this.counts.granted += 1;
    this.upkeep.landed(ask);
    const { signal } = ask.options;
    if (signal?.aborted) this.#aborted([ask], signal.reason);
    else if (signal) this.#signals.watch(signal, ask);
    this.#endAtDeadline(ask);
    this.#changed();
    this.#diagnostics.granted(ask);
    this.#deliver(ask);
  }

  /** The budget of its work ends there. */
  #endAtDeadline(ask: Ask): void {
    const { deadline = Infinity } = ask.options;
    ask.alarm =
      deadline === Infinity
        ? null
        : this.alarms.set(deadline, () => {
            ask.abort(pastDeadline());
          });
  }

  /** Granted, and held back by a pause: it waits on, and no longer than it may. */
  suspend(ask: Ask, paused: AnyAccount): void {
    this.suspended.add(ask, paused);
    const { maxWait = Infinity, deadline = Infinity } = ask.options;
    const until = Math.min(ask.askedAt + maxWait, deadline);
    if (until === Infinity) return;
    ask.alarm?.cancel();
    ask.alarm = this.alarms.set(until, () => {
      ask.alarm = null;
      const waited = Math.floor(this.now() - ask.askedAt);
      const { name } = paused;
      this.#leave([ask], new WaitTimeoutError(`not started within ${String(waited)}ms: ${name} is paused`, { account: name }), 'timeout');
      this.#outbox.flush();
    });
  }

  #answerNo(ask: Ask, error: AdmissionError): void {
    this.counts.refused += 1;
    if (this.#withdrawnInside.has(ask)) this.counts.withdrawn -= 1;
    this.#over(ask);
    ask.refusal = error;
    this.#diagnostics.refused(ask, error, this.#instant);
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
    if (ask.held !== NOWHERE) {
      this.held.delete(ask.held);
      ask.held = NOWHERE;
      this.upkeep.over(ask);
    }
    if (ask.named !== null) this.ledger.unname(ask.named);
    ask.named = null;
    if (ask.options.signal) this.#signals.unwatch(ask.options.signal, ask);
    if (ask.kin !== null) this.nesting.over(ask, ask.kin);
  }

  /** Something came back in the family: whoever can go on does. */
  lendAgain(ask: Ask): void {
    this.nesting.again(ask);
    this.#outbox.flush();
  }

  #changed(): void {
    this.#watchdog?.look();
    if (!this.#changes.observed) return;
    this.#outbox.send(
      new Notice(() => {
        this.#changes.next();
      }),
    );
  }
}

/** Gets its answer as a return value. */
const NOBODY: Consumer = { granted: () => undefined, refused: () => undefined };

const pastDeadline = (): Error =>
  Object.assign(new Error('the deadline of the ask has passed'), { name: 'TimeoutError' });

function describe(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const { constructor } = value as { readonly constructor?: { readonly name: string } };
  return constructor === undefined ? 'an object' : `a ${constructor.name}`;
}
