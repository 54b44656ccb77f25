/** The stamps of a sliding log: one per slot taken, oldest first, dropped from either end in constant time. */

/** Invariant: instants do not decrease. A stamp of exactly the given age has left (statement: `earliestFit` says so). */
export class Stamps {
  #instants: number[] = [];
  #first = 0;

  add(slots: number, at: number): void {
    for (let slot = 0; slot < slots; slot += 1) this.#instants.push(at);
  }

  /** Drops the stamps that are not after `instant`. */
  forgetUpTo(instant: number): void {
    while (this.#first < this.#instants.length && this.#oldestLive() <= instant) this.#first += 1;
    // Half of the array is behind us: move once, amortized constant.
    if (this.#first > 32 && this.#first * 2 > this.#instants.length) {
      this.#instants = this.#instants.slice(this.#first);
      this.#first = 0;
    }
  }

  /** How many are after `instant`; drops none, so that a status never loses a live stamp. */
  liveAfter(instant: number): number {
    let low = this.#first;
    let high = this.#instants.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#instants[middle] ?? Infinity) <= instant) low = middle + 1;
      else high = middle;
    }
    return this.#instants.length - low;
  }

  /** The instant of the k-th oldest (from 1). */
  oldest(k: number): number {
    return this.#instants[this.#first + k - 1] ?? Infinity;
  }

  /** Drops the `count` newest below the `keep` newest, which are a probe's. */
  drop(count: number, keep: number): void {
    const end = this.#instants.length - keep;
    const start = Math.max(this.#first, end - count);
    if (end > start) this.#instants.splice(start, end - start);
  }

  #oldestLive(): number {
    return this.#instants[this.#first] ?? Infinity;
  }
}
