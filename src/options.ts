/** Whether something that was handed over as options is some: what nobody would read is said at once, not ignored. */
import { nonNegative } from './accounts/validation.js';
import type { AdmissionOptions, TryOptions } from './admission.js';
import type { AdmitOptions } from './admit.js';
import type { AskOptions } from './ask.js';
import type { EachOptions } from './each.js';
import { assertMaxHold } from './upkeep.js';
import type { RunOptions } from './work.js';

/** Complete by its type: an option that is added and not named here does not compile. */
type Known<Options> = Readonly<Record<keyof Options, true>>;

const TRY: Known<TryOptions> = { job: true, maxHold: true };
const ASK: Known<AskOptions> = { signal: true, maxWait: true, deadline: true, ...TRY };
const RUN: Known<RunOptions> = { ...ASK, outcome: true };
const ADMIT: Known<AdmitOptions> = { ...RUN, onRefused: true };
const EACH: Known<EachOptions> = { ...ADMIT, prefetch: true };
const ADMISSION: Known<AdmissionOptions> = {
  name: true,
  memory: true,
  http: true,
  scheduler: true,
  maxWaiters: true,
  overflow: true,
  lostGrants: true,
  maxHold: true,
  trace: true,
  log: true,
  watchdog: true,
  nested: true,
};

const KNOWN = {
  createAdmission: ADMISSION,
  admit: ADMIT,
  defer: ADMIT,
  run: RUN,
  acquire: ASK,
  tryAcquire: TRY,
  each: EACH,
} as const;

/**
 * Checks the options of a way in; left out, they are none.
 *
 * @throws TypeError that names what was given and what could be.
 */
export function assertOptions(way: keyof typeof KNOWN, options: unknown): void {
  if (options === undefined) return;
  const known = KNOWN[way];
  const listed = (): string => Object.keys(known).join(', ');
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`the options of ${way} are an object of ${listed()}, or left out, not ${shown(options)}`);
  }
  if (isSignal(options)) throw new TypeError(`the options of ${way} are an object, not the signal itself: write { signal }`);
  for (const key in options) {
    if (!Object.hasOwn(known, key)) throw new TypeError(`${way} has no option "${key}"; it has ${listed()}`);
  }
}

/**
 * Checks what the options of one ask say.
 *
 * @throws RangeError, or TypeError where a signal is none.
 */
export function assertAskOptions({ signal, maxWait, deadline, maxHold }: AskOptions): void {
  if (maxWait !== undefined && maxWait !== Infinity) nonNegative('maxWait (ms)', maxWait);
  if (deadline !== undefined && (typeof deadline !== 'number' || Number.isNaN(deadline))) {
    throw new RangeError(`deadline must be an instant of admission.now(), not ${String(deadline)}`);
  }
  assertMaxHold(maxHold);
  if (signal !== undefined && typeof signal.aborted !== 'boolean') {
    throw new TypeError('signal must be an AbortSignal; of an AbortController, give its signal');
  }
}

const shown = (value: unknown): string => (typeof value === 'function' ? 'a function' : String(value));

const isSignal = (options: object): boolean => 'aborted' in options && 'addEventListener' in options;
