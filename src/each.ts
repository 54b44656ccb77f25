/** Pulling from an iterable only as fast as its items are admitted, so that ten million rows never become waiters. */
import { Observable, type ObservableInput, type ObservedValueOf } from 'rxjs';
import { positiveInteger } from './accounts/validation.js';
import { Run, type AdmitOptions, type DemandOf } from './admit.js';
import type { Desk } from './desk.js';
import type { Grant } from './grant.js';
import { pullFrom } from './inner.js';

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
    const step = stepper(source, run);
    run.upstream = {
      unsubscribe: () => {
        step.stop();
      },
    };
    run.roomMade = () => {
      step.pullWhile(() => !run.closed && run.waiting.size < prefetch);
    };
    consumer.add(() => {
      run.tearDown();
    });
    run.roomMade();
  });
}

interface Stepper {
  /** Pulls on as long as `wanted`; never inside itself. */
  pullWhile(wanted: () => boolean): void;
  stop(): void;
}

function stepper<T>(source: Pullable<T>, run: Run<T>): Stepper {
  const pull = pullFrom<T>(source);
  let ended = false;
  let busy = false;
  const take = (result: IteratorResult<T>): void => {
    if (result.done === true) {
      ended = true;
      run.complete();
    } else run.next(result.value);
  };
  const fail = (error: unknown): void => {
    ended = true;
    run.error(error);
  };
  if (pull === null) {
    const iterator = (source as Iterable<T>)[Symbol.iterator]();
    return {
      pullWhile(wanted) {
        if (busy) return;
        busy = true;
        // A loop, not a recursion: a million items that end at once must not grow the stack.
        while (!ended && wanted()) {
          try {
            take(iterator.next());
          } catch (error) {
            fail(error);
          }
        }
        busy = false;
      },
      stop() {
        if (!ended) iterator.return?.();
        ended = true;
      },
    };
  }
  const pullWhile = (wanted: () => boolean): void => {
    if (busy || ended || !wanted()) return;
    busy = true;
    pull.next().then(
      (result) => {
        busy = false;
        if (ended) return;
        take(result);
        pullWhile(wanted);
      },
      (error: unknown) => {
        busy = false;
        if (!ended) fail(error);
      },
    );
  };
  return {
    pullWhile,
    stop() {
      if (!ended) pull.stop()?.then(undefined, () => undefined);
      ended = true;
    },
  };
}
