/** A list whose members come and go in any order, each at the same cost however many there are. */

/** A member's place in one list; whoever keeps it can leave. */
export interface Link<T> {
  readonly member: T;
  before: Link<T> | null;
  behind: Link<T> | null;
}

export class Chain<T> implements Iterable<T> {
  size = 0;
  #first: Link<T> | null = null;
  #last: Link<T> | null = null;

  add(member: T): Link<T> {
    const link: Link<T> = { member, before: this.#last, behind: null };
    if (this.#last === null) this.#first = link;
    else this.#last.behind = link;
    this.#last = link;
    this.size += 1;
    return link;
  }

  /** The link must be one of this list's, and leaves it once. */
  delete({ before, behind }: Link<T>): void {
    if (before === null) this.#first = behind;
    else before.behind = behind;
    if (behind === null) this.#last = before;
    else behind.before = before;
    this.size -= 1;
  }

  /** Oldest first, as they are at the first step. */
  *[Symbol.iterator](): Iterator<T> {
    const members: T[] = [];
    for (let link = this.#first; link !== null; link = link.behind) members.push(link.member);
    yield* members;
  }
}
