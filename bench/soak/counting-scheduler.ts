/** The library's own clock, with a count of the timers that are armed on it. */
import type { SchedulerAction, SchedulerLike, Subscription } from 'rxjs';
import { monotonicScheduler } from 'rx-admission';

export class CountingScheduler implements SchedulerLike {
  #armed = 0;

  get armed(): number {
    return this.#armed;
  }

  now(): number {
    return monotonicScheduler.now();
  }

  schedule<T>(work: (this: SchedulerAction<T>, state?: T) => void, delay = 0, state?: T): Subscription {
    let counted = true;
    this.#armed += 1;
    const over = (): void => {
      if (counted) this.#armed -= 1;
      counted = false;
    };
    const action = monotonicScheduler.schedule<T>(
      function (given) {
        over();
        work.call(this, given);
      },
      delay,
      state,
    );
    action.add(over);
    return action;
  }
}
