/** The controller of an adaptive gate: what it knows, and how it goes on from what it hears. Pure. */
import type { Limit, LimitSample, LimitState } from './limits/limit.js';
import { counted, isComplete, opened, sampleOf, type Window, type WindowRule } from './adaptive-window.js';

export interface ControlRule {
  readonly algorithm: Limit;
  readonly min: number;
  readonly max: number;
  /** The limit while the signal fails. */
  readonly fallback: number;
  readonly window: WindowRule;
}

interface Told {
  /** When it was granted; null where that is not known. */
  readonly grantedAt: number | null;
  /** Permits out at that moment, its own included. */
  readonly inFlight: number;
  readonly at: number;
}

/** A job that went well, and its latency, whatever that is worth. */
export interface Measured extends Told {
  readonly kind: 'latency';
  /** ms; null where nobody measured it. */
  readonly latency: number | null;
}

/** A job that met pressure. */
export interface Dropped extends Told {
  readonly kind: 'dropped';
}

export interface Control {
  /** What the algorithm knows; null while it is set aside. */
  readonly state: LimitState | null;
  /** Why it is set aside; null while it is not. */
  readonly failure: string | null;
  readonly window: Window;
  /** Measurements in a row that are none. */
  readonly bad: number;
  /** The last complete window's mean, ms; null before the first. */
  readonly latency: number | null;
}

/** @throws what the algorithm throws, and RangeError where it starts with no limit: at the start that is the caller's to know. */
export const controlled = (initial: number, at: number, rule: ControlRule): Control => ({
  state: limitIn(rule.algorithm.start(initial), rule),
  failure: null,
  window: opened(at, 0, rule.window),
  bad: 0,
  latency: null,
});

/** Permits: whole, and within the bounds. */
export function limitOf({ state }: Control, { min, max, fallback }: ControlRule): number {
  if (state === null) return fallback;
  return Math.floor(Math.max(min, Math.min(max, state.limit, state.hold ?? Infinity)));
}

export function heard(control: Control, told: Measured | Dropped, rule: ControlRule): Control {
  switch (told.kind) {
    case 'latency':
      return isLatency(told.latency) ? measured(control, told.latency, told, rule) : unmeasured(control, told, rule);
    case 'dropped':
      return dropped(control, told, rule);
  }
}

/** It was granted before the last decision, and says nothing of what came of that; so a burst of failures counts once. */
const isLate = ({ grantedAt }: Told, { openedAt }: Window): boolean => grantedAt !== null && grantedAt < openedAt;

function measured(control: Control, latency: number, told: Measured, rule: ControlRule): Control {
  if (isLate(told, control.window)) return { ...control, bad: 0 };
  const window = counted(control.window, latency, told.inFlight);
  const good = { ...control, window, bad: 0 };
  if (!isComplete(window, told.at, rule.window)) return good;
  const sample = sampleOf(window, limitOf(control, rule));
  return { ...decided(good, sample, rule), latency: sample.latency, window: opened(told.at, sample.latency, rule.window) };
}

function dropped(control: Control, told: Dropped, rule: ControlRule): Control {
  // Set aside, an algorithm begins again with what it can trust, which no failure shows.
  if (control.state === null || isLate(told, control.window)) return control;
  const after = decided(control, { kind: 'dropped', inFlight: told.inFlight }, rule);
  return { ...after, window: opened(told.at, control.latency ?? 0, rule.window) };
}

/** The algorithm is set aside: the limit is the static one until a whole window can be trusted again. */
export const failed = (control: Control, failure: string, at: number, rule: ControlRule): Control => ({
  ...control,
  state: null,
  failure: control.failure ?? failure,
  window: opened(at, control.latency ?? 0, rule.window),
  bad: 0,
});

const isLatency = (latency: number | null): latency is number => latency !== null && Number.isFinite(latency) && latency > 0;

/** One such is left out; as many as make a window are a signal that has failed. */
function unmeasured(control: Control, { latency, at }: Measured, rule: ControlRule): Control {
  const bad = control.bad + 1;
  if (bad < rule.window.count) return { ...control, bad };
  const what = latency === null ? 'nobody measured a latency' : `a latency of ${String(latency)} ms`;
  return failed(control, `${what}, ${String(bad)} times in a row`, at, rule);
}

function decided(control: Control, sample: LimitSample, rule: ControlRule): Control {
  const { algorithm, fallback } = rule;
  try {
    const before = control.state ?? algorithm.start(fallback);
    const after = limitIn(algorithm.next(before, sample), rule);
    const raises = sample.kind === 'latency' && sample.isAppLimited && after.limit > before.limit;
    return { ...control, failure: null, state: raises ? { ...after, limit: before.limit } : after };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { ...control, state: null, failure: control.failure ?? `${algorithm.name}: ${why}` };
  }
}

/** @throws RangeError where there is no limit in it. */
function limitIn(state: LimitState, { min, max }: ControlRule): LimitState {
  const { limit, hold = Infinity } = state;
  if (!isNumber(limit) || !isNumber(hold)) {
    throw new RangeError(`a limit is a number of permits, not ${String(limit)} held at ${String(hold)}`);
  }
  const bounded = Math.max(min, Math.min(max, limit));
  return bounded === limit ? state : { ...state, limit: bounded };
}

const isNumber = (value: unknown): boolean => typeof value === 'number' && !Number.isNaN(value);
