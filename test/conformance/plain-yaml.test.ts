/** The fast reader agrees with the full one, or leaves the text to it. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readPlainYaml } from './plain-yaml.js';

const textOf = (file: string): string => readFileSync(fileURLToPath(new URL(file, import.meta.url)), 'utf8');

describe('the plain part', () => {
  it.each(['scenarios.yaml', 'traces.yaml'])('%s reads the same', (file) => {
    const text = textOf(file);
    expect(readPlainYaml(text)).toEqual(parse(text));
  });
});

describe('whatever else YAML has is left to the full reader', () => {
  it.each([
    'a: 1\na: 2\n',
    'a: {b: 1, b: 2}\n',
    'a: 1 # comment\n',
    "a: 'single'\n",
    'a: |\n  text\n',
    'a: one\n  two\n',
    'a: &x 1\nb: *x\n',
    'a: 0x10\n',
    'a: 007\n',
    'a: ~\n',
    'a: .inf\n',
    'a: Null\n',
    'a: {b: 1,\n  c: 2}\n',
    '429: m\n',
    'a: [1, 2,]\n',
    'a:\n  - - 1\n',
    'a: "\\x41"\n',
    'a: b: c\n',
    'a:\tb\n',
    '{a: 1}\n',
    '"a\n',
  ])('%j', (text) => {
    expect(readPlainYaml(text)).toBeUndefined();
  });
});
