/** An account that says what a test tells it to, and counts what it was asked. */
import { AbstractAccount, RefusedError, amountOf } from 'rx-admission';

export type Mode = 'fits' | 'short' | 'takeFails' | 'refuse' | 'broken' | 'takeBroken' | 'deadlineBroken';

export class Scripted extends AbstractAccount {
  override readonly capacity = Number.MAX_SAFE_INTEGER;
  mode: Mode;
  giveThrows = false;
  questions = 0;
  takes = 0;
  #taken = 0;

  constructor(name: string, mode: Mode = 'fits') {
    super(name);
    this.mode = mode;
  }

  inUse(): number {
    return this.#taken;
  }

  fits(): boolean {
    this.questions += 1;
    if (this.mode === 'refuse') throw new RefusedError(`${this.name} is refusing everyone`, { account: this.name });
    if (this.mode === 'broken') throw new Error(`${this.name} is broken`);
    return this.mode !== 'short' && this.mode !== 'deadlineBroken';
  }

  tryTake(mine: readonly number[]): boolean {
    if (this.mode === 'takeBroken') throw new Error(`${this.name} take is broken`);
    if (this.mode === 'takeFails' || !this.fits()) return false;
    this.takes += 1;
    this.#taken += amountOf(mine);
    return true;
  }

  give(amounts: readonly number[]): void {
    if (this.giveThrows) throw new Error(`${this.name} cannot give back`);
    this.#taken -= amountOf(amounts);
  }

  earliestFit(): null {
    if (this.mode === 'deadlineBroken') throw new Error(`${this.name} deadline is broken`);
    return null;
  }

  wake(): void {
    this.capacityChanged();
  }
}
