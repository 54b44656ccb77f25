/** Draws ns per job over n, for us and the peers, from the figures. */
import * as Plot from '@observablehq/plot';
import { parseHTML } from 'linkedom';
import type { FigureLine } from './figures.js';

/** A picture: which rows are in it, and what they show. */
interface Picture {
  readonly file: string;
  readonly title: string;
  readonly x: string;
  readonly rows: (line: FigureLine) => boolean;
}

/** They are off the scale, and have few sizes; the table has them. */
const OFF_SCALE = new Set(['Effect', 'bottleneck']);

const pictures: readonly Picture[] = [
  {
    file: 'contended.svg',
    title: 'P2: ns of CPU time per job, 10 at a time',
    x: 'jobs in line',
    rows: ({ bench, what }) => bench === 'P2' && what === '10 at a time',
  },
  {
    file: 'weighted.svg',
    title: 'P5: ns of CPU time per job, weights 1 to 10 over 50',
    x: 'jobs in line',
    rows: ({ bench, what }) => bench === 'P5' && what !== 'growth',
  },
  {
    file: 'active.svg',
    title: 'P10: ns of CPU time to end one and admit another',
    x: 'inners active at once',
    rows: ({ bench, what }) => bench === 'P10' && what !== 'growth',
  },
];

interface Point {
  readonly who: string;
  readonly n: number;
  readonly ns: number;
}

/** Least figures: what the work costs where nothing disturbs it. */
function pointsOf(lines: readonly FigureLine[]): Point[] {
  const points = new Map<string, Point>();
  const add = (who: string, n: number, ns: number | null): void => {
    if (ns !== null && !OFF_SCALE.has(who)) points.set(`${who} ${n}`, { who, n, ns });
  };
  for (const { n, ours, peer, theirs } of lines) {
    add('rx-admission', n, ours);
    if (peer !== null) add(peer, n, theirs);
  }
  return [...points.values()];
}

const isOurs = ({ who }: Point): boolean => who === 'rx-admission';

function draw({ title, x }: Picture, points: readonly Point[]): string {
  // Neither package's types stand without those of a browser.
  const { document } = parseHTML('<!doctype html><html><body></body></html>') as unknown as { document: never };
  const svg = Plot.plot({
    document,
    width: 720,
    height: 440,
    marginTop: 40,
    marginLeft: 60,
    marginRight: 110,
    marginBottom: 40,
    style: { background: 'white', color: '#222', fontFamily: 'system-ui, sans-serif', fontSize: '12px' },
    x: { type: 'log', label: `${x} →`, tickFormat: (n: number) => n.toLocaleString('en'), ticks: 4 },
    y: { type: 'log', label: `↑ ${title}`, grid: true, tickFormat: (ns: number) => ns.toLocaleString('en'), ticks: 5 },
    color: { scheme: 'Tableau10' },
    marks: [
      Plot.line(points, { x: 'n', y: 'ns', stroke: 'who', z: 'who', strokeWidth: 1.5, filter: (point: Point) => !isOurs(point) }),
      Plot.line(points, { x: 'n', y: 'ns', stroke: 'black', strokeWidth: 3, filter: isOurs }),
      Plot.dot(points, { x: 'n', y: 'ns', fill: (point: Point) => (isOurs(point) ? 'black' : point.who), r: 3 }),
      Plot.text(points, Plot.selectLast({ x: 'n', y: 'ns', z: 'who', text: 'who', textAnchor: 'start', dx: 8 })),
    ],
  }) as unknown as { setAttribute(name: string, value: string): void; readonly outerHTML: string };
  svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  return `${svg.outerHTML}\n`;
}

/** SVG by file name; a picture of which nothing was measured is left out. */
export function plotsOf(lines: readonly FigureLine[]): Map<string, string> {
  const plots = new Map<string, string>();
  for (const picture of pictures) {
    const points = pointsOf(lines.filter(picture.rows));
    if (points.length > 0) plots.set(picture.file, draw(picture, points));
  }
  return plots;
}
