/** Random choices that a seed repeats: a failure names its seed, and the same seed fails again. */

/** Mulberry32 (T. Ettinger, public domain): small, and random enough to choose steps with. */
export class Random {
  #state: number;

  constructor(readonly seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to, not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 up to, not including, `bound`. */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  /** Between `least` and `most` of the choices, any of them more than once; none where there are none. */
  some<T>(choices: readonly T[], least: number, most: number): T[] {
    if (choices.length === 0) return [];
    return Array.from({ length: least + this.below(most - least + 1) }, () => choices[this.below(choices.length)] as T);
  }
}
