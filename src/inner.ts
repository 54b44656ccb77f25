/** What `project` may answer, as an observable that can really be torn down. */
import { from, Observable, type ObservableInput } from 'rxjs';
import type { Grant } from './grant.js';
import { reportUnhandled } from './unhandled.js';

/**
 * Promises keep the grant until they settle: they cannot be torn down. Async iterables and streams are told to return in
 * the turn of the unsubscribe, and keep the grant until they really have.
 */
export function toObservable(input: ObservableInput<unknown>, grant: Grant | null): Observable<unknown> {
  if (input instanceof Observable) return input;
  if (isPromiseLike(input)) {
    const work = begun(input);
    if (grant) grant.until(work);
    // Where nobody subscribes any more, its failure has no reader.
    else work.then(undefined, () => undefined);
    return from(work);
  }
  const pull = pullFrom(input);
  return pull === null ? from(input) : drained(pull, grant);
}

/** The same work, begun once: a lazy thenable, such as a query builder, begins anew each time it is asked. */
function begun(work: PromiseLike<unknown>): PromiseLike<unknown> {
  if (work instanceof Promise) return work;
  const once: unknown = work.then((value) => value);
  return isPromiseLike(once) ? once : work;
}

/** A source of values that is asked for each, and can be told to stop. */
export interface Pull<T> {
  next(): PromiseLike<IteratorResult<T>>;
  /** Tells the source to stop, now; settles when it has. */
  stop(): PromiseLike<unknown> | undefined;
}

/** How to pull from an async iterable or a stream; null for anything else. */
export function pullFrom<T>(input: unknown): Pull<T> | null {
  if (isStream<T>(input)) {
    const reader = input.getReader();
    return {
      next: () => promised(() => reader.read() as PromiseLike<IteratorResult<T>>),
      stop: () => reader.cancel(),
    };
  }
  if (!isAsyncIterable<T>(input)) return null;
  const iterator = input[Symbol.asyncIterator]();
  return {
    next: () => promised(() => iterator.next()).then(answered),
    stop: () => {
      const stopping: unknown = iterator.return?.();
      return isPromiseLike(stopping) ? stopping : undefined;
    },
  };
}

/** As `for await` reads an iterator: what throws at once has failed, and what is no promise has settled. */
function promised<T>(next: () => PromiseLike<T> | T): PromiseLike<T> {
  try {
    const result = next();
    return isPromiseLike(result) ? result : Promise.resolve(result);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** What an iterator answered, read once. As in a loop over it, an answer that cannot be read is its failure. */
export function answered<T>(result: IteratorResult<T>): IteratorResult<T> {
  if (typeof result !== 'object' || (result as unknown) === null) {
    throw new TypeError(`an iterator must answer an object with done and value, not ${String(result as unknown)}`);
  }
  return result.done === true ? { done: true, value: undefined } : { done: false, value: result.value };
}

function drained(pull: Pull<unknown>, grant: Grant | null): Observable<unknown> {
  return new Observable((subscriber) => {
    let ended = false;
    const fail = (error: unknown): void => {
      ended = true;
      subscriber.error(error);
    };
    const step = (): void => {
      if (subscriber.closed) return;
      pull
        .next()
        .then((result) => {
          if (result.done === true) {
            ended = true;
            subscriber.complete();
            return;
          }
          subscriber.next(result.value);
          step();
        }, fail)
        .then(undefined, reportUnhandled);
    };
    subscriber.add(() => {
      if (ended) return;
      const stopping = pull.stop();
      if (stopping === undefined) return;
      grant?.until(stopping);
      // Nobody listens any more: a failure while stopping has no reader, and no place as an unhandled rejection.
      stopping.then(undefined, () => undefined);
    });
    step();
  });
}

export const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  (typeof value === 'object' || typeof value === 'function') &&
  value !== null &&
  typeof (value as { then?: unknown }).then === 'function';

interface StreamLike<T> {
  getReader(): { read(): PromiseLike<{ done: boolean; value?: T | undefined }>; cancel(): PromiseLike<unknown> };
}

const isStream = <T>(value: unknown): value is StreamLike<T> =>
  typeof value === 'object' && value !== null && typeof (value as { getReader?: unknown }).getReader === 'function';

const isAsyncIterable = <T>(value: unknown): value is AsyncIterable<T> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
