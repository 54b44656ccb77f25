/** A value that is seen again and again: its mean, how far it strays, and how far off the guesses at it were. */

/** RFC 6298: an eighth of each new sample goes into the mean, a quarter into the deviation. */
const INTO_MEAN = 1 / 8;
const INTO_DEVIATION = 1 / 4;
/** Half of what RFC 6298 adds: a guess too low costs a debt that time repays, not a spurious retransmission. */
const DEVIATIONS = 2;
/** Fewer say little about how far a value strays. */
const ENOUGH = 5;

export class Learned {
  count = 0;
  #mean = 0;
  #deviation = 0;
  #error = 0;

  /** `error`: by which share of the truth the guess had missed it. */
  add(sample: number, error: number): void {
    this.count += 1;
    // Until there are eight, the plain mean of all: the first one does not outweigh the rest.
    const into = (share: number): number => Math.max(share, 1 / this.count);
    const miss = Math.abs(sample - this.#mean);
    if (this.count > 1) this.#deviation += (miss - this.#deviation) * Math.max(INTO_DEVIATION, 1 / (this.count - 1));
    this.#mean += (sample - this.#mean) * into(INTO_MEAN);
    this.#error += (Math.abs(error) - this.#error) * into(INTO_MEAN);
  }

  /** What to reckon with; null while too little was seen. */
  get expected(): number | null {
    return this.count < ENOUGH ? null : this.#mean + DEVIATIONS * this.#deviation;
  }

  /** How far the guesses were off, as a share of the truth. */
  get error(): number {
    return this.#error;
  }
}
