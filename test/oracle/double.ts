/** A scripted account: it says what the scenario scripts. */
import { Bug, Refusal, sum, type ModelAccount } from './account.js';
import type { Mode } from '../conformance/given.js';

export class ModelDouble implements ModelAccount {
  readonly category = 'scripted';
  readonly replenishment = 'release';
  readonly capacity = Number.MAX_SAFE_INTEGER;
  wake = (): void => undefined;
  #taken = 0;

  constructor(
    readonly name: string,
    public mode: Mode,
    public giveThrows: boolean,
  ) {}

  fits(): boolean {
    if (this.mode === 'refuse') throw new Refusal(`${this.name} is refusing everyone`);
    if (this.mode === 'broken') throw new Bug(`${this.name} is broken`);
    return this.mode !== 'short' && this.mode !== 'deadlineBroken';
  }

  tryTake(mine: readonly number[]): boolean {
    if (this.mode === 'takeBroken') throw new Bug(`${this.name} take is broken`);
    if (this.mode === 'takeFails' || !this.fits()) return false;
    this.#taken += sum(mine);
    return true;
  }

  give(amounts: readonly number[]): void {
    if (this.giveThrows) throw new Bug(`${this.name} cannot give back`);
    this.#taken -= sum(amounts);
  }

  earliestFit(): null {
    if (this.mode === 'deadlineBroken') throw new Bug(`${this.name} deadline is broken`);
    return null;
  }

  inUse(): number {
    return this.#taken;
  }

  indicator(): null {
    return null;
  }

  property(): unknown {
    return undefined;
  }
}
