/** One job's work on its connections: opened, begun, worked on, committed, closed; its grant is released after that. */
import { Observable, Subscriber, type ObservableInput } from 'rxjs';
import { AdmissionError, RefusedError, type Grant } from '../index.js';
import { Connections, type Use } from './connections.js';
import { toObservable } from './inner.js';

/**
 * `closing`: the work has ended as it will, and is only cleaning up. An end in any earlier stage that is not the work's
 * own severs the connections.
 */
type Stage = 'opening' | 'working' | 'committing' | 'closing' | 'over';

/** The connections' values, in the order of declaration, to what works on them. */
export type Start<R> = (values: readonly unknown[]) => ObservableInput<R>;

/** Cold: each subscription opens its own connections, under the grant that is held. */
export function heldWork<R>(uses: readonly Use[], grant: Grant, start: Start<R>): Observable<R> {
  return new Observable((subscriber) => {
    const work = new HeldWork(uses, grant, start, subscriber);
    subscriber.add(() => {
      work.tearDown();
    });
    void work.run();
  });
}

class HeldWork<R> {
  readonly #connections: Connections;
  readonly #grant: Grant;
  readonly #start: Start<R>;
  readonly #subscriber: Subscriber<R>;
  readonly #aborted = (): void => {
    this.#connections.abort(this.#grant.signal.reason);
  };
  #stage: Stage = 'opening';
  #inner: Subscriber<R> | null = null;
  /** The value last seen: it goes out once the work is known to have ended well. */
  #last: { readonly value: R } | null = null;

  constructor(uses: readonly Use[], grant: Grant, start: Start<R>, subscriber: Subscriber<R>) {
    this.#connections = new Connections(uses);
    this.#grant = grant;
    this.#start = start;
    this.#subscriber = subscriber;
    // A deadline, a drain out of time, the ask's own signal: nothing else would ever end a statement that hangs.
    grant.signal.addEventListener('abort', this.#aborted);
    if (grant.signal.aborted) this.#aborted();
  }

  async run(): Promise<void> {
    try {
      await this.#connections.open();
    } catch (cause) {
      await this.#neverRan(refusal(cause));
      return;
    }
    if (this.#isGone()) return;
    this.#stage = 'working';
    // The consumer's code runs in the consumer's context, not where the host's pool is this job's connection.
    const inner = new Subscriber<R>({
      next: (value: R) => {
        this.#connections.leave(() => {
          this.#next(value);
        });
      },
      error: (error: unknown) => {
        this.#connections.leave(() => void this.#failed(error));
      },
      complete: () => {
        this.#connections.leave(() => void this.#completed());
      },
    });
    this.#inner = inner;
    try {
      this.#connections.enter(() => {
        toObservable(this.#start(this.#connections.values), this.#grant).subscribe(inner);
      });
    } catch (error) {
      await this.#neverRan(error);
    }
  }

  tearDown(): void {
    if (this.#stage === 'over') return;
    this.#inner?.unsubscribe();
    // Those to whom the end is told have nothing more to sever: the work is in, or has failed, and is being closed.
    if (this.#stage !== 'closing') this.#connections.abort(new Error('the work was unsubscribed'));
    const closed = this.#connections.close();
    this.#grant.until(closed);
    if (this.#stage === 'opening') this.#grant.rollback();
    this.#over();
  }

  #next(value: R): void {
    const last = this.#last;
    this.#last = { value };
    if (last !== null) this.#subscriber.next(last.value);
  }

  async #completed(): Promise<void> {
    this.#stage = 'committing';
    try {
      await this.#connections.commit();
    } catch (error) {
      await this.#failed(error);
      return;
    }
    if (this.#isGone()) return;
    this.#stage = 'closing';
    await this.#connections.close();
    if (this.#isGone()) return;
    this.#over();
    if (this.#last !== null) this.#subscriber.next(this.#last.value);
    this.#subscriber.complete();
  }

  async #failed(error: unknown): Promise<void> {
    if (this.#isGone()) return;
    this.#stage = 'closing';
    // A close rolls back what is open.
    await this.#connections.close();
    if (this.#isGone()) return;
    this.#over();
    this.#subscriber.error(error);
  }

  /** The work never started: everything comes back, and what time replenishes as well. */
  async #neverRan(error: unknown): Promise<void> {
    if (this.#isGone()) return;
    this.#stage = 'opening';
    await this.#connections.close();
    if (this.#isGone()) return;
    this.#over();
    // Claimed now and settled once the failure has been told: whoever waits in the same output withdraws first, and is
    // not let in by this grant only to be torn down.
    this.#grant.until(Promise.resolve());
    this.#grant.rollback();
    this.#subscriber.error(error);
  }

  /** A method, since it changes while one of ours waits. */
  #isGone(): boolean {
    return this.#subscriber.closed;
  }

  #over(): void {
    this.#stage = 'over';
    this.#grant.signal.removeEventListener('abort', this.#aborted);
  }
}

/** A job whose connection cannot be had is refused, in words that can be read out; the failure is the cause. */
function refusal(cause: unknown): unknown {
  if (cause instanceof AdmissionError) return cause;
  const why = cause instanceof Error ? cause.message : String(cause);
  return new RefusedError(`the work could not start on its database: ${why}`, { cause });
}
