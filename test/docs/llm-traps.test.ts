/** docs/llm-traps.md: whatever a row is shown by stands in the file that it links, as the name of a test or of a row of one. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { TRAPS } from './llm-traps.js';

/** Whatever is quoted in a file of tests, comments left out. */
function quoted(file: string): string[] {
  const code = readFileSync(file, 'utf8').replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '');
  return [...code.matchAll(/'((?:[^'\\\n]|\\.)*)'|`([^`]*)`/g)].map(([, single, template]) => (single ?? template ?? '').replaceAll(/\\(.)/g, '$1'));
}

describe('the traps of providers and SDKs', () => {
  it('are many, and each is named once', () => {
    expect(TRAPS.length).toBeGreaterThan(100);
    const traps = TRAPS.map(({ trap }) => trap);
    expect(traps.filter((trap, index) => traps.indexOf(trap) !== index)).toEqual([]);
  });

  it.each(TRAPS)('are shown by a test, line $at', ({ handling, title, file, more }) => {
    expect([handling.length > 2, more]).toEqual([true, []]);
    expect(file, 'a link to a file of test/, by the name of a test').not.toBe('');
    expect(quoted(file).filter((text) => text.includes(title)), `${title} in ${file}`).not.toEqual([]);
  });
});
