/** All the ways in which one character of what a marble file expects can be another one. */
import { parseMarbleFile, type Line } from './format.js';

export interface Mutant {
  readonly change: string;
  /** The file with the change in it. */
  readonly text: string;
}

/** The changed files; each of them still reads, and none of them is true if the file is. */
export function mutantsOf(text: string): Mutant[] {
  const rows = text.split('\n');
  const changed = (number: number, from: string, to: string): Mutant => {
    const row = (rows[number - 1] ?? '').replace(from, () => to);
    return { change: `line ${String(number)}: ${row}`, text: rows.with(number - 1, row).join('\n') };
  };
  return parseMarbleFile(text).lines.flatMap((line) => {
    const marbles = variants(line).map((to) => changed(line.number, line.marbles, to));
    if (line.kind !== 'output' || !line.legend.has('#')) return marbles;
    const number = rows.findIndex((row, i) => i >= line.number && row.startsWith('# := ')) + 1;
    return [...marbles, changed(number, '# := ', '# := not ')];
  });
}

function variants({ kind, marbles }: Line): string[] {
  const each = (change: (symbol: string) => string | null): string[] =>
    [...marbles].flatMap((symbol, i) => {
      const other = change(symbol);
      return other === null ? [] : [marbles.slice(0, i) + other + marbles.slice(i + 1)];
    });
  switch (kind) {
    case 'output':
      return each((symbol) => ({ '-': 'q', '|': '-', '#': '-#' })[symbol] ?? (/\w/.test(symbol) ? 'q' : null));
    case 'events':
      return each((symbol) => (symbol === '-' ? 'i' : /\w/.test(symbol) ? (symbol === 'i' ? 'h' : 'i') : null));
    case 'subs':
      // Where nothing is expected, any subscription is another expectation; else each end moves, or never comes.
      if (!marbles.includes('^')) return [`^${marbles.slice(1)}`];
      return [
        ...each((symbol) => (symbol === '-' ? '' : null)),
        `-${marbles}`,
        marbles.replace(/!|$/, (end) => (end ? '' : '!')),
      ];
    default:
      return [];
  }
}
