/** A promise that settles at an instant of virtual time, where a real one would need the microtasks of real time. */

import type { Observable, SchedulerLike } from 'rxjs';

interface Settle<T> {
  readonly fulfil: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Like a real promise it has begun already, cannot be cancelled, settles once, and calls nobody back in the turn in
 * which it is asked; unlike one, it calls back within the same virtual frame.
 */
export class VirtualPromise<T> implements PromiseLike<T> {
  readonly #scheduler: SchedulerLike;
  #waiting: Settle<T>[] = [];
  #deliver: ((to: Settle<T>) => void) | null = null;

  constructor(scheduler: SchedulerLike, begin: (settle: Settle<T>) => void) {
    this.#scheduler = scheduler;
    begin({
      fulfil: (value) => this.#settle((to) => to.fulfil(value)),
      reject: (error) => this.#settle((to) => to.reject(error)),
    });
  }

  /** Settles as `lastValueFrom` would. */
  static of<T>(source: Observable<T>, scheduler: SchedulerLike): VirtualPromise<T> {
    return new VirtualPromise(scheduler, ({ fulfil, reject }) => {
      let end = (): void => reject(new Error('the diagram of this promise ends without a value'));
      source.subscribe({ next: (value) => (end = () => fulfil(value)), error: reject, complete: () => end() });
    });
  }

  then<R = T, E = never>(
    fulfilled?: ((value: T) => R | PromiseLike<R>) | null,
    rejected?: ((error: unknown) => E | PromiseLike<E>) | null,
  ): PromiseLike<R | E> {
    return new VirtualPromise<R | E>(this.#scheduler, (next) => {
      const pass = (answer: () => R | E | PromiseLike<R | E>): void => {
        try {
          const value = answer();
          if (isPromiseLike<R | E>(value)) value.then(next.fulfil, next.reject);
          else next.fulfil(value);
        } catch (error) {
          next.reject(error);
        }
      };
      this.#when({
        // Without a handler of its own kind a settlement passes on unchanged: T is R then.
        fulfil: (value) => pass(() => (fulfilled ? fulfilled(value) : (value as unknown as R))),
        reject: (error) => (rejected ? pass(() => rejected(error)) : next.reject(error)),
      });
    });
  }

  #settle(deliver: (to: Settle<T>) => void): void {
    if (this.#deliver !== null) return;
    this.#deliver = deliver;
    for (const waiting of this.#waiting) this.#later(() => deliver(waiting));
    this.#waiting = [];
  }

  #when(settle: Settle<T>): void {
    const deliver = this.#deliver;
    if (deliver === null) this.#waiting.push(settle);
    else this.#later(() => deliver(settle));
  }

  #later(work: () => void): void {
    this.#scheduler.schedule(work);
  }
}

const isPromiseLike = <T>(value: T | PromiseLike<T>): value is PromiseLike<T> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
