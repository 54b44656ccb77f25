/** What a marble test of an admission is handed, and what it may ask for. */
import type { Observable } from 'rxjs';
import type { RunHelpers, TestScheduler } from 'rxjs/testing';
import type { Admission, AdmissionOptions, CountingGate, ElasticWindow, TokenBucket, demand } from '../index.js';

export type Values<T> = Readonly<Record<string, T>>;
type Extra<Class extends new (options: never) => unknown, Given extends string> = Partial<
  Omit<ConstructorParameters<Class>[0], Given | 'name' | 'scheduler'>
>;

/** The options of `admissionMarbles`: those of the admission, whose clock is the test's, and the scale of time. */
export interface AdmissionMarblesOptions extends Omit<AdmissionOptions, 'scheduler'> {
  /**
   * How many milliseconds one character of a diagram lasts; 1 when not given. `{ frame: 1_000 }` makes a character a
   * second, for buckets, windows and heaps.
   */
  readonly frame?: number;
}

/**
 * What {@link admissionMarbles} hands to a test: RxJS's own run helpers, and the parts of an admission scenario. Every
 * account made here runs on the test's virtual clock.
 */
export interface AdmissionMarbles extends RunHelpers {
  /** The admission under test: `admission.admit(…)`, `admission.defer(…)`, `admission.stop()`. */
  readonly admission: Admission;
  /** The virtual clock, for accounts of your own. */
  readonly scheduler: TestScheduler;
  /** Makes a demand; the function of the same name of `rx-admission`. */
  readonly demand: typeof demand;

  /**
   * A counting gate.
   *
   * @example
   * ```ts
   * const http = gate('http', 2);
   * ```
   */
  readonly gate: (name: string, capacity: number) => CountingGate;

  /**
   * A token bucket, full at frame 0.
   *
   * @example
   * ```ts
   * const gpt = bucket('gpt-5', 60_000, { requestsPerMinute: 100 });
   * ```
   */
  readonly bucket: (
    name: string,
    tokensPerMinute: number,
    options?: Extra<typeof TokenBucket, 'tokensPerMinute'>,
  ) => TokenBucket;

  /**
   * An elastic window of `maxRequests` in `baseWindow` milliseconds.
   *
   * @example
   * ```ts
   * const search = window('search', 3, time('----------|'));
   * ```
   */
  readonly window: (
    name: string,
    maxRequests: number,
    baseWindow: number,
    options?: Extra<typeof ElasticWindow, 'maxRequests' | 'baseWindow'>,
  ) => ElasticWindow;

  /**
   * What the heap reads as time goes by, each value a share of the limit. Without it the heap is never in the way.
   * Write it before what it is about: at one instant, what was written first happens first.
   *
   * @example
   * ```ts
   * heap('l---h--m', { l: 0.5, h: 0.96, m: 0.85 });
   * ```
   */
  readonly heap: (marbles: string, shares: Values<number>) => void;

  /**
   * A promise that settles as its diagram ends, counted from the call; the last value before `|` is its value. Real
   * promises settle in real time, so a test in virtual time needs these for what your code awaits.
   *
   * @example
   * ```ts
   * source.pipe(admission.admit(() => demand(http), () => promise('---(x|)')));
   * ```
   */
  readonly promise: <T = string>(marbles: string, values?: Values<T>, error?: unknown) => PromiseLike<T>;

  /**
   * An `AbortSignal` that aborts at the `!` of its diagram.
   *
   * @example
   * ```ts
   * admission.defer(demand(http), call, { signal: signal('----!') });
   * ```
   */
  readonly signal: (marbles: string) => AbortSignal;

  /**
   * What somebody does from outside, each letter when its time comes.
   *
   * @example
   * ```ts
   * actions('--p---r', { p: () => http.pause(), r: () => http.resume() });
   * ```
   */
  readonly actions: (marbles: string, verbs: Values<() => void>) => void;

  /**
   * The transitions of an account as a line of letters: `h` held, `g` granted from hold, `i` granted immediately (by an
   * account that never held the ask), `r` released, `x` rejected. Without an account, those of all of them.
   *
   * @example
   * ```ts
   * expectObservable(events(http)).toBe('i-h--(rg)--r');
   * ```
   */
  readonly events: (account?: { readonly name: string }) => Observable<string>;
}
