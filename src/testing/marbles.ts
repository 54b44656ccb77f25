/** An admission, its accounts, a heap line and demands inside `TestScheduler.run`: a scenario written as a diagram. */
import { ReplaySubject, concat, defer, filter, map, noop } from 'rxjs';
import { TestScheduler, type RunHelpers } from 'rxjs/testing';
import {
  CountingGate,
  ElasticWindow,
  MemoryGate,
  TokenBucket,
  createAdmission,
  demand,
  type AdmissionEvent,
  type AdmissionOptions,
} from '../index.js';
import type { AdmissionMarbles, AdmissionMarblesOptions, Values } from './admission-marbles.js';
import { Expectations } from './expectations.js';
import { VirtualPromise } from './virtual-promise.js';

const LETTERS: Readonly<Record<AdmissionEvent['type'], string>> = {
  HELD: 'h',
  GRANTED_FROM_HOLD: 'g',
  GRANTED_IMMEDIATE: 'i',
  RELEASED: 'r',
  REJECTED: 'x',
};

/**
 * Runs a scenario of admission in virtual time and compares what happens with diagrams.
 *
 * It belongs to no test framework: it throws a {@link MarbleMismatch} that shows what was expected and what was got
 * under each other. Diagrams are RxJS's own; `admissionMarbles` is `new TestScheduler(…).run(…)` with an admission in it.
 *
 * ```text
 * calls   ab--------|
 * a       ---x|
 * b           ---x|
 * out     ---x---x--|
 * ```
 *
 * Virtual time does not reach real promises, so use `admit` and `defer` here, and `promise` where one is needed;
 * `run`, `acquire` and `drain` answer in real microtasks.
 *
 * @example
 * ```ts
 * import { admissionMarbles } from 'rx-admission/testing';
 *
 * it('holds the second call until the first has ended', () =>
 *   admissionMarbles(({ admission, gate, demand, hot, cold, expectObservable }) => {
 *     const http = gate('http', 1);
 *     const out = hot('ab--------|').pipe(admission.admit(() => demand(http), () => cold('---x|')));
 *     expectObservable(out).toBe('---x---x--|');
 *   }));
 * ```
 *
 * @example One character is a second: a token bucket lets go by the clock alone
 * ```ts
 * admissionMarbles({ frame: 1_000 }, ({ admission, bucket, demand, hot, cold, expectObservable }) => {
 *   const gpt = bucket('gpt-5', 60);
 *   const out = hot('ab|').pipe(admission.admit((c) => demand([gpt, c === 'a' ? 60 : 5]), () => cold('(x|)')));
 *   expectObservable(out).toBe('x----(x|)');
 * });
 * ```
 *
 * @throws MarbleMismatch when something differs from its diagram.
 * @throws TypeError when the body answers a promise: virtual time cannot wait for it.
 */
export function admissionMarbles<T>(body: (marbles: AdmissionMarbles) => T): T;
export function admissionMarbles<T>(options: AdmissionMarblesOptions, body: (marbles: AdmissionMarbles) => T): T;
export function admissionMarbles<T>(
  ...args: [(marbles: AdmissionMarbles) => T] | [AdmissionMarblesOptions, (marbles: AdmissionMarbles) => T]
): T {
  const [options, body] = args.length === 1 ? [{}, args[0]] : args;
  const { frame = 1, ...admissionOptions } = options;
  if (!(frame > 0)) throw new RangeError(`a frame lasts a positive number of milliseconds, not ${frame}`);
  const expectations = new Expectations(frame);
  const scheduler = new TestScheduler(expectations.compare);
  const answer = scheduler.run((helpers) => {
    // `run` has set it to 1 and restores what was there before when it ends. Deprecated is the one it overrides.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    TestScheduler.frameTimeFactor = frame;
    const result = body(marblesOf(scheduler, helpers, expectations, admissionOptions));
    if (result instanceof Promise) throw new TypeError('a marble test runs in virtual time: its body cannot be async');
    return result;
  });
  expectations.throwFailures();
  expectations.throwUnfinished();
  return answer;
}

function marblesOf(
  scheduler: TestScheduler,
  helpers: RunHelpers,
  expectations: Expectations,
  options: Omit<AdmissionOptions, 'scheduler'>,
): AdmissionMarbles {
  const readings = new ReplaySubject<number>(1);
  const memory = options.memory ?? new MemoryGate({ heap: readings, collect: false, log: silent, scheduler });
  const admission = createAdmission({ ...options, memory, scheduler });
  let recent: AdmissionEvent[] = [];
  const remember = (event: AdmissionEvent): void => {
    recent = [...recent.filter(({ at }) => at === event.at), event];
  };
  admission.events$.subscribe({ next: remember, error: noop });
  return {
    ...helpers,
    flush: () => {
      helpers.flush();
      expectations.throwFailures();
    },
    expectObservable: expectations.expectObservable(scheduler),
    expectSubscriptions: expectations.expectSubscriptions(scheduler),
    admission,
    scheduler,
    demand,
    gate: (name, capacity) => new CountingGate({ name, capacity, scheduler }),
    bucket: (name, tokensPerMinute, extra) =>
      new TokenBucket({ log: silent, ...extra, name, tokensPerMinute, scheduler }),
    window: (name, maxRequests, baseWindow, extra) =>
      new ElasticWindow({ log: silent, ...extra, name, maxRequests, baseWindow, scheduler }),
    heap: (marbles, shares) => {
      if (options.memory !== undefined)
        throw new Error('this admission was given its memory gate, or none: no heap line');
      for (const [at, share] of letters(marbles, shares, 'heap')) {
        // What is read at frame 0 is known before anything can ask.
        if (at === 0) readings.next(share);
        else scheduler.schedule(() => readings.next(share), at);
      }
    },
    promise: (marbles, values, error) => VirtualPromise.of(helpers.cold(marbles, values, error), scheduler),
    signal: (marbles) => {
      const { unsubscribedFrame } = TestScheduler.parseMarblesAsSubscriptions(marbles, true);
      const controller = new AbortController();
      if (unsubscribedFrame !== Infinity) scheduler.schedule(() => controller.abort(), unsubscribedFrame);
      return controller.signal;
    },
    actions: (marbles, verbs) => {
      for (const [at, verb] of letters(marbles, verbs, 'actions')) scheduler.schedule(() => verb(), at);
    },
    events: (account) =>
      // What happened earlier in the same instant too: nobody has to write the expectation of events first.
      defer(() =>
        concat(
          recent.filter(({ at }) => at === scheduler.now()),
          admission.events$,
        ),
      ).pipe(
        filter((event) => account === undefined || event.account === account.name),
        map((event) => LETTERS[event.type]),
      ),
  };
}

/** The letters of a line that neither completes nor errors, each with its instant (ms) and its meaning. */
function letters<T>(marbles: string, values: Values<T>, line: string): [at: number, value: T][] {
  return TestScheduler.parseMarbles(marbles, undefined, undefined, false, true).map(({ frame, notification }) => {
    const letter = notification.kind === 'N' ? String(notification.value) : notification.kind === 'C' ? '|' : '#';
    const value = values[letter];
    if (value === undefined) throw new Error(`the ${line} line says "${letter}", which has no meaning`);
    return [frame, value];
  });
}

/** Accounts log what they learn; a test that asks for it passes a log of its own. */
const silent = { warn: noop, info: noop };
