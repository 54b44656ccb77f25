/** What a page points at: files, headings, pictures, npm scripts, examples and scenarios. All of it must exist. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Page } from './page.js';

/** One `page:line: what is missing` for each. */
export function deadEnds(page: Page): string[] {
  const { path, prose, commands } = page;
  const found = prose.flatMap(({ text, at }) =>
    [...targets(text)].flatMap((target) => {
      const why = missing(path, target);
      return why === null ? [] : [`${path}:${at}: ${why}`];
    }),
  );
  const named = [...prose, ...commands].flatMap(({ text, at }) =>
    unknownNames(text).map((why) => `${path}:${at}: ${why}`),
  );
  return [...found, ...named];
}

function* targets(text: string): Iterable<string> {
  const bare = text.replaceAll(/`[^`]*`/g, (code) => 'x'.repeat(code.length));
  for (const [, target = ''] of bare.matchAll(/\]\(([^)\s]+)\)/g)) yield target;
  for (const [, target = ''] of bare.matchAll(/(?:src|href)="([^"]+)"/g)) yield target;
}

function missing(from: string, target: string): string | null {
  if (/^[a-z]+:/.test(target)) return null;
  const [file = '', anchor] = target.split('#');
  const path = file === '' ? from : join(dirname(from), file);
  if (!existsSync(path)) return `there is no ${path}`;
  if (anchor === undefined) return null;
  return anchors(readFileSync(path, 'utf8')).has(anchor) ? null : `${path} has no heading #${anchor}`;
}

/** The anchors that GitHub gives to headings. */
function anchors(markdown: string): Set<string> {
  const headings = markdown.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.+)$/gm);
  return new Set([...headings].map(([, heading = '']) => slug(heading)));
}

const slug = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
const scenarios = new Set(
  [...readFileSync('test/conformance/scenarios.yaml', 'utf8').matchAll(/^- id: (\S+)$/gm)].map(([, id]) => id),
);

/** Whatever a page may name, and how to tell that it is there. */
const NAMED: readonly (readonly [what: string, pattern: RegExp, exists: (name: string) => boolean])[] = [
  ['npm script ', /npm run ([\w:-]+)/g, (name) => name in scripts],
  ['', /npx tsx ([\w./-]+)/g, existsSync],
  ['', /`((?:src|test|marbles|examples|tools|docs)\/[\w./-]+)`/g, existsSync],
  [
    'scenario ',
    /`((?:monitor|event|demand|grant|account|memory|bucket|window|factory|status|header|retry)-\d\d)`/g,
    (id) => scenarios.has(id),
  ],
];

const unknownNames = (text: string): string[] =>
  NAMED.flatMap(([what, pattern, exists]) =>
    [...text.matchAll(pattern)].flatMap(([, name = '']) => (exists(name) ? [] : [`there is no ${what}${name}`])),
  );
