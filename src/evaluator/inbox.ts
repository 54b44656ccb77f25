/** The inbox: a private trampoline, so that changes enter the fold one at a time, in order, even re-entrantly. */
import { Observable, type MonoTypeOperatorFunction } from 'rxjs';

/**
 * Delivers the values that arrive during a delivery after it, in order. Private on purpose: `queueScheduler` is shared by
 * the whole program, and an unrelated throw inside it would drop what waits there; a dropped release is a permit lost.
 *
 * `emptied` runs whenever the inbox is empty again: outside any delivery, so what it starts may come back in at once.
 */
export function oneAtATime<T>(emptied: () => void): MonoTypeOperatorFunction<T> {
  return (source) =>
    new Observable((subscriber) => {
      const waiting: T[] = [];
      let busy = false;
      return source.subscribe({
        next(value) {
          if (busy) {
            waiting.push(value);
            return;
          }
          busy = true;
          try {
            subscriber.next(value);
            for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) subscriber.next(next);
          } finally {
            busy = false;
          }
          emptied();
        },
        error(error: unknown) {
          subscriber.error(error);
        },
        complete() {
          subscriber.complete();
        },
      });
    });
}
