/** A list whose members come and go in any order, each at the same cost however many there are, and stay in order. */

/** Shorter lists keep their gaps: closing them would cost more than it saves. */
const SHORT = 32;
/** A place for each member, and three that were left: then whoever leaves makes a third of another one move. */
const ROOMY = 4;

/** Invariant: each member knows its place; a place that was left stays empty until most are, and then all move up. */
export class Roster<T> implements Iterable<T> {
  size = 0;
  /** None before the first member: most rosters that a call has never get one. */
  #places: (T | null)[] = NONE;
  readonly #moved: (member: T, place: number) => void;

  /** `moved` tells a member its new place. */
  constructor(moved: (member: T, place: number) => void) {
    this.#moved = moved;
  }

  /** @returns its place, until it is told another one. */
  add(member: T): number {
    this.size += 1;
    if (this.#places !== NONE) return this.#places.push(member) - 1;
    // Not by a push, which would make a list for sixteen.
    this.#places = [member];
    return 0;
  }

  /** The place must be that of a member. */
  delete(place: number): void {
    const places = this.#places;
    this.size -= 1;
    places[place] = null;
    if (place === places.length - 1) while (places.length > 0 && places[places.length - 1] === null) places.pop();
    else if (places.length > SHORT && this.size * ROOMY < places.length) this.#moveUp();
  }

  /** Oldest first, as they are at the first step. */
  [Symbol.iterator](): Iterator<T> {
    return this.#places.filter((member) => member !== null).values();
  }

  #moveUp(): void {
    const places = this.#places;
    let next = 0;
    for (let place = 0; place < places.length; place += 1) {
      const member = places[place] ?? null;
      if (member === null) continue;
      places[next] = member;
      this.#moved(member, next);
      next += 1;
    }
    places.length = next;
  }
}

/** Nobody's, and never written to. */
const NONE: never[] = [];

/** The place of whoever is in no list. */
export const NOWHERE = -1;
