/** Time: a monotonic default clock, one clock per account, and the one timer of an admission. */
import { Subscription, type SchedulerAction, type SchedulerLike } from 'rxjs';

/** The longest delay a JavaScript timer keeps; a longer one fires at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

let lastRaw = 0;
let shift = 0;

/** Monotonic even when fake timers take `performance` over and start it again from zero. */
function monotonicNow(): number {
  const raw = performance.now();
  // Up to whole milliseconds: a fake clock that starts at zero then stays on them.
  if (raw < lastRaw) shift += Math.ceil(lastRaw - raw);
  lastRaw = raw;
  return raw + shift;
}

/**
 * The default clock and timer: monotonic, so a wall clock that jumps changes nothing; a delay of any length is kept.
 *
 * Globals are looked up at every call, so fake timers that replace them are honoured.
 */
export const monotonicScheduler: SchedulerLike = {
  now: monotonicNow,
  schedule<T>(work: (this: SchedulerAction<T>, state?: T) => void, delay = 0, state?: T): Subscription {
    const action = new Subscription() as SchedulerAction<T>;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const runIn = (left: number, nextState?: T): void => {
      const step = Math.min(left, LONGEST_TIMER);
      timer = setTimeout(() => {
        if (step < left) runIn(left - step, nextState);
        else work.call(action, nextState);
      }, step);
    };
    action.schedule = (nextState?: T, nextDelay = 0): Subscription => {
      clearTimeout(timer);
      // What was unsubscribed inside its own work stays so.
      if (!action.closed) runIn(Math.ceil(nextDelay), nextState);
      return action;
    };
    action.add(() => {
      clearTimeout(timer);
    });
    return action.schedule(state, delay);
  },
};

const clocks = new WeakMap<object, SchedulerLike>();

/** The clock that an account is bound to, once something bound it. */
export function clockOf(account: object): SchedulerLike | undefined {
  return clocks.get(account);
}

/**
 * Binds accounts to the clock that tells them the time: their constructors', or that of the first admission naming them.
 *
 * @throws Error when one is bound to another: its stamps would be read on a clock that did not make them. None is bound then.
 */
export function bindClock(scheduler: SchedulerLike, ...accounts: readonly (object & { readonly name?: string })[]): void {
  for (const account of accounts) {
    const bound = clocks.get(account);
    if (bound === undefined || bound === scheduler) continue;
    throw new Error(
      `account ${String(account.name)} already runs on another clock: give it and every admission that names it the same scheduler`,
    );
  }
  for (const account of accounts) clocks.set(account, scheduler);
}

/** Something to do at an instant; `cancel` forgets it. */
export interface Alarm {
  readonly at: number;
  cancel(): void;
}

interface Entry extends Alarm {
  /** Place in the order of setting: at one instant, what was set first runs first. */
  readonly turn: number;
  run: (() => void) | null;
  queued: boolean;
}

const isBefore = (one: Entry, other: Entry): boolean => one.at < other.at || (one.at === other.at && one.turn < other.turn);

/**
 * Every instant an admission waits for, behind one timer, and none while nothing is pending.
 *
 * A binary heap by instant. A cancelled entry stays until it surfaces, or until the cancelled outnumber the rest.
 */
export class Alarms {
  readonly #scheduler: SchedulerLike;
  #heap: Entry[] = [];
  #cancelled = 0;
  #turns = 0;
  #timer: Subscription | null = null;
  #armedFor = Infinity;

  constructor(scheduler: SchedulerLike) {
    this.#scheduler = scheduler;
  }

  /** Runs `run` once the clock reads `at` or later; never inside this call. */
  set(at: number, run: () => void): Alarm {
    const entry: Entry = {
      at,
      turn: (this.#turns += 1),
      run,
      queued: true,
      cancel: () => {
        entry.run = null;
        if (!entry.queued) return;
        entry.queued = false;
        this.#cancelled += 1;
        this.#tidy();
      },
    };
    this.#push(entry);
    this.#arm();
    return entry;
  }

  #tidy(): void {
    if (this.#cancelled * 2 > this.#heap.length) {
      const live = this.#heap.filter((entry) => entry.queued);
      this.#heap = [];
      this.#cancelled = 0;
      for (const entry of live) this.#push(entry);
    } else this.#dropCancelled();
    this.#arm();
  }

  #dropCancelled(): void {
    while (this.#heap[0]?.queued === false) {
      this.#pop();
      this.#cancelled -= 1;
    }
  }

  /** Arms the timer for the earliest instant; leaves it alone when it is armed for that one already. */
  #arm(): void {
    const next = this.#heap[0]?.at ?? Infinity;
    if (next === this.#armedFor) return;
    this.#timer?.unsubscribe();
    this.#armedFor = next;
    if (next === Infinity) {
      this.#timer = null;
      return;
    }
    // At least one unit: an instant that stays due must not spin. Rounded up: a timer that is early finds nothing.
    const delay = Math.max(1, Math.ceil(next - this.#scheduler.now()));
    try {
      this.#timer = this.#scheduler.schedule(() => {
        this.#fire();
      }, Math.min(delay, LONGEST_TIMER));
    } catch (error) {
      // Armed for nothing: the next alarm tries again.
      this.#armedFor = Infinity;
      throw error;
    }
  }

  #fire(): void {
    this.#timer = null;
    this.#armedFor = Infinity;
    const now = this.#scheduler.now();
    const due: Entry[] = [];
    for (let first = this.#heap[0]; first && (!first.queued || first.at <= now); first = this.#heap[0]) {
      this.#pop();
      if (first.queued) due.push(first);
      else this.#cancelled -= 1;
      first.queued = false;
    }
    let ran = 0;
    try {
      // An earlier one may have cancelled a later one: its `run` is then null.
      for (const entry of due) {
        ran += 1;
        entry.run?.();
      }
    } finally {
      // One that throws costs nobody else: those behind it are due still.
      for (const entry of due.slice(ran)) {
        if (entry.run === null) continue;
        entry.queued = true;
        this.#push(entry);
      }
      this.#arm();
    }
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let child = heap.length;
    heap.push(entry);
    while (child > 0) {
      const parent = (child - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || isBefore(above, entry)) break;
      heap[child] = above;
      child = parent;
    }
    heap[child] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let parent = 0;
    for (;;) {
      let child = 2 * parent + 1;
      let below = heap[child];
      if (below === undefined) break;
      const sibling = heap[child + 1];
      if (sibling !== undefined && isBefore(sibling, below)) {
        child += 1;
        below = sibling;
      }
      if (isBefore(last, below)) break;
      heap[parent] = below;
      parent = child;
    }
    heap[parent] = last;
  }
}
