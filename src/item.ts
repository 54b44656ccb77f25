/** One item of the operator, from its ask to the end of its inner: who is asked for, and the inner's observer, in one. */
import { Subscriber, type Observable } from 'rxjs';
import type { Ending } from './admit.js';
import type { Ask, Consumer } from './ask.js';
import { CancelledError, StoppedError, type AdmissionError } from './errors.js';
import type { Outcome } from './evaluator/settle.js';
import { abortGrant, type Grant } from './grant.js';
import { toObservable } from './inner.js';
import type { Run } from './run.js';

/**
 * `starting`: its project runs, or its inner is being subscribed. `unborn`: project threw, so there is no inner.
 * `ended`: the inner's teardown has run, and only the grant is left to settle.
 */
type Stage = 'asking' | 'starting' | 'unborn' | 'running' | 'ended';

export class Item<T> implements Consumer {
  ask: Ask | null = null;
  answered = false;
  #stage: Stage = 'asking';
  #grant: Grant | null = null;
  #inner: Subscriber<unknown> | null = null;
  #ending: Ending | null = null;
  #outcome: Outcome = 'ignored';

  constructor(
    readonly run: Run<T>,
    readonly value: T,
    readonly index: number,
  ) {}

  granted(grant: Grant): void {
    const { run } = this;
    this.#leaveLine();
    if (run.closed) {
      grant.rollback();
      return;
    }
    this.#grant = grant;
    this.#begin(() => toObservable(run.project(this.value, grant, this.index), grant));
  }

  refused(error: AdmissionError): void {
    const { run } = this;
    this.#leaveLine();
    if (run.closed) return;
    const { onRefused } = run.options;
    if (onRefused) this.#begin(() => toObservable(onRefused(error, this.value), null));
    else if (error instanceof StoppedError) run.stopped(error);
    else run.error(error);
  }

  next(value: unknown): void {
    this.run.consumer.next(value);
  }

  error(error: unknown): void {
    this.#ending = { kind: 'E', error };
    this.#tearDown();
  }

  complete(): void {
    this.#ending = { kind: 'C' };
    this.#tearDown();
  }

  /** A finalizer of the inner's subscription: it matters where the inner unsubscribes itself, ending as nothing. */
  unsubscribe(): void {
    if (this.#stage === 'running') this.#end();
  }

  /** The subscription ends as a whole: the work is told before it is cut. */
  cut(): void {
    if (!this.run.running.has(this)) return;
    if (this.#stage === 'unborn' || this.#stage === 'ended') {
      this.#settle();
      return;
    }
    this.#ending = null;
    if (this.#grant) abortGrant(this.#grant, new CancelledError('the work was unsubscribed'));
    this.#tearDown();
  }

  #begin(project: () => Observable<unknown>): void {
    const { run } = this;
    this.#stage = 'starting';
    run.running.add(this);
    let inner: Observable<unknown>;
    try {
      inner = project();
    } catch (error) {
      this.#stage = 'unborn';
      run.error(error);
      // Unless the failing output settled it: project had unsubscribed that before it threw.
      this.cut();
      return;
    }
    // Made before it subscribes, so that a synchronous inner can be cut in its middle.
    const subscriber = new Subscriber<unknown>(this);
    this.#inner = subscriber;
    if (run.closed) subscriber.unsubscribe();
    try {
      if (!run.closed) inner.subscribe(subscriber);
    } catch (error) {
      // A teardown that is due as soon as it is known, and throws.
      this.#ending = { kind: 'E', error };
      subscriber.unsubscribe();
    }
    this.#stage = 'running';
    if (subscriber.closed) this.#end();
    else subscriber.add(this);
    run.roomMade?.();
  }

  /**
   * By hand, and not by a finalizer: operators of the inner add to its subscription while it runs, and a finalizer of
   * ours would come before theirs. While the inner is being subscribed, the rest of that comes first.
   */
  #tearDown(): void {
    if (this.#stage !== 'running') {
      this.#inner?.unsubscribe();
      return;
    }
    this.#stage = 'ended';
    try {
      this.#inner?.unsubscribe();
    } finally {
      this.#end();
    }
  }

  /** The inner's teardown has run: now the grant, and after it the terminal. */
  #end(): void {
    const { run } = this;
    this.#stage = 'ended';
    if (run.closed) {
      this.#settle();
      return;
    }
    try {
      this.#outcome = this.#outcomeOf(this.#ending);
      // An error fails the output first: whoever waits there must not be let in by this grant.
      if (this.#ending?.kind !== 'E') this.#settle();
    } catch (error) {
      this.#ending = { kind: 'E', error };
    }
    if (this.#ending?.kind === 'E') run.error(this.#ending.error);
    else run.endIfDone();
  }

  #settle(): void {
    this.run.running.delete(this);
    if (this.#stage === 'unborn') this.#grant?.rollback();
    else this.#grant?.release(this.#outcome);
  }

  #outcomeOf(ending: Ending | null): Outcome {
    // What stands in for a refused item says nothing of any account.
    if (ending === null || this.#grant === null) return 'ignored';
    const { outcome } = this.run.options;
    if (outcome) return outcome(ending);
    return ending.kind === 'C' ? 'success' : 'ignored';
  }

  #leaveLine(): void {
    this.answered = true;
    if (this.ask) this.run.waiting.delete(this.ask);
    this.ask = null;
  }
}
