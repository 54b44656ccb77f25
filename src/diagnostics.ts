/** The life of each ask on `diagnostics_channel`, for tracers and meters: nothing is made unless somebody listens. */
import type { Demand } from './demand.js';
import type { AdmissionError } from './errors.js';
import type { Asking } from './evaluator/asking.js';
import type { Outcome, Verb } from './evaluator/settle.js';
import { inOrder, type Mark, type Waiter } from './evaluator/waiter.js';
import { Notice, type Outbox } from './outbox.js';
import type { AdmissionWarning } from './warnings.js';
import { channel, type Channel } from '#platform';

/** What every message says. */
export interface AskMessage {
  /** The admission itself. */
  readonly admission: { readonly name: string };
  /** The same object in all messages about one ask; nothing is to be read from it. */
  readonly ask: object;
  readonly job: unknown;
  readonly demand: Demand;
  /** Instant, ms on the admission's clock. */
  readonly at: number;
  /** ms from asking until now, or until it was granted. */
  readonly waited: number;
  /** Names of the accounts that refused it during its wait, the first refusal first. */
  readonly heldOn: readonly string[];
}

/** `error` is null for an ask that was withdrawn, with nobody left to tell. */
export interface RefusedMessage extends AskMessage {
  readonly error: AdmissionError | null;
}

export interface SettledMessage extends AskMessage {
  readonly verb: Verb;
  readonly outcome: Outcome;
  /** ms from the grant until now. */
  readonly held: number;
}

/** A warning of `warnings$`, and whose. */
export interface WarningMessage {
  readonly admission: AskMessage['admission'];
  readonly warning: AdmissionWarning;
}

/**
 * The channels, by what became of an ask: it waits in line, published in the asynchronous context of who asks; it was
 * granted; it left ungranted; its grant was settled. And each warning, as a `WarningMessage`.
 *
 * @example
 * ```ts
 * import { subscribe } from 'node:diagnostics_channel';
 * subscribe('rx-admission:refused', (message) => console.warn((message as RefusedMessage).error?.message));
 * ```
 */
export const CHANNELS = {
  waiting: 'rx-admission:waiting',
  granted: 'rx-admission:granted',
  refused: 'rx-admission:refused',
  settled: 'rx-admission:settled',
  warning: 'rx-admission:warning',
} as const;

const waiting = channel(CHANNELS.waiting);
const granted = channel(CHANNELS.granted);
const refused = channel(CHANNELS.refused);
const settled = channel(CHANNELS.settled);

/** Publishes what becomes of the asks of one admission. */
export class Diagnostics {
  readonly #admission: AskMessage['admission'];
  readonly #outbox: Outbox;

  constructor(admission: AskMessage['admission'], outbox: Outbox) {
    this.#admission = admission;
    this.#outbox = outbox;
  }

  /** At once: the asynchronous context is still that of who asks. */
  waiting(ask: Asking, waiter: Waiter | null): void {
    if (waiting.hasSubscribers) waiting.publish(this.#message(ask, waiter?.marks ?? null, ask.askedAt));
  }

  granted(ask: Asking): void {
    if (granted.hasSubscribers) this.#publish(granted, this.#message(ask, ask.marks, ask.grantedAt));
  }

  refused(ask: Asking, error: AdmissionError | null, at: number): void {
    if (!refused.hasSubscribers) return;
    const message: RefusedMessage = { ...this.#message(ask, ask.marks, at), error };
    this.#publish(refused, message);
  }

  settled(ask: Asking, verb: Verb, outcome: Outcome, at: number): void {
    if (!settled.hasSubscribers) return;
    const message: SettledMessage = { ...this.#message(ask, ask.marks, at), verb, outcome, held: at - ask.grantedAt };
    this.#publish(settled, message);
  }

  #message(ask: Asking, marks: Mark | null, at: number): AskMessage {
    const { job, demand, askedAt, grantedAt } = ask;
    const waited = (Number.isNaN(grantedAt) ? at : grantedAt) - askedAt;
    const heldOn = inOrder(marks).map(({ account }) => account.name);
    return { admission: this.#admission, ask, job, demand, at, waited, heldOn };
  }

  /** In order with whatever else is told. */
  #publish(to: Channel, message: AskMessage): void {
    this.#outbox.send(
      new Notice(() => {
        to.publish(message);
      }),
    );
  }
}
