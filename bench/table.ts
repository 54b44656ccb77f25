/** Rows as lines of a table for a terminal. */
import { holds, type Figure, type Row, type Unit } from './row.js';

const WIDTHS = [4, 38, 9, 17, 18, 17, 7, 14, 5];

const line = (cells: readonly string[]): string =>
  cells.map((cell, column) => (column === 1 || column === 4 ? cell.padEnd(WIDTHS[column] ?? 0) : cell.padStart(WIDTHS[column] ?? 0))).join('  ').trimEnd();

export const heading = line(['', '', 'n', 'ours', 'beside', 'theirs', 'ratio', 'must be', '']);

/** Three digits that matter, and thousands apart. */
export function shown(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString('en', { maximumFractionDigits: digits, minimumFractionDigits: value >= 100 ? 0 : digits });
}

const UNITS: Readonly<Record<Unit, string>> = { ns: ' ns', bytes: ' B', count: '' };

function figure(value: Figure | null, unit: Unit): string {
  if (value === null) return '';
  if (unit === 'count') return String(value.median);
  return `${shown(value.least)} / ${shown(value.median)}${UNITS[unit]}`;
}

function boundOf({ bound, unit }: Row): string {
  if (bound === null) return '';
  return bound.on === 'ratio' ? `≤ ${bound.atMost} ×` : `≤ ${bound.atMost.toLocaleString('en')}${UNITS[unit]}`;
}

export function lineOf(row: Row): string {
  const { bench, what, n, ours, unit, peer, theirs, ratio } = row;
  const verdict = holds(row);
  return line([
    bench,
    what,
    n.toLocaleString('en'),
    figure(ours, unit),
    peer ?? '',
    figure(theirs, unit),
    ratio === null ? '' : shown(ratio),
    boundOf(row),
    verdict === null ? '' : verdict ? 'holds' : 'FAILS',
  ]);
}
