/** Pulling from an iterable only as fast as its items are admitted, so that ten million rows never become waiters. */
import { Observable, type ObservableInput, type ObservedValueOf } from 'rxjs';
import { positiveInteger } from './accounts/validation.js';
import type { AdmitOptions, DemandOf } from './admit.js';
import type { Desk } from './desk.js';
import type { Grant } from './grant.js';
import { answered, pullFrom, type Pull } from './inner.js';
import { Run } from './run.js';
import { reportUnhandled } from './unhandled.js';

/** What can be pulled from: the type of Node's and the browsers' `ReadableStream` comes to no more than this. */
export type Pullable<T> =
  | Iterable<T>
  | AsyncIterable<T>
  | { getReader(): { read(): PromiseLike<{ done: boolean; value?: T | undefined }>; cancel(): PromiseLike<unknown> } };

export interface EachOptions<T = unknown, R extends ObservableInput<unknown> = ObservableInput<never>>
  extends AdmitOptions<T, R> {
  /** Items that may wait in line at once (default 1); no more are pulled meanwhile. */
  readonly prefetch?: number | undefined;
}

/** `admission.each`: see there. */
export function eachOf<T, O extends ObservableInput<unknown>, R extends ObservableInput<unknown>>(
  desk: Desk,
  source: Pullable<T>,
  demand: DemandOf<T>,
  project: (item: T, grant: Grant, index: number) => O,
  { prefetch = 1, ...options }: EachOptions<T, R> = {},
): Observable<ObservedValueOf<O> | ObservedValueOf<R>> {
  positiveInteger('prefetch', prefetch);
  return new Observable((consumer) => {
    const run = new Run<T>(desk, demand, project, options, consumer);
    const step = stepper(source, run, () => !run.closed && run.waiting < prefetch);
    run.upstream = {
      unsubscribe: () => {
        step.stop();
      },
    };
    run.roomMade = () => {
      step.pullOn();
    };
    consumer.add(() => {
      run.tearDown();
    });
    step.pullOn();
  });
}

interface Stepper {
  /** Pulls on as long as the line has room; never inside itself. */
  pullOn(): void;
  /** Leaves the source, now. */
  stop(): void;
}

function stepper<T>(source: Pullable<T>, run: Run<T>, hasRoom: () => boolean): Stepper {
  const pull = pullFrom<T>(source);
  return pull === null ? iterating(source as Iterable<T>, run, hasRoom) : awaiting(pull, run, hasRoom);
}

function iterating<T>(source: Iterable<T>, run: Run<T>, hasRoom: () => boolean): Stepper {
  const iterator = source[Symbol.iterator]();
  let ended = false;
  let busy = false;
  let inNext = false;
  const wasLeft = (): boolean => ended;
  const pulled = (): IteratorResult<T> | null => {
    inNext = true;
    try {
      return answered(iterator.next());
    } catch (error) {
      // Unless it was left while it ran: then there is nobody to tell.
      if (!wasLeft()) fail(error);
      return null;
    } finally {
      inNext = false;
    }
  };
  const fail = (error: unknown): void => {
    ended = true;
    run.error(error);
  };
  return {
    pullOn() {
      if (busy) return;
      busy = true;
      // A loop, not a recursion: a million items that end at once must not grow the stack.
      while (!ended && hasRoom()) {
        const result = pulled();
        if (result === null) break;
        if (wasLeft()) {
          if (result.done !== true) iterator.return?.();
        } else if (result.done === true) {
          ended = true;
          run.complete();
        } else run.next(result.value);
      }
      busy = false;
    },
    stop() {
      if (ended) return;
      ended = true;
      // An iterator cannot be left from inside its own `next`: that is done once it has answered.
      if (!inNext) iterator.return?.();
    },
  };
}

function awaiting<T>(pull: Pull<T>, run: Run<T>, hasRoom: () => boolean): Stepper {
  let ended = false;
  let busy = false;
  const take = (result: IteratorResult<T>): void => {
    busy = false;
    if (ended) return;
    if (result.done === true) {
      ended = true;
      run.complete();
      return;
    }
    run.next(result.value);
    pullOn();
  };
  const fail = (error: unknown): void => {
    if (ended) return;
    ended = true;
    run.error(error);
  };
  const pullOn = (): void => {
    if (busy || ended || !hasRoom()) return;
    busy = true;
    pull.next().then(take, fail).then(undefined, reportUnhandled);
  };
  return {
    pullOn,
    stop() {
      if (ended) return;
      ended = true;
      // Nobody listens any more: a failure while stopping has no reader.
      pull.stop()?.then(undefined, () => undefined);
    },
  };
}
