/** One line of the result: what we took, what a peer took, and what must hold. */
import type { Series } from './measure.js';

/** What the figures are: time for one job, heap for one waiter, a size, or a plain count. */
export type Unit = 'ns' | 'bytes' | 'count';

export interface Figure {
  readonly least: number;
  readonly median: number;
}

/** `ratio` binds the median of the paired ratios, `ours` our own median. */
export interface Bound {
  readonly on: 'ratio' | 'ours';
  readonly atMost: number;
}

export interface Row {
  readonly bench: string;
  readonly what: string;
  readonly n: number;
  readonly unit: Unit;
  readonly ours: Figure;
  readonly peer: string | null;
  readonly theirs: Figure | null;
  /** Ours over the peer's: the median over the rounds, each round's two turns paired. */
  readonly ratio: number | null;
  readonly bound: Bound | null;
}

/** A program that measures and says what it found, row by row. */
export type Bench = () => AsyncIterable<Row> | Iterable<Row>;

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

const figureOf = (values: readonly number[]): Figure => ({ least: Math.min(...values), median: median(values) });

interface About {
  readonly bench: string;
  readonly what: string;
  readonly unit?: Unit;
}

/** Ours beside a peer's, of the same rounds. */
export function beside(about: About, ours: Series, theirs: Series, atMost?: number): Row {
  const ratios = ours.perJob.map((each, round) => each / (theirs.perJob[round] ?? NaN));
  return {
    unit: 'ns',
    ...about,
    n: ours.n,
    ours: figureOf(ours.perJob),
    peer: theirs.name,
    theirs: figureOf(theirs.perJob),
    ratio: median(ratios),
    bound: atMost === undefined ? null : { on: 'ratio', atMost },
  };
}

/** Ours alone. */
export function alone(about: About, ours: Series, atMost?: number): Row {
  return {
    unit: 'ns',
    ...about,
    n: ours.n,
    ours: figureOf(ours.perJob),
    peer: null,
    theirs: null,
    ratio: null,
    bound: atMost === undefined ? null : { on: 'ours', atMost },
  };
}

/** Null where nothing is bound. A figure that is not a number holds nothing. */
export function holds({ bound, ratio, ours }: Row): boolean | null {
  if (bound === null) return null;
  return (bound.on === 'ratio' ? (ratio ?? NaN) : ours.median) <= bound.atMost;
}

/** The row as one JSON object a line: `oursNs`, `peerNs`, `ratio`; `oursBytes` where bytes are measured. */
export function toJson(row: Row): string {
  const { bench, what, n, unit, ours, peer, theirs, ratio, bound } = row;
  const suffix = { ns: 'Ns', bytes: 'Bytes', count: 'Count' }[unit];
  return JSON.stringify({
    bench,
    what,
    n,
    [`ours${suffix}`]: ours.least,
    [`oursMedian${suffix}`]: ours.median,
    peer,
    [`peer${suffix}`]: theirs?.least ?? null,
    [`peerMedian${suffix}`]: theirs?.median ?? null,
    ratio,
    bound: bound === null ? null : `${bound.on} ≤ ${bound.atMost}`,
    holds: holds(row),
  });
}
