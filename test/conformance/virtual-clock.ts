/** The clock of a scenario: nothing happens but what is due, each thing at its own instant. */
import { VirtualAction, VirtualTimeScheduler } from 'rxjs';

/** More than any scenario comes to: an evaluator that spins on an instant must fail, not hang. */
const MOST_AT_ONCE = 1_000_000;

export class VirtualClock extends VirtualTimeScheduler {
  constructor(start: number) {
    super(VirtualAction, Infinity);
    this.frame = start;
  }

  /** Runs what is due up to and at `t`, then reads `t`. */
  advanceTo(t: number): void {
    for (let ran = 0; ; ran += 1) {
      const due = this.actions[0];
      if (due === undefined || due.delay > t) break;
      if (ran > MOST_AT_ONCE) throw new Error(`the timers do not come to rest at ${due.delay}`);
      this.actions.shift();
      this.frame = due.delay;
      const error: unknown = due.execute(due.state, due.delay);
      if (error !== undefined) throw new Error('a timer failed', { cause: error });
    }
    this.frame = t;
  }
}
