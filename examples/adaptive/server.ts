/** A server with a knee, in virtual time: so many workers, and a queue before them that takes thirty. */
import { Observable, type SchedulerLike } from 'rxjs';

export class Overloaded extends Error {
  override name = 'Overloaded';
}

export class Server {
  /** Jobs served at once. It may change while jobs run. */
  workers = 20;
  #busy = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(
    readonly scheduler: SchedulerLike,
    /** ms of work in a job. */
    readonly service: number,
  ) {}

  call(): Observable<string> {
    return new Observable((subscriber) => {
      if (this.#waiting.length >= 30) {
        // A no is no quicker: callers who come back at once would be most of the load.
        subscriber.add(this.scheduler.schedule(() => { subscriber.error(new Overloaded()); }, this.service));
        return;
      }
      this.#waiting.push(() => {
        this.#busy += 1;
        this.scheduler.schedule(() => {
          this.#busy -= 1;
          subscriber.next('done');
          subscriber.complete();
          this.#serve();
        }, this.service);
      });
      this.#serve();
    });
  }

  #serve(): void {
    while (this.#busy < this.workers) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      next();
    }
  }
}
