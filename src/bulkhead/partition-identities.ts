/** One identity a key: what was handed out for a key is handed out again for as long as anybody can reach it. */

/** Entries looked at whenever one is added: two, so that the forgotten go faster than others come. */
const SWEPT = 2;

/**
 * Weakly remembered objects by key.
 *
 * A holder, a waiter and a mere look-up have one thing in common: each can reach the object. So it is remembered just that
 * long, and a key never has two that are alive, which no count of holders and waiters could promise.
 */
export class Identities<T extends object> {
  readonly #known = new Map<string, WeakRef<T>>();
  #cursor = this.#known.entries();

  /** How many are remembered, those included that nobody can reach any more and no sweep has met yet. */
  get size(): number {
    return this.#known.size;
  }

  get(key: string): T | undefined {
    return this.#known.get(key)?.deref();
  }

  /** Those that can be reached. */
  *values(): Generator<T> {
    for (const known of this.#known.values()) {
      const identity = known.deref();
      if (identity !== undefined) yield identity;
    }
  }

  add(key: string, identity: T): T {
    for (let n = 0; n < SWEPT; n += 1) this.#sweep();
    this.#known.set(key, new WeakRef(identity));
    return identity;
  }

  #sweep(): void {
    const { done, value } = this.#cursor.next();
    if (done === true) this.#cursor = this.#known.entries();
    else if (value[1].deref() === undefined) this.#known.delete(value[0]);
  }
}
