/** What an operator should hear of although nothing has failed yet: told once, logged, and published. */
import { Subject, type Observable } from 'rxjs';
import type { Log } from './accounts/account.js';
import type { Violation } from './check.js';
import type { Demand } from './demand.js';
import { CHANNELS, type WarningMessage } from './diagnostics.js';
import { Notice, type Outbox } from './outbox.js';
import { channel } from '#platform';

interface Told {
  /** Instant, ms on the admission's clock. */
  readonly at: number;
  /** The whole of it as a line, and the trace below where there is one. */
  readonly message: string;
}

interface OfAGrant extends Told {
  readonly job: unknown;
  readonly demand: Demand;
  /** ms since it was granted. */
  readonly age: number;
  /** The stack that asked for it, where `trace` is on. */
  readonly trace: string | null;
  /** Its permits were given back, or are as soon as its work ends; its signal has aborted. */
  readonly recovered: boolean;
}

/** A grant was dropped unsettled: nobody can reach it any more, so nobody could ever give it back. */
export interface LostGrantWarning extends OfAGrant {
  readonly type: 'LOST_GRANT';
}

/** A grant is held for longer than its `maxHold`. */
export interface LongHoldWarning extends OfAGrant {
  readonly type: 'LONG_HOLD';
}

/** The watchdog found something that must never be. */
export interface UnsoundWarning extends Told {
  readonly type: 'UNSOUND';
  readonly violations: readonly Violation[];
}

/** A job asked for what it holds itself, and may wait for itself. */
export interface NestedAskWarning extends Told {
  readonly type: 'NESTED_ASK';
  readonly job: unknown;
  /** The job around it. */
  readonly parent: unknown;
  readonly demand: Demand;
  /** Names of the accounts that both name. */
  readonly accounts: readonly string[];
}

export type AdmissionWarning = LostGrantWarning | LongHoldWarning | NestedAskWarning | UnsoundWarning;

const warned = channel(CHANNELS.warning);

export class Warnings {
  readonly warnings$: Observable<AdmissionWarning>;
  readonly #warnings = new Subject<AdmissionWarning>();
  readonly #admission: { readonly name: string };
  readonly #log: Pick<Log, 'warn'>;
  readonly #outbox: Outbox;

  constructor(admission: { readonly name: string }, log: Pick<Log, 'warn'>, outbox: Outbox) {
    this.#admission = admission;
    this.#log = log;
    this.#outbox = outbox;
    this.warnings$ = this.#warnings.asObservable();
  }

  /** Tells it in order with all that is told, and whoever wants to know besides: nobody runs inside a decision. */
  tell(warning: AdmissionWarning, besides: () => void = () => undefined): void {
    const tellings = [
      () => { this.#log.warn(`${this.#admission.name}: ${warning.message}`); },
      () => { this.#warnings.next(warning); },
      () => { warned.publish({ admission: this.#admission, warning } satisfies WarningMessage); },
      besides,
    ];
    for (const telling of tellings) this.#outbox.send(new Notice(telling));
    this.#outbox.flush();
  }
}
