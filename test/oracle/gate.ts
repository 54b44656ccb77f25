/** The counting gate, from the rules: a number of permits. */
import { Refusal, sum, type ModelAccount } from './account.js';

export class ModelGate implements ModelAccount {
  readonly category = 'semaphore';
  readonly replenishment = 'release';
  wake = (): void => undefined;
  paused = false;
  #taken = 0;
  #lastActivity: number;

  constructor(
    readonly name: string,
    public capacity: number,
    at: number,
  ) {
    this.#lastActivity = at;
  }

  fits(mine: readonly number[], ahead: readonly number[]): boolean {
    const own = sum(mine);
    if (own > this.capacity) throw new Refusal(`${this.name}: ${own} permits can never fit ${this.capacity}`);
    return !this.paused && this.#taken + own + sum(ahead) <= this.capacity;
  }

  tryTake(mine: readonly number[], ahead: readonly number[], at: number): boolean {
    if (!this.fits(mine, ahead)) return false;
    this.#taken += sum(mine);
    this.#lastActivity = at;
    return true;
  }

  give(amounts: readonly number[], at: number): void {
    this.#taken -= sum(amounts);
    this.#lastActivity = at;
  }

  earliestFit(mine: readonly number[], ahead: readonly number[], at: number): number | null {
    return !this.paused && this.#taken + sum(mine) + sum(ahead) <= this.capacity ? at : null;
  }

  inUse(): number {
    return this.#taken;
  }

  indicator(): null {
    return null;
  }

  property(name: string): unknown {
    switch (name) {
      case 'maxConcurrent':
        return this.capacity;
      case 'availablePermits':
        return Math.max(0, this.capacity - this.#taken);
      case 'activeCount':
        return this.#taken;
      case 'lastActivity':
        return this.#lastActivity;
      default:
        return undefined;
    }
  }
}
