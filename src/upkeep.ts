/** Keeps watch over what is held: the grant that nobody can reach any more, and the one that is held too long. */
import { positive } from './accounts/validation.js';
import type { Ask } from './ask.js';
import type { Alarms } from './clock.js';
import { CancelledError } from './errors.js';
import type { Grant } from './grant.js';
import { reportUnhandled } from './unhandled.js';
import { nameOf } from './waiter-view.js';
import type { Warnings } from './warnings.js';

/** ms after which a grant that is still held is reported; with `recover`, it is taken back as well. */
export type MaxHold = number | { readonly after: number; readonly recover?: boolean | undefined };

/** What is done about a grant that was dropped unsettled. `off` looks for none. */
export type LostGrants = 'recover' | 'report' | 'off';

export interface UpkeepOptions {
  readonly lostGrants: LostGrants;
  readonly maxHold: MaxHold | undefined;
  readonly trace: boolean;
}

/** Of all admissions: only the record is kept, and it knows its desk. Unregistered as soon as its grant is settled. */
const dropped = new FinalizationRegistry<Ask>((ask) => {
  ask.desk.upkeep.lost(ask);
});

export class Upkeep {
  readonly #options: UpkeepOptions;
  readonly #warnings: Warnings;
  readonly #alarms: Alarms;
  readonly #now: () => number;

  constructor(options: UpkeepOptions, warnings: Warnings, alarms: Alarms, now: () => number) {
    this.#options = options;
    this.#warnings = warnings;
    this.#alarms = alarms;
    this.#now = now;
  }

  /** Somebody asks: remembers from where, if that is wanted. */
  asked(ask: Ask): void {
    if (this.#options.trace) ask.trace = stack();
  }

  /** The ask holds something from here on. */
  landed(ask: Ask): void {
    const maxHold = ask.options.maxHold ?? this.#options.maxHold;
    if (maxHold === undefined) return;
    const { after, recover = false } = typeof maxHold === 'number' ? { after: maxHold } : maxHold;
    if (after === Infinity) return;
    ask.holdAlarm = this.#alarms.set(ask.grantedAt + after, () => {
      ask.holdAlarm = null;
      this.#heldLong(ask, after, recover ? 'recover' : 'report');
    });
  }

  /** The grant is somebody's to settle by hand: it may be dropped. */
  handedOut(grant: Grant, ask: Ask): void {
    if (this.#options.lostGrants !== 'off') dropped.register(grant, ask, ask);
  }

  /** The ask holds nothing any more. */
  over(ask: Ask): void {
    ask.holdAlarm?.cancel();
    ask.holdAlarm = null;
    if (ask.isByHand() && this.#options.lostGrants !== 'off') dropped.unregister(ask);
  }

  lost(ask: Ask): void {
    if (ask.stage === 'over') return;
    const recover = this.#options.lostGrants === 'recover';
    const end = recover ? 'its permits are given back' : 'its permits are gone until the process ends';
    const message = `a grant was dropped without being settled, ${described(ask)}: ${end}; release it, or take it by \`using\``;
    if (recover) this.#takeBack(ask, new CancelledError('the grant was dropped without being settled'));
    this.#warnings.tell({ type: 'LOST_GRANT', ...this.#facts(ask, message), recovered: recover });
  }

  #heldLong(ask: Ask, after: number, action: 'recover' | 'report'): void {
    const recover = action === 'recover';
    // Work that goes on keeps its permits: two would run where one may.
    const isFree = ask.isByHand() && ask.stage === 'delivered' && ask.unfinished === 0;
    const end = !recover ? '' : isFree ? '; its permits are given back' : '; it was told to abort, and keeps its permits until its work ends';
    const message = `a grant is held for more than ${String(after)}ms, ${described(ask)}${end}`;
    if (recover) {
      const reason = new CancelledError(`the grant was held for more than ${String(after)}ms`);
      if (isFree) this.#takeBack(ask, reason);
      else {
        ask.overdue = reason;
        ask.abort(reason);
      }
    }
    this.#warnings.tell({ type: 'LONG_HOLD', ...this.#facts(ask, message), recovered: recover });
  }

  /** The work of an ask that was held for too long has ended. */
  workEnded(ask: Ask): void {
    if (ask.overdue !== null && ask.isByHand()) this.#takeBack(ask, ask.overdue);
  }

  /** Whoever still works by its signal is told first. */
  #takeBack(ask: Ask, reason: CancelledError): void {
    ask.abort(reason);
    try {
      ask.desk.settle(ask, 'release', 'ignored');
    } catch (error) {
      // Nobody called this who could be told.
      reportUnhandled(error);
    }
  }

  #facts(ask: Ask, line: string) {
    const { job, demand, trace } = ask;
    const at = this.#now();
    const message = trace === null ? line : `${line}\n  asked for\n${trace}`;
    return { at, job, demand, age: at - ask.grantedAt, trace, message };
  }
}

function described({ job, demand }: Ask): string {
  const accounts = demand.entries.map(({ account }) => account.name).join(', ');
  return `${nameOf(job) ?? 'a job'} on ${accounts}`;
}

/** Our own frames, and those of the operators in between, come before the caller's. */
const FRAMES = 60;

/** Of a frame of this file, where the library's files are. In a bundle the file has another name, and nothing is known to be ours. */
const OURS = /([^\s(@]*)upkeep\.[jt]s:/;

/** From the caller's frame on: those before it are ours, of RxJS, and of the runtime in between. */
function stack(): string {
  const limits = Error as { stackTraceLimit?: number };
  const usual = limits.stackTraceLimit ?? FRAMES;
  limits.stackTraceLimit = FRAMES;
  const { stack: lines = '' } = new Error();
  limits.stackTraceLimit = usual;
  const frames = lines.split('\n').slice(1);
  const home = OURS.exec(frames[0] ?? '')?.[1];
  if (home === undefined) return frames.join('\n');
  const between = [home, '/node_modules/rxjs/', '(<anonymous>)', 'node:'];
  const caller = frames.findIndex((frame) => !between.some((part) => frame.includes(part)));
  // Asked from a promise or a timer of ours: nobody else is on the stack, and it is told as it is.
  return frames.slice(Math.max(0, caller)).join('\n');
}

/** @throws RangeError on what is no time. */
export function assertMaxHold(maxHold: MaxHold | undefined): void {
  if (maxHold === undefined) return;
  const after: unknown = typeof maxHold === 'object' && (maxHold as unknown) !== null ? maxHold.after : maxHold;
  if (after !== Infinity) positive('maxHold (ms)', after as number);
}
