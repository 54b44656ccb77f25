/** One ask at the desk: who asks and how, and the delivery of the answer. */
import type { Alarm } from './clock.js';
import type { Demand } from './demand.js';
import type { AdmissionError } from './errors.js';
import { Asking } from './evaluator/asking.js';
import { Grant, type Settler } from './grant.js';
import type { Delivery } from './outbox.js';
import type { Context } from '#platform';

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

export class Ask extends Asking implements Delivery {
  alarm: Alarm | null = null;
  /** Taken when the delivery cannot happen inside the ask itself. */
  context: Context | null = null;
  /** The answer, where it is no. */
  error: AdmissionError | null = null;
  #consumer: Consumer | null;

  constructor(
    demand: Demand,
    askedAt: number,
    job: unknown,
    readonly options: AskOptions,
    consumer: Consumer,
    readonly desk: Settler,
  ) {
    super(demand, askedAt, job);
    this.#consumer = consumer;
  }

  /** Hands the answer over, in the asynchronous context of the ask. */
  deliver(): void {
    const { context } = this;
    this.context = null;
    if (context === null) this.#hand();
    else context(() => {
      this.#hand();
    });
  }

  #hand(): void {
    const consumer = this.#consumer;
    // The consumer of a promise holds the grant for good, and a record must not.
    this.#consumer = null;
    if (consumer === null) return;
    if (this.error !== null) consumer.refused(this.error);
    else if (this.stage === 'landed') {
      this.stage = 'delivered';
      consumer.granted(new Grant(this, this.desk, this.options.deadline));
    }
  }
}
