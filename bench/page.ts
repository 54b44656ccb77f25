/** `npm run bench:page -- figures.json`: writes the figures into docs/performance.md, and draws their plots. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { benches } from './benches.js';
import { figuresIn, type FigureLine } from './figures.js';
import { plotsOf } from './plots.js';
import { shown } from './table.js';

const PAGE = 'docs/performance.md';
const PLOTS = 'docs/performance';
/** What is between this heading and the next is ours. */
const HEADING = '## Figures\n';

const UNITS = { ns: ' ns', bytes: ' B', count: '' };

function both(least: number | null, middle: number | null, unit: FigureLine['unit']): string {
  if (least === null || middle === null) return '';
  return least === middle ? `${shown(middle)}${UNITS[unit]}` : `${shown(least)} / ${shown(middle)}${UNITS[unit]}`;
}

function rowOf(line: FigureLine): string {
  const { bench, what, n, unit, ours, oursMedian, peer, theirs, theirsMedian, ratio, bound, holds } = line;
  const cells = [
    bench,
    what,
    n.toLocaleString('en'),
    both(ours, oursMedian, unit),
    peer ?? '',
    both(theirs, theirsMedian, unit),
    ratio === null ? '' : shown(ratio),
    bound === null ? '' : `${bound.replace(/^(?:ratio|ours) /, '')}${holds === true ? '' : ', **does not hold**'}`,
  ];
  return `| ${cells.join(' | ')} |`;
}

function sectionOf(lines: readonly FigureLine[]): string {
  const failing = lines.filter(({ holds }) => holds === false).length;
  const bound = lines.filter(({ holds }) => holds !== null).length;
  const run = new Set(lines.map(({ bench }) => bench));
  const missing = [...benches.keys()].filter((bench) => !run.has(bench));
  const load = loadavg()[2]?.toFixed(1) ?? '';
  const memory = Math.round(totalmem() / 2 ** 30);
  const machine = `${cpus().length} shared cores of ${cpus()[0]?.model.trim() ?? 'an unknown CPU'}, ${memory} GB, ${process.platform}`;
  return [
    HEADING,
    `Node ${process.version}, ${machine}; load ${load} over the quarter of an hour before this was written. Least / median.`,
    `${bound} rows bind, and ${bound - failing} of them hold.${missing.length > 0 ? ` Not run: ${missing.join(', ')}.` : ''}\n`,
    '| | work | n | ours | beside | theirs | ratio | must be |',
    '|---|---|--:|--:|---|--:|--:|---|',
    ...lines.map(rowOf),
    '',
    '',
  ].join('\n');
}

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error('usage: npm run bench:page -- figures.json');
const lines = figuresIn(path);
const page = readFileSync(PAGE, 'utf8');
const begin = page.indexOf(HEADING);
const end = page.indexOf('\n## ', begin + HEADING.length);
if (begin < 0 || end < 0) throw new Error(`${PAGE} has no section "Figures" with another one behind it`);
writeFileSync(PAGE, page.slice(0, begin) + sectionOf(lines) + page.slice(end + 1));

mkdirSync(PLOTS, { recursive: true });
const plots = plotsOf(lines);
for (const [file, svg] of plots) writeFileSync(`${PLOTS}/${file}`, svg);
console.log(`${PAGE}: ${lines.length} rows; ${PLOTS}: ${[...plots.keys()].join(', ')}`);
