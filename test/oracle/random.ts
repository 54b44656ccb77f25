/** A seeded source of choices: the same seed makes the same trace anywhere. */

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1): mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  /** From `least` to `most`, both included. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  of<T>(all: readonly T[]): T {
    const one = all[Math.floor(this.next() * all.length)];
    if (one === undefined) throw new Error('there is nothing to choose from');
    return one;
  }

  weighted<T extends string>(weights: Readonly<Partial<Record<T, number>>>): T {
    const all = Object.entries(weights) as [T, number][];
    let left = this.next() * all.reduce((total, [, weight]) => total + weight, 0);
    for (const [one, weight] of all) {
      left -= weight;
      if (left < 0) return one;
    }
    return all.at(-1)![0];
  }

  /** Some of them, in a random order. */
  some<T>(all: readonly T[], most: number): T[] {
    const rest = [...all];
    const taken: T[] = [];
    for (let left = this.whole(1, Math.max(1, Math.min(most, all.length))); left > 0 && rest.length > 0; left -= 1) {
      taken.push(...rest.splice(Math.floor(this.next() * rest.length), 1));
    }
    return taken;
  }
}
