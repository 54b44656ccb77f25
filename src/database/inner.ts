/** What work may answer, as an observable whose end the grant waits for. */
import { Observable, from, type ObservableInput } from 'rxjs';
import type { Grant } from '../index.js';

/**
 * A promise cannot be torn down and keeps the grant until it settles; an async iterator is told to return in the turn of
 * the unsubscribe, and keeps the grant until it has.
 */
export function toObservable<R>(input: ObservableInput<R>, grant: Grant): Observable<R> {
  if (input instanceof Observable) return input;
  if (isPromiseLike(input)) {
    grant.until(input);
    return from(input);
  }
  return isAsyncIterable<R>(input) ? iterated(input, grant) : from(input);
}

export const isPromiseLike = <R>(value: unknown): value is PromiseLike<R> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';

const isAsyncIterable = <R>(value: unknown): value is AsyncIterable<R> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

function iterated<R>(iterable: AsyncIterable<R>, grant: Grant): Observable<R> {
  return new Observable((subscriber) => {
    const iterator = iterable[Symbol.asyncIterator]();
    let ended = false;
    subscriber.add(() => {
      if (ended) return;
      const stopping = Promise.resolve(iterator.return?.());
      grant.until(stopping);
      // Nobody listens any more: a failure while stopping has no reader.
      stopping.catch(() => undefined);
    });
    const pull = async (): Promise<void> => {
      try {
        while (!subscriber.closed) {
          const result = await iterator.next();
          if (result.done === true) break;
          subscriber.next(result.value);
        }
        ended = true;
        subscriber.complete();
      } catch (error) {
        ended = true;
        subscriber.error(error);
      }
    };
    void pull();
  });
}
