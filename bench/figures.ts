/** What `npm run bench -- --json` wrote, read back. */
import { readFileSync } from 'node:fs';

export interface FigureLine {
  readonly bench: string;
  readonly what: string;
  readonly n: number;
  readonly unit: 'ns' | 'bytes' | 'count';
  readonly ours: number;
  readonly oursMedian: number;
  readonly peer: string | null;
  readonly theirs: number | null;
  readonly theirsMedian: number | null;
  readonly ratio: number | null;
  readonly bound: string | null;
  readonly holds: boolean | null;
}

const SUFFIXES = { ns: 'Ns', bytes: 'Bytes', count: 'Count' } as const;

function lineOf(json: string): FigureLine {
  const raw = JSON.parse(json) as Record<string, never>;
  const unit = 'oursNs' in raw ? 'ns' : 'oursBytes' in raw ? 'bytes' : 'count';
  const of = (name: string): never => raw[name + SUFFIXES[unit]] as never;
  const { bench, what, n, peer, ratio, bound, holds } = raw as unknown as FigureLine;
  const numbers = { ours: of('ours'), oursMedian: of('oursMedian'), theirs: of('peer'), theirsMedian: of('peerMedian') };
  return { bench, what, n, unit, peer, ratio, bound, holds, ...numbers };
}

/** @throws Error when there is no figure in the file. */
export function figuresIn(path: string): FigureLine[] {
  // npm puts lines of its own before ours.
  const lines = readFileSync(path, 'utf8').split('\n').filter((line) => line.startsWith('{'));
  if (lines.length === 0) throw new Error(`${path} has no figures: npm run bench -- --json > ${path}`);
  return lines.map(lineOf);
}
