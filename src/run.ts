/** One subscription of the operator: its waiters, its running inners, and its consumer. */
import { Subscription, type ObservableInput, type Subscriber } from 'rxjs';
import type { AdmitOptions, DemandOf, Project } from './admit.js';
import type { Desk } from './desk.js';
import type { StoppedError } from './errors.js';
import { Item } from './item.js';
import type { Nest } from './nest.js';
import { NOWHERE, Roster } from './roster.js';

export class Run<T> {
  upstream: { unsubscribe(): void } | null = null;
  /** Runs after an ask left the line: there is room for another. */
  roomMade: (() => void) | null = null;
  closed = false;
  readonly #waiting = new Roster<Item<T>>(placed);
  readonly #running = new Roster<Item<T>>(placed);
  #index = 0;
  #sourceEnded = false;
  #stopped: StoppedError | null = null;

  constructor(
    readonly desk: Desk,
    readonly demand: DemandOf<T>,
    readonly project: Project<T>,
    readonly options: AdmitOptions<T, ObservableInput<unknown>>,
    readonly consumer: Subscriber<unknown>,
    /** The job that its asks are part of, where somebody says so. */
    readonly parent: Nest | null = null,
  ) {}

  /** How many items wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  next(value: T): void {
    const index = this.#index;
    this.#index += 1;
    try {
      const demand = typeof this.demand === 'function' ? this.demand(value, index) : this.demand;
      const job = this.#jobOf(value, index);
      // Either may have unsubscribed, or stopped the admission.
      if (this.#isOver()) return;
      const item = new Item(this, value, index, demand, job);
      this.desk.ask(item, this.parent);
      if (item.isAnswered) return;
      // A handler of the events that the ask caused has unsubscribed: nobody is left to wait for the answer.
      if (this.closed) this.desk.withdraw([item]);
      else item.place = this.#waiting.add(item);
    } catch (error) {
      this.error(error);
    }
  }

  #isOver(): boolean {
    return this.closed || this.#stopped !== null;
  }

  #jobOf(value: T, index: number): unknown {
    const { job } = this.options;
    if (typeof job === 'function') return (job as (item: T, index: number) => unknown)(value, index);
    return job === undefined ? value : job;
  }

  /** The item left the line. */
  answered(item: Item<T>): void {
    if (item.place !== NOWHERE) this.#waiting.delete(item.place);
    item.place = NOWHERE;
  }

  /** The item's work begins. */
  running(item: Item<T>): void {
    item.place = this.#running.add(item);
  }

  /** The item's work is over. */
  ended(item: Item<T>): void {
    if (item.place !== NOWHERE) this.#running.delete(item.place);
    item.place = NOWHERE;
  }

  /** Fails the output: waiters withdraw, inners tear down, grants are released, and only then the consumer is told. */
  error(error: unknown): void {
    if (this.closed) return;
    try {
      this.tearDown();
    } finally {
      this.consumer.error(error);
    }
  }

  complete(): void {
    this.#sourceEnded = true;
    this.endIfDone();
  }

  /** Admission has stopped: the source is left, and the output fails once what runs has ended. */
  stopped(error: StoppedError): void {
    this.#stopped ??= error;
    this.#sourceEnded = true;
    try {
      this.upstream?.unsubscribe();
    } finally {
      this.endIfDone();
    }
  }

  endIfDone(): void {
    if (this.closed || !this.#sourceEnded || this.#running.size > 0 || this.#waiting.size > 0) return;
    this.closed = true;
    if (this.#stopped) this.consumer.error(this.#stopped);
    else this.consumer.complete();
  }

  /** Leaves nothing behind. What a teardown throws is thrown once all of them have run, as RxJS does. */
  tearDown(): void {
    if (this.closed) return;
    this.closed = true;
    this.desk.together(() => {
      // All waiters in one change, before anything is released: none of them is let in by its own siblings.
      const waiting = [...this.#waiting];
      for (const item of waiting) this.answered(item);
      if (waiting.length > 0) this.desk.withdraw(waiting);
      if (this.upstream === null && this.#running.size === 0) return;
      const teardowns = new Subscription();
      if (this.upstream) teardowns.add(this.upstream);
      for (const item of this.#running) {
        teardowns.add(() => {
          item.cut();
        });
      }
      teardowns.unsubscribe();
    });
  }
}

function placed(item: { place: number }, place: number): void {
  item.place = place;
}
