/** What an adaptive gate is told, and the checks of it. */
import type { AccountOptions, Log } from '../index.js';
import type { ControlRule } from './adaptive-control.js';
import type { Limit } from './limits/limit.js';

export interface AdaptiveGateOptions extends AccountOptions {
  readonly name: string;
  /** How the limit follows what is measured: `vegas()`, `gradient2()`, `aimd()`, or one of your own. */
  readonly limit: Limit;
  /** The least that the limit may be, and the most permits that one job may ask for. */
  readonly min: number;
  readonly max: number;
  /** What it starts with: a limit that is known to be safe, or the one that was reached last time. */
  readonly initial: number;
  /** The limit while the signal fails; `initial` unless given. */
  readonly fallback?: number | undefined;
  /**
   * What a job's latency is: from its grant to its end (`end`, the default), or as `gate.mark(grant)` says (`marked`): the
   * first value of a stream, or what the server itself measured.
   */
  readonly sample?: 'end' | 'marked' | undefined;
  /** A decision takes `count` samples (10) and `ms` (1,000), both at least. */
  readonly window?: { readonly ms?: number | undefined; readonly count?: number | undefined } | undefined;
  readonly log?: Log | undefined;
}

/** Those of `WindowedLimit` in Netflix concurrency-limits. */
const WINDOW = { ms: 1_000, count: 10 } as const;

/** @throws RangeError when a number is out of bounds, TypeError when there is no algorithm. */
export function controlRuleOf(options: AdaptiveGateOptions): ControlRule {
  const { name, limit: algorithm, initial, fallback = initial, window: { ms = WINDOW.ms, count = WINDOW.count } = {} } = options;
  if (!isLimit(algorithm)) {
    throw new TypeError(`${name}: limit must be an algorithm, such as vegas(), not ${shown(algorithm)}`);
  }
  const min = permits(name, 'min', options.min);
  const max = permits(name, 'max', options.max);
  if (max < min) throw new RangeError(`${name}: max must be at least min (${String(min)}), not ${String(max)}`);
  assertWithin(name, 'initial', initial, { min, max });
  assertWithin(name, 'fallback', fallback, { min, max });
  if (!(Number.isFinite(ms) && ms >= 0)) throw new RangeError(`${name}: window.ms must be zero or a positive number, not ${shown(ms)}`);
  return { algorithm, min, max, fallback, window: { ms, count: permits(name, 'window.count', count) } };
}

export function measureOf({ name, sample = 'end' }: AdaptiveGateOptions): 'end' | 'marked' {
  if (['end', 'marked'].includes(sample)) return sample;
  throw new RangeError(`${name}: sample must be 'end' or 'marked', not ${shown(sample)}`);
}

export function assertWithin(owner: string, what: string, value: number, { min, max }: { readonly min: number; readonly max: number }): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  throw new RangeError(`${owner}: ${what} must be a whole number from ${String(min)} to ${String(max)}, not ${shown(value)}`);
}

function permits(owner: string, what: string, value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 1) return value as number;
  throw new RangeError(`${owner}: ${what} must be a positive whole number, not ${shown(value)}`);
}

function isLimit(given: unknown): boolean {
  if (typeof given !== 'object' || given === null) return false;
  return typeof Reflect.get(given, 'start') === 'function' && typeof Reflect.get(given, 'next') === 'function';
}

const shown = (value: unknown): string => (typeof value === 'string' ? `"${value}"` : String(value));
