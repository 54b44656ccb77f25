/** The record of a grant: what was taken, by whom, and since when. It never refers to the `Grant` itself. */
import type { DemandEntry } from '../demand.js';
import type { Asking } from './line.js';

export class Holding {
  /** Amounts really used, where `charge` replaced an estimate. */
  readonly charged = new Map<DemandEntry, number>();
  /** Claimed by the first of release and rollback. */
  settled = false;
  #controller: AbortController | null = null;
  #abortedWith: { readonly reason: unknown } | null = null;

  constructor(
    readonly ask: Asking,
    readonly grantedAt: number,
    /** ms that each refusing account kept the job, by name. */
    readonly waitTimes: ReadonlyMap<string, number>,
  ) {}

  /** Made on first use: most jobs never look at it. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#abortedWith) this.#controller.abort(this.#abortedWith.reason);
    }
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    if (this.#abortedWith) return;
    this.#abortedWith = { reason };
    this.#controller?.abort(reason);
  }
}
