/** The sizes that are told and those that are held are the same, for each entry point. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

interface Limit {
  readonly path: string;
  readonly limit: string;
}

const config = new URL('../../.size-limit.js', import.meta.url).href;
const { default: limits } = (await import(config)) as { default: readonly Limit[] };
const [start] = limits;

it('README tells the limit of a start', () => {
  const told = /adds less than (\d+ kB) to a bundle/.exec(readFileSync('README.md', 'utf8'));
  expect(told?.[1]).toBe(start!.limit);
});

it('every entry point of the package has a limit', () => {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    exports: Record<string, string | { default: string }>;
  };
  const entries = Object.values(exports).flatMap((entry) => (typeof entry === 'string' ? [] : [entry.default.slice(2)]));
  expect(new Set(limits.map(({ path }) => path))).toEqual(new Set(entries));
});
