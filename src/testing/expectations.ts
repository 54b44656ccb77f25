/** Keeps what a marble test expects until the scheduler compares, and fails at the line that expected it. */

import type { RunHelpers, TestScheduler } from 'rxjs/testing';
import type { Recorded, Subscribed } from './diagram.js';
import { MarbleMismatch, notificationsDiffer, subscriptionsDiffer } from './mismatch.js';

type Compare = (actual: unknown, expected: unknown) => string | null;

interface Expectation {
  readonly made: Error;
  compare: Compare | null;
  compared: boolean;
}

/** The expectations of one test, in the order in which they were made: the scheduler compares them in that order. */
export class Expectations {
  readonly #frame: number;
  readonly #all: Expectation[] = [];
  #failures: { readonly text: string; readonly made: Error }[] = [];

  constructor(frame: number) {
    this.#frame = frame;
  }

  /** What `TestScheduler` calls for each expectation; it hands over no more than the two sides. */
  readonly compare = (actual: unknown, expected: unknown): void => {
    const next = this.#all.find((one) => one.compare !== null && !one.compared);
    if (next?.compare == null) throw new Error("expect with the test's own helpers, not with those of its scheduler");
    next.compared = true;
    const text = next.compare(actual, expected);
    if (text !== null) this.#failures.push({ text: `${this.#which(next)}${text}`, made: next.made });
  };

  expectObservable(scheduler: TestScheduler): RunHelpers['expectObservable'] {
    return (observable, subscription = null) => {
      const expectation = this.#add();
      const inner = scheduler.expectObservable(observable, subscription);
      const differ =
        (values?: Readonly<Record<string, unknown>>): Compare =>
        (actual, expected) =>
          notificationsDiffer(expected as Recorded[], actual as Recorded[], this.#frame, values);
      return {
        toBe: (marbles, values?: Readonly<Record<string, unknown>>, error?: unknown) => {
          inner.toBe(marbles, values, error);
          expectation.compare = differ(values);
        },
        toEqual: (other) => {
          inner.toEqual(other);
          expectation.compare = differ();
        },
      };
    };
  }

  expectSubscriptions(scheduler: TestScheduler): RunHelpers['expectSubscriptions'] {
    return (logs) => {
      const expectation = this.#add();
      const inner = scheduler.expectSubscriptions(logs);
      return {
        toBe: (marbles) => {
          inner.toBe(marbles);
          expectation.compare = (actual, expected) =>
            subscriptionsDiffer(expected as Subscribed[], actual as Subscribed[], this.#frame);
        },
      };
    };
  }

  /** Throws what differed so far, all of it in one error, from the line of the first. */
  throwFailures(): void {
    const [first, ...more] = this.#failures;
    this.#failures = [];
    if (first === undefined) return;
    throw at(first.made, new MarbleMismatch([first, ...more].map(({ text }) => text).join('\n\n')));
  }

  /** An expectation that never said what it expects cannot fail, which is a mistake in the test. */
  throwUnfinished(): void {
    const unfinished = this.#all.find(({ compare }) => compare === null);
    if (unfinished !== undefined) {
      throw at(unfinished.made, new Error('an expectation has no diagram: call toBe or toEqual on it'));
    }
  }

  /** Which of several it is, and where it was written. */
  #which(expectation: Expectation): string {
    if (this.#all.length === 1) return '';
    const site = / \(?(?:.*[/\\])?([^/\\]+:\d+):\d+\)?$/.exec(callers(expectation.made)[0] ?? '')?.[1];
    return `expectation ${this.#all.indexOf(expectation) + 1}${site === undefined ? '' : ` (${site})`}: `;
  }

  #add(): Expectation {
    const expectation = { made: new Error('expected here'), compare: null, compared: false };
    this.#all.push(expectation);
    return expectation;
  }
}

// The comparison runs long after the expectation was written down; the stack of the latter is the one to look at.
function at(made: Error, error: Error): Error {
  const frames = callers(made);
  // Where stacks are written differently, the error keeps its own.
  if (frames.length > 0) error.stack = [`${error.name}: ${error.message}`, ...frames].join('\n');
  return error;
}

/** The frames of whoever wrote the expectation: the first two are #add and the function around it. */
const callers = (made: Error): string[] =>
  String(made.stack)
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(2);
