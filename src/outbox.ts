/** The outbox: what was decided is carried out in order, and never inside another delivery. */
import { reportUnhandled } from './unhandled.js';

/** Something to be carried out; it runs code of the user's. */
export interface Delivery {
  deliver(): void;
}

export class Outbox {
  #waiting: Delivery[] = [];
  #next = 0;
  #busy = false;

  /** A delivery is under way: whatever is sent now is carried out after it. */
  get busy(): boolean {
    return this.#busy;
  }

  send(delivery: Delivery): void {
    this.#waiting.push(delivery);
  }

  /** Carries out everything that was sent, what is sent meanwhile included; inside a delivery it leaves that to it. */
  flush(): void {
    if (this.#busy || this.#waiting.length === 0) return;
    this.#busy = true;
    try {
      for (let delivery = this.#take(); delivery !== undefined; delivery = this.#take()) {
        try {
          delivery.deliver();
        } catch (error) {
          // The rest of the line must not pay for one consumer.
          reportUnhandled(error);
        }
      }
    } finally {
      this.#busy = false;
    }
  }

  /** Nothing is delivered while `work` runs; what it sends goes in order after it. */
  hold<T>(work: () => T): T {
    if (this.#busy) return work();
    this.#busy = true;
    try {
      return work();
    } finally {
      this.#busy = false;
      this.flush();
    }
  }

  #take(): Delivery | undefined {
    const delivery = this.#waiting[this.#next];
    this.#next += 1;
    // Taken from the front by counting: a shift costs the length of a long array.
    if (this.#next >= this.#waiting.length) {
      this.#waiting.length = 0;
      this.#next = 0;
    }
    return delivery;
  }
}
