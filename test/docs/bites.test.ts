/** The check of the docs bites: a page with one fault of each kind fails, and names the line. */
import { describe, expect, it } from 'vitest';
import { deadEnds } from './links.js';
import type { Page } from './page.js';
import { readPage } from './read-page.js';
import { bundled, type Ran } from './run.js';
import { typeErrors } from './types.js';

const page = (...lines: string[]): Page => readPage('docs/a-page.md', lines.join('\n'));
const fence = (...code: string[]): string[] => ['```ts', ...code, '```'];

async function ran(source: Page, limitMs?: number): Promise<Ran> {
  const bundle = await bundled(source.blocks);
  const block = source.blocks.at(-1);
  if (block === undefined) throw new Error('there is no block to run');
  const result = await bundle.run(block, limitMs);
  await bundle.remove();
  return result;
}

describe('a page that breaks the convention', () => {
  it.each<[string, string[], string]>([
    ['an unknown comment', ['<!-- ts: unchecked -->', ...fence('1;')], ':1: unknown comment "ts: unchecked"'],
    ['a block that is not run, for no reason', ['<!-- ts: checked -->', ...fence('1;')], ':1: say why'],
    [
      'a comment with no block below it',
      ['<!-- ts: page -->', 'Text.', ...fence('1;')],
      ':1: "ts: page" has no fence below it',
    ],
    ['TypeScript under another name', ['```typescript', 'oops(', '```'], ':1: a fence of "typescript"'],
    ['JavaScript', ['Text.', '```js', 'oops(', '```'], ':2: a fence of "js"'],
    [
      'an unknown kind of output',
      [...fence('1;'), '<!-- output: roughly -->', '```text', '1', '```'],
      ':5: unknown output "roughly"',
    ],
    ['an output with no block above it', ['<!-- output -->', '```text', '1', '```'], ':2: there is no block before it'],
    ['an output before code', [...fence('1;'), '<!-- output -->', ...fence('2;')], ':5: "output" stands before'],
    ['a fence that nothing closes', ['```ts', '1;'], ':1: nothing closes it'],
  ])('is refused for %s', (_fault, lines, message) => {
    expect(() => page(...lines)).toThrow(message);
  });
});

describe('a block that does not compile', () => {
  it('is named by its line, also behind what comes before it', { timeout: 120_000 }, () => {
    const blocks = [
      ...page('Text.', ...fence("import { demand } from 'rx-admission';", 'const n: number = demand();')).blocks,
      ...page('<!-- ts: page -->', ...fence('const a = 1;'), ...fence('a.length;')).blocks,
      ...page('<!-- ts: page', 'const hidden = 1;', '-->', ...fence('hidden;'), ...fence('hiden;')).blocks,
      ...page(...fence("import { CountingGates } from 'rx-admission';")).blocks,
      ...page(...fence('// @ts-expect-error', '1;')).blocks,
    ];
    expect(typeErrors(blocks).map((error) => error)).toEqual([
      expect.stringMatching(/^docs\/a-page\.md:4: Type 'Demand' is not assignable/),
      expect.stringMatching(/^docs\/a-page\.md:6: Property 'length' does not exist/),
      expect.stringMatching(/^docs\/a-page\.md:8: Cannot find name 'hiden'/),
      expect.stringMatching(/^docs\/a-page\.md:2: .*CountingGates/),
      expect.stringMatching(/^docs\/a-page\.md:2: Unused '@ts-expect-error'/),
    ]);
  });
});

describe('a block that does not run', () => {
  it('fails when it throws', async () => {
    expect((await ran(page(...fence("throw new Error('boom');")))).failure).toContain('boom');
  });

  it('fails when a promise of it rejects and nobody handles it', async () => {
    expect((await ran(page(...fence("void Promise.reject(new Error('boom'));")))).failure).toContain('boom');
  });

  it('fails when it waits for what never comes', async () => {
    expect((await ran(page(...fence('await new Promise(() => undefined);')))).failure).not.toBeNull();
  });

  it('fails when it does not end', async () => {
    const endless = page(...fence('setInterval(() => undefined, 1_000);'));
    expect((await ran(endless, 1_000)).failure).toContain('did not end');
  });

  it('prints its own lines only, and all of them', async () => {
    const before = fence("console.log('before');");
    const own = fence("console.log('own', 'line');");
    expect(await ran(page('<!-- ts: page -->', ...before, ...own))).toEqual({ output: 'own line', failure: null });
  });
});

describe('a page that points nowhere', () => {
  it.each([
    ['[text](no-such-file.md)', 'there is no docs/no-such-file.md'],
    ['![picture](marbles/no-such-picture.svg)', 'there is no docs/marbles/no-such-picture.svg'],
    ['<img src="marbles/no-such-picture.svg">', 'there is no docs/marbles/no-such-picture.svg'],
    ['[text](../CONTRIBUTING.md#no-such-heading)', 'CONTRIBUTING.md has no heading #no-such-heading'],
    ['Run `npm run no-such-script`.', 'there is no npm script no-such-script'],
    ['Run `npx tsx examples/no-such/main.ts`.', 'there is no examples/no-such/main.ts'],
    ['See `src/no-such-file.ts`.', 'there is no src/no-such-file.ts'],
    ['See `monitor-99`.', 'there is no scenario monitor-99'],
  ])('is told so for %s', (line, why) => {
    expect(deadEnds(page('Text.', line))).toEqual([`docs/a-page.md:2: ${why}`]);
  });

  it('is not told so for what exists, nor for addresses and code', () => {
    const addresses = '`[a](b)`, <https://example.org>, [c](https://example.org)';
    const lines = ['[text](../CONTRIBUTING.md#contributing)', addresses, '`npm run lint`'];
    expect(deadEnds(page(...lines))).toEqual([]);
  });
});
