/** The memory gate, from the rules: a latch, a line let out one by one, a delay by the heap, a penalty for growth. */
import type { ModelAccount } from './account.js';

const CURVE_START = 0.8;
const LATCH = 0.95;
const RECOVERY = 0.9;
const SHORTEST = 50;
const LONGEST = 30_000;
const LONGEST_DELAY = 3_600_000;
const HIGHEST_PENALTY = 72_000;
const RECHECK = 2000;

interface Release {
  readonly at: number;
  readonly floor: number;
}

export class ModelMemory implements ModelAccount {
  readonly name = 'memory';
  readonly category = 'memory';
  readonly replenishment = 'release';
  readonly capacity = 1;
  wake = (): void => undefined;
  latched = false;
  #stopped = false;
  #previous: number | null = null;
  #floor = 0;
  #committed = 1;
  #delay = 0;
  #last: Release | null = null;
  #beforeLast: Release | null = null;
  #completed = false;

  constructor(
    private readonly heap: () => number,
    /** How many wait for it. */
    private readonly line: () => number,
  ) {}

  fits(_mine: readonly number[], _ahead: readonly number[], at: number): boolean {
    if (this.#stopped) return true;
    const reading = this.#look();
    if (reading >= LATCH) this.latched = true;
    else if (reading < RECOVERY) this.latched = false;
    return !this.latched && !this.#paces(at);
  }

  tryTake(mine: readonly number[], ahead: readonly number[], at: number): boolean {
    if (this.#stopped) return true;
    if (!this.fits(mine, ahead, at)) return false;
    this.#committed = this.#penalty;
    this.#beforeLast = this.#last;
    this.#last = { at, floor: this.#floor };
    this.#completed = false;
    return true;
  }

  /** One job has ended. */
  give(): void {
    this.#completed = true;
    this.wake();
  }

  earliestFit(_mine: readonly number[], _ahead: readonly number[], at: number): number | null {
    if (this.#stopped) return at;
    if (this.latched) return at + RECHECK;
    this.#look();
    if (this.#last === null || this.line() === 0 || this.#completed) return null;
    return Math.min(this.#last.at + this.#delay, at + RECHECK);
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.wake();
  }

  inUse(): number {
    return 0;
  }

  indicator(at: number): string | null {
    if (this.#stopped) return null;
    if (this.latched) return 'blocked';
    this.#look();
    const left = this.#left(at);
    return left > 0 ? `pace:${left}ms` : null;
  }

  property(name: string, at: number): unknown {
    if (name === 'latched') return this.latched;
    const reading = this.#look();
    switch (name) {
      case 'usageRatio':
        return reading;
      case 'floor':
      case 'floorRatio':
        return this.#floor;
      case 'zone':
        if (this.latched) return 'CRITICAL';
        return this.line() > 0 ? 'DRAINING' : 'GREEN';
      case 'heldOnMemory':
        return this.line();
      case 'pacingDelayMs':
        return this.#left(at);
      case 'penalty':
      case 'growthPenalty':
        return this.#penalty;
      default:
        return undefined;
    }
  }

  /** Every question reads the heap; a reading below the one before it is the new floor. */
  #look(): number {
    const reading = this.heap();
    if (this.#previous === null || reading < this.#previous) this.#floor = reading;
    this.#previous = reading;
    this.#delay = Math.min(LONGEST_DELAY, Math.round(curve(reading) * this.#penalty));
    return reading;
  }

  #paces(at: number): boolean {
    return this.#last !== null && this.line() > 0 && !this.#completed && at < this.#last.at + this.#delay;
  }

  #left(at: number): number {
    // Where the latch holds, nobody waits for a delay.
    if (this.latched || this.#last === null || this.#completed || this.line() === 0) return 0;
    return Math.max(0, this.#last.at + this.#delay - at);
  }

  get #penalty(): number {
    if (this.#beforeLast === null) return this.#committed;
    // Readings have a few decimals: what binary fractions add to a difference of them is cut off.
    const points = Math.round((this.#floor - this.#beforeLast.floor) * 100 * 1e9) / 1e9;
    return Math.min(HIGHEST_PENALTY, Math.max(1, this.#committed * 2 ** points));
  }
}

/** In this order of operations, which is normative. */
function curve(reading: number): number {
  const share = Math.min(1, Math.max(0, (reading - CURVE_START) / (LATCH - CURVE_START)));
  return Math.max(SHORTEST, Math.trunc(LONGEST * (share * share * share)));
}
