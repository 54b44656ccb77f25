/** docs/llm-traps.md: whatever a row is shown by stands in the file that it links, as the name of a test or of a row of one. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readPage } from './read-page.js';

const { prose } = readPage('docs/llm-traps.md', readFileSync('docs/llm-traps.md', 'utf8'));

const rows = prose.filter(({ text }) => text.startsWith('| ') && !text.startsWith('| what they do |')).map(({ text, at }) => {
  const [trap = '', handling = '', shownBy = '', ...more] = text.slice(2, -2).split(' | ');
  return { at, trap, handling, shownBy, more };
});

/** Whatever is quoted in a file of tests, comments left out. */
function quoted(file: string): string[] {
  const code = readFileSync(file, 'utf8').replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '');
  return [...code.matchAll(/'((?:[^'\\\n]|\\.)*)'|`([^`]*)`/g)].map(([, single, template]) => (single ?? template ?? '').replaceAll(/\\(.)/g, '$1'));
}

describe('the traps of providers and SDKs', () => {
  it('are many, and each is named once', () => {
    expect(rows.length).toBeGreaterThan(100);
    const traps = rows.map(({ trap }) => trap);
    expect(traps.filter((trap, index) => traps.indexOf(trap) !== index)).toEqual([]);
  });

  it.each(rows)('are shown by a test, line $at', ({ handling, shownBy, more }) => {
    expect([handling.length > 2, more]).toEqual([true, []]);
    const [, title = '', file = ''] = /^\[(.+)\]\(\.\.\/(test\/\S+\.ts)\)$/.exec(shownBy) ?? [];
    expect(file, 'a link to a file of test/, by the name of a test').not.toBe('');
    expect(quoted(file).filter((text) => text.includes(title)), `${title} in ${file}`).not.toEqual([]);
  });
});
