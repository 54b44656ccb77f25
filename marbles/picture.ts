/** Draws a scenario as an SVG: the rule, the rows around the operator, and the scale of time. */
import { rowsOf, type Row, type Span } from './rows.js';
import type { Scenario } from './scenario.js';
import { SIZE, at, drawOperator, drawStream, escape, horizontal, rect, rounded, text, vertical, wrap } from './svg.js';

const PADDING = 20;
const GAP = 8;
const WAITS = 'fill="#d9d9d9" rx="4"';
const HOLDS = 'fill="#cfe8cf" rx="4"';
const CUT = 'stroke="#c0392b" stroke-width="2" stroke-dasharray="4 3"';
const LINE = 'stroke="#000" stroke-width="1.5"';
const GRID = 'stroke="#000" stroke-opacity="0.07"';
const QUIET = 'fill="#666"';

const EVENTS = { i: 'granted, never held', h: 'held', g: 'granted from hold', r: 'released', x: 'rejected' };

/** The picture of a scenario; the same bytes for the same scenario. */
export function drawScenario(name: string, scenario: Scenario): string {
  const rows = rowsOf(scenario);
  const frames = Math.max(...rows.map(lengthOf));
  const inner = Math.max(SIZE.titles + frames * SIZE.frame + SIZE.tail, 560);
  const x = (frame: number): number => SIZE.titles + frame * SIZE.frame;

  const out: string[] = [];
  let y = 0;
  out.push(text(0, (y += 14), 18, name.replaceAll('-', ' '), 'font-weight="bold"'));
  y += 6;
  for (const line of wrap(scenario.rule, Math.floor(inner / 7.4))) out.push(text(0, (y += 18), 14, line));
  y += 16;

  const top = y;
  const body: string[] = [];
  const draw = (row: Row): void => {
    const { svg, height } = row.place === 'events' ? drawEvents(row, x) : drawRow(row, x, frames);
    body.push(at(0, y, svg));
    y += height + (row.place === 'events' ? 2 : GAP);
  };
  const place = (where: Row['place']): Row[] => rows.filter((row) => row.place === where);

  place('above').forEach(draw);
  const operator = drawOperator(operatorTitle(scenario), inner);
  body.push(at(0, y, operator.svg));
  y += operator.height + GAP;
  place('inside').forEach(draw);
  y += 2;
  body.push(rect(0, y, inner, 1, 'fill="#bbb"'));
  y += 6;
  place('below').forEach(draw);
  place('events').forEach(draw);

  const bottom = y;
  for (let frame = 0; frame <= frames; frame += 5) {
    out.push(vertical(x(frame), top, bottom, GRID));
    body.push(text(x(frame), bottom + 14, 11, timeLabel(frame, scenario.frame), `text-anchor="middle" ${QUIET}`));
  }
  y = bottom + 30;
  const key = drawKey(rows, y);
  const height = y + (rows.some(({ place }) => place === 'events') ? 24 : 6);
  return svgFile(name, scenario.rule, inner + 2 * PADDING, height + 2 * PADDING, [...out, ...body, key].join('\n'));
}

function drawRow(row: Row, x: (frame: number) => number, frames: number): { svg: string; height: number } {
  const arrow = row.place === 'inside' || row.spans.some(({ kind }) => kind === 'listens') ? 'none' : frames;
  const stream = row.pieces.length === 0 ? { svg: '', height: SIZE.row } : drawStream(row.pieces, row.legend, arrow);
  const middle = 17;
  const spans = row.spans.map((span) => drawSpan(span, x, middle, frames)).join('');
  const title = text(0, row.note === '' ? middle + 5 : middle - 1, 15, row.title, 'font-weight="bold"');
  const note = row.note === '' ? '' : text(0, middle + 13, 11, row.note, QUIET);
  return { svg: spans + stream.svg + title + note + drawLabels(row, x), height: Math.max(stream.height, 36) };
}

function drawLabels({ labels, pieces }: Row, x: (frame: number) => number): string {
  const marbles = pieces[0]?.marbles ?? '';
  // Beside the marble and above the arrow; an error has nothing behind it but the arrow's head.
  return [...labels]
    .map(([symbol, words]) => {
      const frame = marbles.indexOf(symbol);
      return symbol === '#' ? text(x(frame) + 50, 21, 12, words) : text(x(frame) + 17, 12, 12, words);
    })
    .join('');
}

function drawSpan(span: Span, x: (frame: number) => number, middle: number, frames: number): string {
  const to = Math.min(span.to, frames);
  const bar = (height: number, style: string): string =>
    rect(x(span.from), middle - height / 2, x(to) - x(span.from), height, style);
  const box = { waits: () => bar(12, WAITS), holds: () => bar(32, HOLDS), listens: () => '' }[span.kind]();
  const line = span.kind === 'waits' ? '' : horizontal(x(span.from), x(to), middle, LINE);
  return box + line + (span.cut ? vertical(x(to), middle - 18, middle + 18, CUT) : '');
}

function drawEvents(row: Row, x: (frame: number) => number): { svg: string; height: number } {
  const marbles = row.pieces[0]?.marbles ?? '';
  const letters = [...marbles.matchAll(/\(([a-z]+)\)|[a-z]/g)].map((match) =>
    text(x(match.index) - 4, 15, 14, [...(match[1] ?? match[0])].join(' ')),
  );
  return { svg: text(0, 15, 13, row.title, QUIET) + letters.join(''), height: 20 };
}

function drawKey(rows: readonly Row[], y: number): string {
  const spans = rows.flatMap((row) => row.spans);
  const parts: string[] = [];
  let x = 0;
  const entry = (mark: string, label: string): void => {
    parts.push(at(x, y, mark), text(x + 26, y + 4, 11, label, QUIET));
    x += 26 + label.length * 6 + 18;
  };
  if (spans.some(({ kind, from, to }) => kind === 'waits' && to > from))
    entry(rect(0, -5, 20, 10, WAITS), 'waits, holding nothing');
  if (spans.some(({ kind }) => kind === 'holds')) entry(rect(0, -5, 20, 10, HOLDS), 'holds its grant');
  if (spans.some(({ cut }) => cut)) entry(vertical(10, -7, 7, CUT), 'leaves, refused or torn down');
  const events = rows
    .filter(({ place }) => place === 'events')
    .flatMap(({ pieces }) => pieces.map(({ marbles }) => marbles));
  const known = Object.entries(EVENTS).filter(([letter]) => events.some((marbles) => marbles.includes(letter)));
  if (known.length > 0)
    parts.push(text(0, y + 22, 11, known.map(([letter, word]) => `${letter} ${word}`).join(' · '), QUIET));
  return parts.join('');
}

function operatorTitle({ accounts, maxWaiters }: Scenario): string {
  const plans = accounts.map(({ name, text }) => `${name}: ${text}`);
  return [...plans, ...(maxWaiters === undefined ? [] : [`at most ${String(maxWaiters)} wait`])].join(' · ');
}

/** Frames that a row reaches to. */
function lengthOf({ pieces, spans, place }: Row): number {
  const marbles = pieces.map((piece) => Math.min(piece.from + piece.marbles.length, piece.until));
  const ends = spans.map(({ from, to }) => (to === Infinity ? from : to));
  return Math.max(0, ...(place === 'inside' ? ends : marbles.map((end) => end - 1)));
}

function timeLabel(frame: number, ms: number): string {
  if (frame === 0) return '0';
  return ms % 1_000 === 0 ? `${String((frame * ms) / 1_000)} s` : `${String(frame * ms)} ms`;
}

function svgFile(name: string, rule: string, width: number, height: number, body: string): string {
  return rounded(
    [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${String(width)}" height="${String(height)}" ` +
        `viewBox="0 0 ${String(width)} ${String(height)}" role="img" aria-labelledby="title desc">`,
      `<title id="title">${escape(name)}</title>`,
      `<desc id="desc">${escape(rule)}</desc>`,
      `<rect width="100%" height="100%" rx="8" fill="#fff"/>`,
      at(PADDING, PADDING, body),
      '</svg>',
      '',
    ].join('\n'),
  );
}
