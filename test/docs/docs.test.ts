/** README and docs say what is so: their code compiles, runs and prints what they show, their links lead somewhere. */
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deadEnds } from './links.js';
import { register } from './modules.js';
import type { Block } from './page.js';
import { readPage } from './read-page.js';
import { bundled, runProgram, withoutTimes, type Bundle } from './run.js';
import { typeErrors } from './types.js';

const paths = [
  'README.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
const pages = paths.map((path) => readPage(path, readFileSync(path, 'utf8')));
const blocks = pages.flatMap((page) => page.blocks);
const inMode = (mode: Block['mode']): { name: string; block: Block }[] =>
  blocks.filter((block) => block.mode === mode).map((block) => ({ name: `${block.page}:${block.at}`, block }));

describe('the code of README and docs', () => {
  it('is there', () => {
    expect(inMode('run').length).toBeGreaterThan(20);
  });

  it('compiles under the strict configuration of this repository', { timeout: 120_000 }, () => {
    expect(typeErrors(blocks)).toEqual([]);
  });

  it('is left unrun only for a reason', () => {
    expect(inMode('checked').filter(({ block }) => block.reason.length < 10)).toEqual([]);
  });
});

describe('a block', () => {
  let bundle: Bundle;

  beforeAll(async () => {
    bundle = await bundled(inMode('run').map(({ block }) => block));
  }, 120_000);

  afterAll(() => bundle.remove());

  it.concurrent.each(inMode('run'))('ends, and prints what $name shows', async ({ block }) => {
    const { failure, output } = await bundle.run(block);
    expect(failure).toBeNull();
    if (block.output === null) return;
    const { text, timesVary } = block.output;
    const compared = timesVary ? withoutTimes : (printed: string) => printed;
    expect(compared(output)).toBe(compared(text));
  });
});

describe('an example that is quoted', () => {
  const excerpts = pages.flatMap((page) => page.excerpts);

  it.each(excerpts)('$program prints what $page shows at line $at', { timeout: 60_000 }, async ({ program, text }) => {
    const { failure, output } = await runProgram(program, 50_000);
    expect(failure).toBeNull();
    expect(withoutTimes(output)).toContain(withoutTimes(text));
  });
});

describe.each(inMode('test'))('the tests of $name', ({ block }) => {
  register(block);
});

describe.each(pages)('$path', (page) => {
  it('names no file, heading, script or scenario that is not there', () => {
    expect(deadEnds(page)).toEqual([]);
  });
});
