/** An account that says what a scenario scripts: yes, no, a refusal, or a bug, in each place where a bug can be. */
import { NEVER } from 'rxjs';
import { RefusedError, amountOf, type Account } from 'rx-admission';
import type { Mode } from './given.js';

export class ScriptedDouble implements Account {
  readonly replenishment = 'release';
  readonly category = 'scripted';
  readonly capacity = Number.MAX_SAFE_INTEGER;
  /** Nothing of its own: a `wake` step announces in its place. */
  readonly capacityChanges = NEVER;
  #taken = 0;

  constructor(
    readonly name: string,
    public mode: Mode,
    public giveThrows: boolean,
  ) {}

  inUse(): number {
    return this.#taken;
  }

  fits(): boolean {
    switch (this.mode) {
      case 'fits':
      case 'takeFails':
      case 'takeBroken':
        return true;
      case 'short':
      case 'deadlineBroken':
        return false;
      case 'refuse':
        throw new RefusedError(`${this.name} is refusing everyone`, { account: this.name });
      case 'broken':
        throw new Error(`${this.name} is broken`);
    }
  }

  tryTake(mine: readonly number[]): boolean {
    if (this.mode === 'takeBroken') throw new Error(`${this.name} take is broken`);
    if (this.mode === 'takeFails' || !this.fits()) return false;
    this.#taken += amountOf(mine);
    return true;
  }

  give(amounts: readonly number[]): void {
    if (this.giveThrows) throw new Error(this.cannotGiveBack);
    this.#taken -= amountOf(amounts);
  }

  earliestFit(): number | null {
    if (this.mode === 'deadlineBroken') throw new Error(`${this.name} deadline is broken`);
    return null;
  }

  get cannotGiveBack(): string {
    return `${this.name} cannot give back`;
  }
}
