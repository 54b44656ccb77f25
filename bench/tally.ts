/** Counts the jobs of a batch while they run, so that a batch which loses one, or runs too many at once, fails. */

export class Tally {
  #started = 0;
  #active = 0;
  #peak = 0;

  start(): void {
    this.#started += 1;
    this.#active += 1;
    if (this.#active > this.#peak) this.#peak = this.#active;
  }

  end(): void {
    this.#active -= 1;
  }

  /** Begins anew: all `n` ran and ended, never more than `atMost` at once, and so many at some time as keeps the line long. */
  check(who: string, n: number, atMost: number, atLeast = Math.min(n, atMost)): void {
    const [started, active, peak] = [this.#started, this.#active, this.#peak];
    this.#started = this.#active = this.#peak = 0;
    if (started !== n || active !== 0) throw new Error(`${who}: ${started} of ${n} jobs started, ${active} have not ended`);
    if (peak > atMost || peak < atLeast) throw new Error(`${who}: ${peak} jobs ran at once, not ${atLeast} to ${atMost}`);
  }
}
