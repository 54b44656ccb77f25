/** The outbox: what was decided is carried out in order, and never inside another delivery. */
import { reportUnhandled } from './unhandled.js';

/** Something to be carried out; it runs code of the user's. It stands in an outbox at most once at a time. */
export interface Delivery {
  /** The one behind it in the outbox. */
  after: Delivery | null;
  deliver(): void;
}

/** What has to be told besides answers. */
export class Notice implements Delivery {
  after: Delivery | null = null;

  constructor(readonly deliver: () => void) {}
}

export class Outbox {
  #first: Delivery | null = null;
  #last: Delivery | null = null;
  #busy = false;

  /** A delivery is under way: whatever is sent now is carried out after it. */
  get busy(): boolean {
    return this.#busy;
  }

  send(delivery: Delivery): void {
    if (this.#last === null) this.#first = delivery;
    else this.#last.after = delivery;
    this.#last = delivery;
  }

  /** Carries out everything that was sent, what is sent meanwhile included; inside a delivery it leaves that to it. */
  flush(): void {
    if (this.#busy || this.#first === null) return;
    this.#busy = true;
    for (let delivery = this.#take(); delivery !== null; delivery = this.#take()) {
      try {
        delivery.deliver();
      } catch (error) {
        // The rest of the line must not pay for one consumer.
        reportUnhandled(error);
      }
    }
    this.#busy = false;
  }

  /** Nothing is delivered until `release` gets the answer back. */
  hold(): boolean {
    const wasBusy = this.#busy;
    this.#busy = true;
    return wasBusy;
  }

  /** What was sent since `hold` goes now, in order. */
  release(wasBusy: boolean): void {
    this.#busy = wasBusy;
    this.flush();
  }

  #take(): Delivery | null {
    const delivery = this.#first;
    if (delivery === null) return null;
    this.#first = delivery.after;
    if (delivery.after === null) this.#last = null;
    delivery.after = null;
    return delivery;
  }
}
