/** The account of the heap: it shuts at 95 %, opens below 90 %, and lets its line go one at a time. */
import { EMPTY, Observable, share, type Subscription, type TeardownLogic } from 'rxjs';
import { AbstractAccount, type AccountOptions, type Log } from './account.js';
import {
  completed,
  fresh,
  latchMoved,
  looked,
  mayRelease,
  pacedUntil,
  penaltyNow,
  RECHECK,
  released,
  type Pacing,
} from './memory-pacing.js';
import { MemoryStatus, type MemoryZone } from './statuses.js';
import { defaultHeap, type HeapPort, type HeapReading } from '#platform';

/** A collection is asked for at most twice a minute. */
const COLLECT_INTERVAL = 30_000;

export interface MemoryGateOptions extends AccountOptions {
  /**
   * Where readings come from: a function asked at every look, or an observable whose every value causes a pass. A number
   * is the used share of the heap (0 to 1). Unless given, the process's own old space, after its last major collection.
   */
  readonly heap?: (() => number | HeapReading) | Observable<number | HeapReading> | undefined;
  /**
   * Asked to collect garbage when the gate is latched with nothing in flight: nothing then allocates, so nothing
   * collects, and the reading would never fall. `false` turns it off. Unless given, and only with the default heap:
   * `globalThis.gc` where exposed, else the inspector. At most twice a minute. V8 flags are never touched.
   */
  readonly collect?: (() => void | Promise<void>) | false | undefined;
  readonly log?: Log | undefined;
}

/**
 * The heap as an account. A demand with entries meets it first, at every attempt; it asks for no amount.
 *
 * @example
 * ```ts
 * const { admit } = createAdmission({ memory: new MemoryGate() });
 * ```
 */
export class MemoryGate extends AbstractAccount {
  override readonly category = 'memory';
  /** Emits when a reading was pushed: the line is looked at again. */
  readonly readings: Observable<void>;
  readonly #port: HeapPort;
  readonly #collect: (() => void | Promise<void>) | undefined;
  readonly #log: Log;
  readonly #suppliers = new Set<() => number>();
  #pushed: HeapReading | null = null;
  #brokenBy: { readonly error: unknown } | null = null;
  #watching: (() => void) | null = null;
  #pacing: Pacing = fresh;
  #last: HeapReading = { used: 0, max: 1 };
  #latchedAt = -Infinity;
  #collectedAt = -Infinity;
  #inFlight = 0;
  #stopping = false;
  #seen = 0;

  constructor(options: MemoryGateOptions = {}) {
    super('memory', options);
    const { heap, collect } = options;
    this.#log = options.log ?? console;
    this.#port = this.#portOf(heap);
    this.#collect = collect === false ? undefined : (collect ?? this.#port.collect);
    this.readings = heap instanceof Observable ? this.#pushes(heap).pipe(share()) : EMPTY;
  }

  get capacity(): number {
    return this.#last.max;
  }

  get latched(): boolean {
    return this.#pacing.latched;
  }

  get isStopping(): boolean {
    return this.#stopping;
  }

  inUse(): number {
    return this.#last.used;
  }

  fits(_mine: readonly number[], _reservedAhead: readonly number[], at: number): boolean {
    if (this.#stopping) return true;
    this.#look(at);
    this.#moveLatch(at);
    if (this.latched && this.#collectGarbage(at)) {
      this.#look(at);
      this.#moveLatch(at);
    }
    return mayRelease(this.#pacing, this.#line(), at);
  }

  tryTake(_mine: readonly number[], _reservedAhead: readonly number[], at: number): boolean {
    if (!this.#stopping) {
      this.#look(at);
      this.#moveLatch(at);
      if (!mayRelease(this.#pacing, this.#line(), at)) return false;
      this.#pacing = released(this.#pacing, at);
    }
    this.#inFlight += 1;
    return true;
  }

  /** One completion: it lets the next of the line go at once. */
  give(_amounts: readonly number[], _at: number): void {
    this.#inFlight = Math.max(0, this.#inFlight - 1);
    this.#pacing = completed(this.#pacing);
    this.capacityChanged();
  }

  /** Latched: the next re-check. Paced: the end of the delay or the next re-check. Null when nothing paces. */
  earliestFit(_mine: readonly number[], _reservedAhead: readonly number[], at: number): number | null {
    if (this.#stopping) return at;
    if (this.latched) return at + RECHECK;
    this.#look(at);
    const until = pacedUntil(this.#pacing, this.#line());
    return until === null ? null : Math.min(until, at + RECHECK);
  }

  /** Answers yes to everyone from here on, and wakes the line. */
  stop(): void {
    if (this.#stopping) return;
    this.#stopping = true;
    this.capacityChanged();
  }

  override observeHeld(held: () => number): TeardownLogic {
    this.#suppliers.add(held);
    this.#watching ??= this.#port.watch?.() ?? null;
    return () => {
      this.#suppliers.delete(held);
      if (this.#suppliers.size > 0) return;
      this.#watching?.();
      this.#watching = null;
    };
  }

  status(at = this.now(this.#seen)): MemoryStatus {
    this.#look(at);
    return this.#describe(at);
  }

  #describe(at: number): MemoryStatus {
    const { reading, floor } = this.#pacing;
    const until = this.latched ? null : pacedUntil(this.#pacing, this.#line());
    return new MemoryStatus(
      this.#last.used,
      this.#last.max,
      reading,
      floor,
      this.#zone(),
      this.#line(),
      until === null ? 0 : Math.max(0, Math.ceil(until - at)),
      penaltyNow(this.#pacing),
    );
  }

  override statusIndicator(at = this.now(this.#seen)): string | null {
    if (this.#stopping) return null;
    if (this.latched) return 'blocked';
    this.#look(at);
    const until = pacedUntil(this.#pacing, this.#line());
    return until === null || until <= at ? null : `pace:${String(Math.ceil(until - at))}ms`;
  }

  #zone(): MemoryZone {
    if (this.latched) return 'CRITICAL';
    return this.#line() > 0 ? 'DRAINING' : 'GREEN';
  }

  #line(): number {
    let held = 0;
    for (const supplier of this.#suppliers) held += supplier();
    return held;
  }

  #look(at: number): void {
    this.#seen = Math.max(this.#seen, at);
    const reading = this.#port.read();
    const ratio = reading.used / reading.max;
    if (!(ratio >= 0)) throw new RangeError(`memory: a heap reading must be a share from 0 up, not ${String(ratio)}`);
    this.#last = reading;
    this.#pacing = looked(this.#pacing, ratio);
  }

  #moveLatch(at: number): void {
    const before = this.#pacing;
    this.#pacing = latchMoved(before);
    if (this.#pacing === before) return;
    if (this.latched) {
      this.#latchedAt = at;
      // Of the look that moved it: another one could read otherwise.
      this.#log.warn(`memory: latch set: ${this.#describe(at).summary()}`);
    } else this.#log.info(`memory: latch cleared: ${this.#describe(at).summary()}`);
  }

  /** Whether a collection ran: only under a latch that outlived a re-check, with nobody in flight who could free it. */
  #collectGarbage(at: number): boolean {
    if (this.#collect === undefined || this.#inFlight > 0) return false;
    if (at - this.#latchedAt < RECHECK || at - this.#collectedAt < COLLECT_INTERVAL) return false;
    this.#collectedAt = at;
    try {
      const pending = this.#collect();
      // A collection that took its time is a change: whoever waits is looked at as it ends, not two seconds later.
      if (pending)
        pending.then(() => {
          this.capacityChanged();
        }, this.#collectFailed);
    } catch (error) {
      this.#collectFailed(error);
    }
    return true;
  }

  readonly #collectFailed = (error: unknown): void => {
    this.#log.warn(`memory: the collection that was asked for failed: ${String(error)}`);
  };

  #portOf(heap: MemoryGateOptions['heap']): HeapPort {
    if (heap === undefined) return defaultHeap();
    if (heap instanceof Observable) return { read: () => this.#lastPushed() };
    return { read: () => asReading(heap()) };
  }

  #lastPushed(): HeapReading {
    if (this.#brokenBy) throw this.#brokenBy.error;
    // Before the first reading nothing is known against anyone.
    return this.#pushed ?? { used: 0, max: 1 };
  }

  #pushes(heap: Observable<number | HeapReading>): Observable<void> {
    return new Observable<void>((subscriber): Subscription =>
      heap.subscribe({
        next: (reading) => {
          this.#pushed = asReading(reading);
          subscriber.next();
        },
        error: (error: unknown) => {
          // The gate cannot read any more: every look says so, and refuses its waiter.
          this.#brokenBy = { error };
          subscriber.next();
        },
      }),
    );
  }
}

const asReading = (reading: number | HeapReading): HeapReading =>
  typeof reading === 'number' ? { used: reading, max: 1 } : reading;
