/** Writes recorded notifications and subscriptions back as marble diagrams, any number of them on common columns. */

import { same } from './same.js';
import { duration, show } from './show.js';

/** What happened at one instant of one line, as marble symbols. */
export interface Moment {
  readonly at: number;
  readonly symbols: readonly string[];
}

/** One notification as `TestScheduler` records it. */
export interface Recorded {
  readonly frame: number;
  readonly notification:
    | { readonly kind: 'N'; readonly value: unknown }
    | { readonly kind: 'E'; readonly error: unknown }
    | { readonly kind: 'C' };
}

/** One subscription as `TestScheduler` records it. */
export interface Subscribed {
  readonly subscribedFrame: number;
  readonly unsubscribedFrame: number;
}

const CAPITALS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.split('');

/** The letters of a diagram: those of the caller's values map, then capitals for the values that it does not name. */
export class Letters {
  readonly #named: [letter: string, value: unknown][];
  readonly #invented: [letter: string, value: unknown][] = [];

  constructor(values: Readonly<Record<string, unknown>> = {}) {
    this.#named = Object.entries(values);
  }

  of(value: unknown): string {
    for (const [letter, known] of [...this.#named, ...this.#invented]) if (same(known, value)) return letter;
    if (typeof value === 'string' && /^[A-Za-z0-9]$/.test(value)) return value;
    const taken = new Set([...this.#named, ...this.#invented].map(([letter]) => letter));
    const letter = CAPITALS.find((one) => !taken.has(one)) ?? '?';
    this.#invented.push([letter, value]);
    return letter;
  }

  /** One `letter = value` for each letter that the caller did not name. */
  get legend(): string[] {
    return this.#invented.map(([letter, value]) => `${letter} = ${show(value)}`);
  }
}

/** The moments of a line of notifications. */
export function notifications(recorded: readonly Recorded[], letters: Letters): Moment[] {
  const symbol = ({ notification }: Recorded): string => {
    switch (notification.kind) {
      case 'N':
        return letters.of(notification.value);
      case 'E':
        return '#';
      case 'C':
        return '|';
    }
  };
  return moments(recorded.map((one) => [one.frame, symbol(one)]));
}

/** The moments of one subscription. */
export function subscription({ subscribedFrame, unsubscribedFrame }: Subscribed): Moment[] {
  const ends: [number, string][] = [
    [subscribedFrame, '^'],
    [unsubscribedFrame, '!'],
  ];
  return moments(ends.filter(([at]) => Number.isFinite(at)));
}

function moments(symbols: readonly (readonly [at: number, symbol: string])[]): Moment[] {
  const byInstant = new Map<number, string[]>();
  for (const [at, symbol] of symbols) byInstant.set(at, [...(byInstant.get(at) ?? []), symbol]);
  return [...byInstant].map(([at, all]) => ({ at, symbols: all })).sort((a, b) => a.at - b.at);
}

/** Longer silences are written as a length of time, as RxJS reads them, instead of as dashes. */
const LONGEST_DASHES = 24;

/**
 * The lines as diagrams, one instant in one column of all of them. `frame` is how many ms one character lasts. Where a
 * group is wider than the time until the next instant, blanks keep the columns; RxJS has no notation for that case.
 */
export function draw(lines: readonly (readonly Moment[])[], frame: number): string[] {
  const instants = [...new Set(lines.flatMap((line) => line.map(({ at }) => at)))].sort((a, b) => a - b);
  const drawn = lines.map((): string[] => []);
  let now = 0;
  instants.forEach((at, i) => {
    const gap = silence(at - now, frame);
    const cells = lines.map((line) => cell(line.find((moment) => moment.at === at)));
    const width = Math.max(...cells.map((one) => one.length));
    const room = ((instants[i + 1] ?? Infinity) - at) / frame;
    cells.forEach((one, row) => {
      drawn[row]?.push(gap, one.padEnd(width, room >= width ? '-' : ' '));
    });
    now = at + (room >= width ? width : 1) * frame;
  });
  return drawn.map((parts) => tidy(parts.join('')));
}

const cell = (moment: Moment | undefined): string => {
  if (moment === undefined) return '-';
  const symbols = moment.symbols.join('');
  return moment.symbols.length === 1 ? symbols : `(${symbols})`;
};

function silence(ms: number, frame: number): string {
  const frames = ms / frame;
  if (frames <= 0) return '';
  return Number.isInteger(frames) && frames <= LONGEST_DASHES ? '-'.repeat(frames) : ` ${duration(ms)} `;
}

// Nothing is meant by what follows the last symbol; an empty line keeps one dash, to be seen at all.
const tidy = (line: string): string => line.replace(/[- ]+$/, '') || '-';
