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
  /** Without a values map, a letter stands for itself. */
  readonly #plain: boolean;

  constructor(values?: Readonly<Record<string, unknown>>) {
    this.#named = Object.entries(values ?? {});
    this.#plain = values === undefined;
  }

  of(value: unknown): string {
    for (const [letter, known] of [...this.#named, ...this.#invented]) if (same(known, value)) return letter;
    const itself = typeof value === 'string' && /^[A-Za-z0-9]$/.test(value) ? value : undefined;
    if (itself !== undefined && this.#plain) return itself;
    const taken = new Set([...this.#named, ...this.#invented].map(([letter]) => letter));
    const letter = [...(itself === undefined ? [] : [itself]), ...CAPITALS].find((one) => !taken.has(one)) ?? '?';
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

/** Lines that were written, and the column in which each instant stands in all of them. */
interface Drawing {
  readonly lines: readonly string[];
  readonly columns: ReadonlyMap<number, number>;
}

/**
 * The lines as RxJS reads them: pasted as an expectation, a line says what it was drawn from. `frame` is how many ms one
 * character lasts. A group takes as many frames as it has characters, so most columns agree by themselves; where a length
 * of time stands for dashes, blanks, which RxJS skips, make them agree.
 */
export function draw(lines: readonly (readonly Moment[])[], frame: number): Drawing {
  const instants = [...new Set(lines.flatMap((line) => line.map(({ at }) => at)))].sort((a, b) => a - b);
  const columns = new Map<number, number>();
  const pens = lines.map((line) => ({ line, text: '', now: 0 }));
  for (const at of instants) {
    const writing = pens.flatMap((pen) => {
      const moment = pen.line.find((one) => one.at === at);
      return moment === undefined ? [] : [{ pen, moment }];
    });
    for (const { pen } of writing) pen.text += silence(at - pen.now, frame);
    const column = Math.max(...writing.map(({ pen }) => pen.text.length));
    columns.set(at, column);
    for (const { pen, moment } of writing) {
      pen.text = pen.text.padEnd(column) + cell(moment);
      pen.now = endOf(moment, frame);
    }
  }
  return { lines: pens.map(({ text }) => text || '-'), columns };
}

/** Why no diagram says this line; null where one does. */
export function unwritable(line: readonly Moment[], frame: number): string | null {
  for (const [place, moment] of line.entries()) {
    const next = line[place + 1];
    if (next === undefined || next.at >= endOf(moment, frame)) continue;
    const [what, at] = [next.symbols.join(' '), duration(next.at)];
    if (moment.symbols.length === 1) {
      return `${what} at ${at} lies inside the frame of ${cell(moment)} at ${duration(moment.at)}; choose a smaller frame`;
    }
    const frames = cell(moment).length;
    return `${what} at ${at} lies inside the group at ${duration(moment.at)}, which takes ${frames} frames; space the scenario`;
  }
  return null;
}

/** As RxJS reads it: what follows comes no earlier. */
const endOf = (moment: Moment, frame: number): number => moment.at + cell(moment).length * frame;

function cell({ symbols }: Moment): string {
  return symbols.length === 1 ? symbols.join('') : `(${symbols.join('')})`;
}

/** Longer silences are written as a length of time, as RxJS reads them, instead of as dashes. */
const LONGEST_DASHES = 24;

function silence(ms: number, frame: number): string {
  const frames = ms / frame;
  if (frames <= 0) return '';
  return Number.isInteger(frames) && frames <= LONGEST_DASHES ? '-'.repeat(frames) : ` ${duration(ms)} `;
}
