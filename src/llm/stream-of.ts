/** An SDK's stream as an observable that stops the call when nobody listens any more. */
import { Observable } from 'rxjs';

/** What SDKs answer a streaming call with: events to iterate, and most often the controller of the request. */
export type SdkStream<T> = AsyncIterable<T> & { readonly controller?: AbortController | undefined };

/** A call that has not started; it is given the signal that aborts when nobody listens any more. */
export type StartStream<T> = (signal: AbortSignal) => PromiseLike<SdkStream<T>> | SdkStream<T>;

export interface StreamOptions {
  /** Aborts the call as well: a grant's signal. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The events of a streaming call. Each subscription starts one; unsubscribing aborts it.
 *
 * An abort is an error with the signal's reason, also where the SDK ends an aborted stream as if it were whole.
 *
 * @example
 * ```ts
 * admit(demandOf, (prompt, { signal }) => streamOf((signal) => client.chat.completions.create(body, { signal }), { signal }));
 * ```
 */
export function streamOf<T>(start: StartStream<T>, { signal: outer }: StreamOptions = {}): Observable<T> {
  return new Observable((subscriber) => {
    const controller = new AbortController();
    const { signal } = controller;
    const abort = (): void => {
      controller.abort(outer?.reason);
    };
    if (outer?.aborted) abort();
    outer?.addEventListener('abort', abort, { once: true });
    subscriber.add(() => {
      outer?.removeEventListener('abort', abort);
      controller.abort(new DOMException('nobody listens to the stream any more', 'AbortError'));
    });
    hand(start, signal, (event) => {
      subscriber.next(event);
    }).then(
      () => {
        subscriber.complete();
      },
      (error: unknown) => {
        subscriber.error(signal.aborted ? signal.reason : error);
      },
    );
  });
}

/** Hands the events on until the stream has ended; throws when it was aborted, however the SDK ends it then. */
async function hand<T>(start: StartStream<T>, signal: AbortSignal, next: (event: T) => void): Promise<void> {
  signal.throwIfAborted();
  const stream = await start(signal);
  const stop = (): void => {
    stream.controller?.abort(signal.reason);
  };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  for await (const event of stream) {
    // Leaving the loop tells the stream to return.
    signal.throwIfAborted();
    next(event);
  }
  signal.throwIfAborted();
}
