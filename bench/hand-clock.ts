/** A clock that is moved by hand, and knows how many timers are armed on it. */
import { Subscription, type SchedulerAction, type SchedulerLike } from 'rxjs';

interface Timer {
  readonly at: number;
  readonly fire: () => void;
}

export class HandClock implements SchedulerLike {
  readonly #timers = new Set<Timer>();
  #now = 0;
  #most = 0;

  armed(): number {
    return this.#timers.size;
  }

  /** The most that were armed at once. */
  get mostArmed(): number {
    return this.#most;
  }

  now(): number {
    return this.#now;
  }

  schedule<T>(work: (this: SchedulerAction<T>, state?: T) => void, delay = 0, state?: T): Subscription {
    const action = new Subscription() as SchedulerAction<T>;
    action.schedule = (nextState?: T, nextDelay = 0): Subscription => {
      const timer: Timer = {
        at: this.#now + nextDelay,
        fire: () => {
          this.#timers.delete(timer);
          work.call(action, nextState);
        },
      };
      this.#timers.add(timer);
      this.#most = Math.max(this.#most, this.#timers.size);
      action.add(() => {
        this.#timers.delete(timer);
      });
      return action;
    };
    return action.schedule(state, delay);
  }

  /** Sleeps until the earliest timer, and runs it. */
  sleep(): void {
    let first: Timer | null = null;
    for (const timer of this.#timers) if (first === null || timer.at < first.at) first = timer;
    if (first === null) throw new Error('nothing is armed');
    this.#now = first.at;
    first.fire();
  }
}
