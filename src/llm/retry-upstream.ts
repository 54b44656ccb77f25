/** The retry operator for calls of an upstream: each attempt asks anew, and holds nothing while it waits for its turn. */
import { defer, retry, tap, throwError, timer, type MonoTypeOperatorFunction, type SchedulerLike } from 'rxjs';
import { monotonicScheduler } from '../index.js';
import { classifyFailure, type ClassifyOptions } from './classify-failure.js';
import type { ClassifiedFailure } from './failure.js';

/** From when to when a retry may come, ms; uniform in it, its upper edge left out. */
export interface RetryWindow {
  readonly from: number;
  readonly to: number;
}

/** Inside admission, "Retry signals": a rate limit, a server's error and the network's share a window. */
const ORDINARY: RetryWindow = { from: 5_000, to: 30_000 };
/** An overload asks the whole fleet to yield, for longer. */
const OVERLOAD: RetryWindow = { from: 15_000, to: 90_000 };
const OVERLOAD_WEIGHT = 3;
/** The window widens with each attempt, up to ten times, and never beyond five minutes. */
const WIDEST = 10;
const LATEST = 300_000;

/**
 * The window of the retry that follows a failed attempt, counted from 0.
 *
 * A Retry-After inside or beyond it moves the whole window there: if all came back just then, they would be the herd again.
 */
export function retryWindow({ weight, retryAfter }: Pick<ClassifiedFailure, 'weight' | 'retryAfter'>, attempt: number): RetryWindow {
  const base = weight >= OVERLOAD_WEIGHT ? OVERLOAD : ORDINARY;
  const factor = Math.min(attempt + 1, WIDEST);
  const from = base.from * factor;
  const to = Math.min(base.to * factor, LATEST);
  const hint = retryAfter * 1_000;
  return hint <= from ? { from, to } : { from: hint, to: hint + to - from };
}

export interface RetryOptions {
  /** Attempts in all, the first one included; as many as it takes unless given. */
  readonly maxAttempts?: number | undefined;
  /** ms from the first subscription, after which no attempt starts any more; unlimited unless given. */
  readonly maxElapsed?: number | undefined;
  /** Whose errors these are, and how long a Retry-After is borne; see `classifyFailure`. */
  readonly classify?: ClassifyOptions | undefined;
  /** The timer and clock; the default one of admissions unless given. */
  readonly scheduler?: SchedulerLike | undefined;
  /** From 0 to below 1; `Math.random` unless given. */
  readonly random?: (() => number) | undefined;
}

/**
 * Retries what may yet succeed: a rate limit after 5 to 30 s, an overload after 15 to 90 s, a server's error or the
 * network's after 5 to 30 s; wider with each attempt, and not before a Retry-After.
 *
 * It goes behind `admission.defer`, where each attempt is a new demand. Nothing is retried once a value was delivered, nor
 * what admission refused, nor what can never succeed (quota exhausted, context too long). The error that it gives up with is
 * the call's own.
 *
 * @throws RangeError when maxAttempts is not a positive whole number, or maxElapsed not a number from zero up.
 *
 * @example
 * ```ts
 * admission.defer(demand([gpt, 900]), (grant) => chat(prompt, grant.signal)).pipe(retryUpstream({ maxAttempts: 5 }));
 * ```
 */
export function retryUpstream<T>(options: RetryOptions = {}): MonoTypeOperatorFunction<T> {
  const { maxAttempts = Infinity, maxElapsed = Infinity, classify, scheduler = monotonicScheduler, random = Math.random } = options;
  if (maxAttempts !== Infinity && !(Number.isSafeInteger(maxAttempts) && maxAttempts > 0)) {
    throw new RangeError(`maxAttempts must be a positive whole number, not ${String(maxAttempts)}`);
  }
  if (!(maxElapsed >= 0)) throw new RangeError(`maxElapsed must be zero or a positive number of ms, not ${String(maxElapsed)}`);
  return (source) =>
    defer(() => {
      const since = scheduler.now();
      let isDelivered = false;
      return source.pipe(
        tap(() => {
          isDelivered = true;
        }),
        retry({
          delay: (error: unknown, attempt) => {
            const failure = classifyFailure(error, classify);
            const mayYet = failure.kind === 'wait' || failure.kind === 'capacity' || failure.kind === 'transient';
            if (isDelivered || !mayYet || attempt >= maxAttempts) return throwError(() => error);
            const { from, to } = retryWindow(failure, attempt - 1);
            const delay = from + random() * (to - from);
            return scheduler.now() + delay - since > maxElapsed ? throwError(() => error) : timer(delay, scheduler);
          },
        }),
      );
    });
}
