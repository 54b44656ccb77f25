/** What the model of an account answers, and the two ways in which it can fail a job. */

/** An account's readable no. */
export class Refusal extends Error {}

/** A bug in an account: nothing that a caller can mend. */
export class Bug extends Error {}

/** One object an attempt: ties what is given back to what was taken. */
export type Receipt = object;

export interface ModelAccount {
  readonly name: string;
  readonly category: string;
  readonly replenishment: 'release' | 'time';
  readonly capacity: number;
  /** Announces more; set by the line, which decides whether it listens. */
  wake: () => void;
  fits(mine: readonly number[], ahead: readonly number[], at: number): boolean;
  tryTake(mine: readonly number[], ahead: readonly number[], at: number, receipt?: Receipt): boolean;
  give(amounts: readonly number[], at: number, receipt?: Receipt): void;
  earliestFit(mine: readonly number[], ahead: readonly number[], at: number): number | null;
  inUse(at: number): number;
  indicator(at: number): string | null;
  /** What a check can ask beside the above; `undefined`: there is no such thing. */
  property(name: string, at: number): unknown;
}

export function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}
