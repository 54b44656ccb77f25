/** Those that hold a grant, as records: who is held for how long is asked often, and they end in any order. */
import type { Asking } from './asking.js';

/** Those that hold something, in no order that matters; entering and leaving cost the same however many there are. */
export class Held implements Iterable<Asking> {
  size = 0;
  #first: Asking | null = null;

  add(ask: Asking): void {
    ask.behind = this.#first;
    if (this.#first !== null) this.#first.before = ask;
    this.#first = ask;
    this.size += 1;
  }

  delete(ask: Asking): void {
    const { before, behind } = ask;
    if (before === null) this.#first = behind;
    else before.behind = behind;
    if (behind !== null) behind.before = before;
    ask.before = null;
    ask.behind = null;
    this.size -= 1;
  }

  /** Oldest first. */
  *[Symbol.iterator](): Iterator<Asking> {
    const list: Asking[] = [];
    for (let ask = this.#first; ask !== null; ask = ask.behind) list.push(ask);
    yield* list.reverse();
  }
}
