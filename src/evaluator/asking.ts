/** The record of one request, from asking until it is settled: what the fold works on, and the receipt of what it took. */
import type { Demand, DemandEntry } from '../demand.js';
import type { Group } from './group.js';
import { inOrder, type Mark } from './waiter.js';

/**
 * `waiting`: asked, and not answered. `landed`: granted and debited, not yet handed over. `delivered`: the consumer's.
 * `over`: withdrawn, refused or settled.
 */
export type Stage = 'waiting' | 'landed' | 'delivered' | 'over';

/** It never refers to the `Grant` that is handed out, so that one which is dropped can be noticed. */
export class Asking {
  stage: Stage = 'waiting';
  /** Where the line keeps it: its number in arrival order, its group (null for the head), and its slot there. */
  arrival = -1;
  group: Group | null = null;
  slot = -1;
  grantedAt = -1;
  /** The refusals of its wait, kept with the grant. */
  marks: Mark | null = null;
  /** Amounts really used, where `charge` replaced an estimate. */
  charged: Map<DemandEntry, number> | null = null;
  /** Its neighbours among those that hold something. */
  before: Asking | null = null;
  behind: Asking | null = null;
  /** Made on first use: most jobs never look at it. */
  #controller: AbortController | null = null;
  #abortedWith: { readonly reason: unknown } | null = null;

  constructor(
    readonly demand: Demand,
    readonly askedAt: number,
    /** The user's label or snapshot, taken at asking. */
    readonly job: unknown,
  ) {}

  /** From the first refusal on each account to the grant, whole ms, summed over accounts of one name. */
  get waitTimes(): ReadonlyMap<string, number> {
    const times = new Map<string, number>();
    for (const { account, since } of inOrder(this.marks)) {
      times.set(account.name, (times.get(account.name) ?? 0) + Math.floor(this.grantedAt - since));
    }
    return times;
  }

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
