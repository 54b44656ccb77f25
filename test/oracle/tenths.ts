/** A throttle counted in tenths: signals raise it, successes relax it. */

const QUIET = 5 * 60_000;
const HIGHEST = 90;

export class Tenths {
  value = 0;
  #successes = 0;
  #lastSignal = 0;

  raise(by: number, at: number): void {
    this.value = Math.min(HIGHEST, this.value + by);
    this.#lastSignal = at;
  }

  get highest(): boolean {
    return this.value === HIGHEST;
  }

  /** Whether it relaxed. A success on a healthy account is not counted. */
  success(at: number): boolean {
    if (this.value === 0) return false;
    if (at - this.#lastSignal >= QUIET) {
      this.value = Math.max(0, this.value - 5);
      return true;
    }
    this.#successes += 1;
    if (this.#successes % 3 !== 0) return false;
    this.value = Math.max(0, this.value - 2);
    return true;
  }

  get indicator(): string | null {
    return this.value === 0 ? null : `throttle:${((10 + this.value) / 10).toFixed(1)}x`;
  }
}
