/** One item of the operator, from its ask to the end of its inner: the ask, and the inner's observer, in one. */
import { Subscriber, type Observable, type ObservableInput, type Observer } from 'rxjs';
import type { Ending } from './admit.js';
import { Ask } from './ask.js';
import type { Demand } from './demand.js';
import { CancelledError, StoppedError, type AdmissionError } from './errors.js';
import type { Outcome } from './evaluator/settle.js';
import type { Grant } from './grant.js';
import { toObservable } from './inner.js';
import { inside } from './nested.js';
import { NOWHERE } from './roster.js';
import type { Run } from './run.js';

/**
 * `none`: not answered yet. `starting`: its project runs, or its inner is being subscribed. `unborn`: project threw, so
 * there is no inner. `ended`: the inner's teardown has run, and only the grant is left to settle.
 */
type Work = 'none' | 'starting' | 'unborn' | 'running' | 'ended';

export class Item<T> extends Ask {
  /** Its place in its run. */
  place = NOWHERE;
  #work: Work = 'none';
  #grant: Grant | null = null;
  #inner: Inner | null = null;
  #ending: Ending | null = null;
  #outcome: Outcome = 'ignored';

  constructor(
    readonly run: Run<T>,
    readonly value: T,
    readonly index: number,
    demand: Demand,
    job: unknown,
  ) {
    super(run.desk, demand, run.options, job);
  }

  get isAnswered(): boolean {
    return this.#work !== 'none';
  }

  protected granted(grant: Grant): void {
    const { run } = this;
    this.#grant = grant;
    run.answered(this);
    this.#work = 'starting';
    if (run.closed) {
      grant.rollback();
      return;
    }
    this.#begin();
  }

  protected refused(error: AdmissionError): void {
    const { run } = this;
    run.answered(this);
    this.#work = 'starting';
    if (run.closed) return;
    if (run.options.onRefused) this.#begin();
    else if (error instanceof StoppedError) run.stopped(error);
    else run.error(error);
  }

  next(value: unknown): void {
    const { consumer, desk } = this.run;
    if (desk.nesting.policy === 'off') consumer.next(value);
    // Whoever gets the value is no part of the job that made it.
    else inside(this.kin?.parent ?? null, () => { consumer.next(value); });
  }

  error(error: unknown): void {
    this.#ending = { kind: 'E', error };
    this.#tearDown();
  }

  complete(): void {
    this.#ending = COMPLETED;
    this.#tearDown();
  }

  /** The inner's subscription is closed: it matters where the inner unsubscribes itself, ending as nothing. */
  left(): void {
    if (this.#work === 'running') this.#end();
  }

  /** The subscription ends as a whole: the work is told before it is cut. */
  cut(): void {
    if (this.place === NOWHERE) return;
    if (this.#work === 'unborn' || this.#work === 'ended') {
      this.#settle();
      return;
    }
    this.#ending = null;
    if (this.#grant) this.abort(new CancelledError('the work was unsubscribed'));
    this.#tearDown();
  }

  #begin(): void {
    const { run } = this;
    run.running(this);
    let input: ObservableInput<unknown>;
    let inner: Observable<unknown>;
    try {
      input = this.#project();
      inner = toObservable(input, this.#grant);
    } catch (error) {
      this.#work = 'unborn';
      run.error(error);
      // Unless the failing output settled it: project had unsubscribed that before it threw.
      this.cut();
      return;
    }
    // Made before it subscribes, so that a synchronous inner can be cut in its middle.
    const subscriber = new Inner(this);
    this.#inner = subscriber;
    if (run.closed) subscriber.unsubscribe();
    try {
      // Nobody is left to subscribe it for; but what has begun by itself must be told to stop.
      if (!run.closed || inner !== input) inner.subscribe(subscriber);
    } catch (error) {
      // A teardown that is due as soon as it is known, and throws.
      this.#ending = { kind: 'E', error };
      subscriber.unsubscribe();
    }
    this.#work = 'running';
    if (subscriber.closed) this.#end();
    if (run.roomMade === null) return;
    if (run.desk.nesting.policy === 'off') run.roomMade();
    else inside(this.kin?.parent ?? null, run.roomMade);
  }

  #project(): ObservableInput<unknown> {
    const { run, value } = this;
    if (this.#grant !== null) return run.project(value, this.#grant, this.index);
    // Only a refusal that something stands in for comes here.
    const { onRefused } = run.options;
    if (this.refusal === null || !onRefused) throw new TypeError('neither granted nor refused');
    return onRefused(this.refusal, value);
  }

  /**
   * By hand, and not by a finalizer: operators of the inner add to its subscription while it runs, and a finalizer of
   * ours would come before theirs. While the inner is being subscribed, the rest of that comes first.
   */
  #tearDown(): void {
    if (this.#work !== 'running') {
      this.#inner?.unsubscribe();
      return;
    }
    this.#work = 'ended';
    try {
      this.#inner?.unsubscribe();
    } finally {
      this.#end();
    }
  }

  /** The inner's teardown has run: now the grant, and after it the terminal. */
  #end(): void {
    const { run } = this;
    this.#work = 'ended';
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
    this.run.ended(this);
    if (this.#work === 'unborn') this.#grant?.rollback();
    else this.#grant?.release(this.#outcome);
  }

  #outcomeOf(ending: Ending | null): Outcome {
    // What stands in for a refused item says nothing of any account.
    if (ending === null || this.#grant === null) return 'ignored';
    const { outcome } = this.run.options;
    if (outcome) return outcome(ending, this.#grant);
    return ending.kind === 'C' ? 'success' : 'ignored';
  }
}

type InnerObserver = Observer<unknown> & { readonly left: () => void };

const COMPLETED: Ending = { kind: 'C' };

/**
 * What an inner is subscribed with: the item hears all of it, and of its end once its whole teardown has run. A class of its
 * own, since a finalizer would cost each inner a list of them, and would come before those that are added later.
 */
// eslint-disable-next-line rxjs-x/no-subclass -- the reason above
class Inner extends Subscriber<unknown> {
  readonly #item: InnerObserver;

  constructor(item: InnerObserver) {
    super(item);
    this.#item = item;
  }

  override unsubscribe(): void {
    if (this.closed) return;
    try {
      super.unsubscribe();
    } finally {
      this.#item.left();
    }
  }
}
