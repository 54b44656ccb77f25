/** A virtual clock that knows how many timers are pending: none may be left when nothing waits. */
import { VirtualAction, VirtualTimeScheduler, type SchedulerAction, type Subscription } from 'rxjs';

export class CountingScheduler extends VirtualTimeScheduler {
  /** The most that were pending at once. */
  peak = 0;
  readonly #pending = new Set<Subscription>();

  constructor() {
    super(VirtualAction, Infinity);
  }

  get pending(): number {
    return this.#pending.size;
  }

  override schedule<T>(work: (this: SchedulerAction<T>, state?: T) => void, delay = 0, state?: T): Subscription {
    const pending = this.#pending;
    const action: Subscription = super.schedule<T>(
      function (this: SchedulerAction<T>, given?: T) {
        pending.delete(action);
        work.call(this, given);
      },
      delay,
      state,
    );
    pending.add(action);
    action.add(() => pending.delete(action));
    this.peak = Math.max(this.peak, pending.size);
    return action;
  }

  /** Runs what is due up to and at `t`, then reads `t`. */
  advanceTo(t: number): void {
    for (let due = this.actions[0]; due !== undefined && due.delay <= t; due = this.actions[0]) {
      this.actions.shift();
      this.frame = Math.max(this.frame, due.delay);
      const error: unknown = due.execute(due.state, due.delay);
      if (error !== undefined) throw new Error('a timer failed', { cause: error });
    }
    this.frame = Math.max(this.frame, t);
  }
}
