/** The record of one request, from asking until it is settled: what the fold works on, and the receipt of what it took. */
import type { Demand, DemandEntry } from '../demand.js';
import type { AdmissionError } from '../errors.js';
import type { Group } from './group.js';
import { inOrder, type Mark } from './waiter.js';

/**
 * `waiting`: asked, and not answered. `landed`: granted and debited, not yet handed over. `delivered`: the consumer's.
 * `over`: withdrawn, refused or settled.
 */
export type Stage = 'waiting' | 'landed' | 'delivered' | 'over';

/** What became of the signal of a grant; most jobs never look at it. */
interface Cut {
  controller: AbortController | null;
  aborted: boolean;
  reason: unknown;
}

export class Asking {
  stage: Stage = 'waiting';
  /** Where the line keeps it: its number in arrival order, its group (null for the head), and its slot there. */
  arrival = -1;
  group: Group | null = null;
  slot = -1;
  /** Not a number until it is granted. */
  grantedAt = NaN;
  /** The refusals of its wait, kept once it is over. */
  marks: Mark | null = null;
  /** The answer, where it is no. */
  refusal: AdmissionError | null = null;
  /** Amounts really used, where `charge` replaced an estimate. */
  charged: Map<DemandEntry, number> | null = null;
  #cut: Cut | null = null;

  constructor(
    /** What is asked of the line; less than was asked for where the rest is borrowed. */
    public demand: Demand,
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
    this.#cut ??= { controller: null, aborted: false, reason: undefined };
    const cut = this.#cut;
    if (cut.controller === null) {
      cut.controller = new AbortController();
      if (cut.aborted) cut.controller.abort(cut.reason);
    }
    return cut.controller.signal;
  }

  abort(reason: unknown): void {
    this.#cut ??= { controller: null, aborted: false, reason: undefined };
    const cut = this.#cut;
    if (cut.aborted) return;
    cut.aborted = true;
    cut.reason = reason;
    cut.controller?.abort(reason);
  }
}
