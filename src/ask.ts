/** One ask at the desk: who asks and how, and the delivery of the answer. */
import type { Alarm } from './clock.js';
import type { Demand } from './demand.js';
import type { Desk } from './desk.js';
import type { AdmissionError, CancelledError } from './errors.js';
import { Asking } from './evaluator/asking.js';
import type { Listing } from './evaluator/ledger.js';
import { Grant } from './grant.js';
import { Kin, Nest } from './nest.js';
import { inside } from './nested.js';
import type { Delivery } from './outbox.js';
import { NOWHERE } from './roster.js';
import { pausedIn } from './suspended.js';
import type { MaxHold } from './upkeep.js';
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
  /** ms of holding after which the grant is reported, or taken back too; the admission's unless given. */
  readonly maxHold?: MaxHold | undefined;
}

/** Who asks says what a grant and a refusal mean to it: it gets exactly one of the two, unless it withdraws. */
export abstract class Ask extends Asking implements Delivery {
  after: Delivery | null = null;
  alarm: Alarm | null = null;
  /** What it names in the ledger, as long as it waits or holds something. */
  named: readonly Listing[] | null = null;
  /** Taken when the delivery cannot happen inside the ask itself. */
  context: Context | null = null;
  /** Its place among those that hold something. */
  held = NOWHERE;
  /** When it counts as held for too long. */
  holdAlarm: Alarm | null = null;
  /** Why it is taken back as soon as its work ends: it was held for too long. */
  overdue: CancelledError | null = null;
  /** Where it was asked for, if anybody wants to know. */
  trace: string | null = null;
  /** What its work has begun and not ended: until then it gives nothing back. */
  unfinished = 0;
  /** The jobs around it and inside it, where there are any. */
  kin: Kin | null = null;

  /** @throws TypeError on what is no demand. */
  constructor(
    readonly desk: Desk,
    asked: Demand,
    readonly options: AskOptions,
    job: unknown,
  ) {
    super(desk.whole(asked), desk.now(), job);
  }

  /** Whoever is granted it settles it: then it may be dropped, or forgotten. */
  isByHand(): boolean {
    return false;
  }

  protected abstract granted(grant: Grant): void;
  protected abstract refused(error: AdmissionError): void;

  /** Hands the answer over, in the asynchronous context of the ask. */
  deliver(): void {
    const { context } = this;
    if (context === null) this.hand();
    else {
      this.context = null;
      context.runInAsyncScope(handOver, this);
    }
  }

  /** The answer, here and now. */
  hand(): void {
    if (this.refusal !== null) this.refused(this.refusal);
    else if (this.stage === 'landed') {
      const paused = pausedIn(this.demand);
      if (paused !== null) {
        this.desk.suspend(this, paused);
        return;
      }
      this.stage = 'delivered';
      const grant = new Grant(this);
      if (this.desk.nesting.policy === 'off') this.granted(grant);
      else inside(nestOf(this, grant), () => { this.granted(grant); });
    }
  }
}

/** The job of the grant, for those that run inside it. */
export function nestOf(ask: Ask, grant: Grant): Nest {
  ask.kin ??= new Kin(ask.demand, null);
  ask.kin.nest ??= new Nest(grant, ask);
  return ask.kin.nest;
}

function handOver(this: Ask): void {
  this.hand();
}

/** Who wants to be told. */
export interface Consumer {
  granted(grant: Grant): void;
  refused(error: AdmissionError): void;
}

/** The ask of a consumer that is somebody else. */
export class AskFor extends Ask {
  #consumer: Consumer | null;

  constructor(desk: Desk, asked: Demand, options: AskOptions, consumer: Consumer, job = options.job) {
    super(desk, asked, options, job);
    this.#consumer = consumer;
  }

  protected granted(grant: Grant): void {
    this.#forgotten()?.granted(grant);
  }

  protected refused(error: AdmissionError): void {
    this.#forgotten()?.refused(error);
  }

  /** The consumer of a promise holds the grant for good, and a record must not. */
  #forgotten(): Consumer | null {
    const consumer = this.#consumer;
    this.#consumer = null;
    return consumer;
  }
}

/** The ask of somebody who settles the grant by hand. */
export class AskByHand extends AskFor {
  override isByHand(): boolean {
    return true;
  }

  protected override granted(grant: Grant): void {
    this.desk.upkeep.handedOut(grant, this);
    super.granted(grant);
  }
}
