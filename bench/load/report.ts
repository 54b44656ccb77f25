/** What a load program says: figures of each run, and what they must show. */

/** The figures of one run. */
export interface Figures {
  readonly run: string;
  /** Answers per second that came in time. */
  readonly useful: number;
  /** ms from asking to being granted, of those that were. */
  readonly waits: readonly number[];
  /** Useful answers by client, as a share of what each asked: the fairness index is made of them. */
  readonly shares: readonly number[];
  readonly peakWaiters: number;
  readonly peakHeapBytes: number;
}

/** Something that must be so, with the numbers it is read from. */
export interface Claim {
  readonly what: string;
  readonly holds: boolean;
}

export interface Result {
  readonly runs: readonly Figures[];
  readonly claims: readonly Claim[];
}

export interface Program {
  readonly name: string;
  /** The situation, in a line. */
  readonly what: string;
  readonly load: (seed: number) => Result | Promise<Result>;
}

/** The least value that so great a share of them does not exceed; not a number where there are none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN;
}

/** Jain's index: 1 where all have the same, 1/n where one has all (R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984). */
export function jain(shares: readonly number[]): number {
  const sum = shares.reduce((total, share) => total + share, 0);
  const squares = shares.reduce((total, share) => total + share * share, 0);
  return squares === 0 ? 1 : (sum * sum) / (shares.length * squares);
}

const ms = (value: number): string => (Number.isNaN(value) ? '-' : `${value.toFixed(0)} ms`);

const cells = (first: string, ...others: readonly string[]): string =>
  `  ${first.padEnd(34)}${others.map((cell) => cell.padStart(12)).join('')}`;

export const heading = cells('', 'useful/s', 'p50 wait', 'p99 wait', 'Jain', 'waiters', 'heap');

export function lineOf({ run, useful, waits, shares, peakWaiters, peakHeapBytes }: Figures): string {
  return cells(
    run,
    useful.toFixed(1),
    ms(percentile(waits, 0.5)),
    ms(percentile(waits, 0.99)),
    jain(shares).toFixed(3),
    String(peakWaiters),
    `${(peakHeapBytes / 2 ** 20).toFixed(0)} MB`,
  );
}

export const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
