/** Every marble file is a test of the library and a picture; and no character of an expected line is there for show. */
import { readFileSync, readdirSync } from 'node:fs';
import { MarbleMismatch } from 'rx-admission/testing';
import { describe, expect, it } from 'vitest';
import { MarbleSyntaxError } from '../../marbles/format.js';
import { mutantsOf } from '../../marbles/mutants.js';
import { drawScenario } from '../../marbles/picture.js';
import { runScenario } from '../../marbles/run.js';
import { readScenario } from '../../marbles/scenario.js';

const FILES = new URL('../../marbles/', import.meta.url);
const PICTURES = new URL('../../docs/marbles/', import.meta.url);
const read = (folder: URL, file: string): string => readFileSync(new URL(file, folder), 'utf8');

const names = readdirSync(FILES)
  .filter((file) => file.endsWith('.txt'))
  .map((file) => file.replace('.txt', ''));

const run = (text: string): void => {
  runScenario(readScenario(text));
};

const outcome = (text: string): unknown => {
  try {
    run(text);
    return 'passes';
  } catch (error) {
    return error;
  }
};

describe.each(names)('marbles/%s.txt', (name) => {
  const text = read(FILES, `${name}.txt`);

  it('happens as drawn', () => {
    run(text);
  });

  it('fails when any character of an expected line is another one', () => {
    const mutants = mutantsOf(text);
    expect(mutants.length).toBeGreaterThan(10);
    const survivors = mutants.filter(({ text: changed }) => !(outcome(changed) instanceof MarbleMismatch));
    expect(survivors.map(({ change }) => change)).toEqual([]);
  });

  it('has its picture in docs/marbles', () => {
    const fresh = read(PICTURES, `${name}.svg`) === drawScenario(name, readScenario(text));
    expect(fresh, 'stale: npm run marbles').toBe(true);
  });

  it('has its picture and its rule in the index', () => {
    const index = read(PICTURES, 'README.md').replace(/\s+/g, ' ');
    expect(index).toContain(`](${name}.svg)`);
    expect(index).toContain(readScenario(text).rule);
  });
});

it('covers at least fifteen rules', () => {
  expect(names.length).toBeGreaterThanOrEqual(15);
});

const SMALL = `% A rule.

[accounts]
http = gate 1

source   ab------|
ab := http

inner a  --x|
subs     ^--!
inner b  --y|
subs     ---^--!

output   --x--y--|
`;

describe('a marble file', () => {
  it('passes when all of it is understood and all of it happens', () => {
    expect(outcome(SMALL)).toBe('passes');
  });

  it.each([
    ['a line of an unknown kind', 'output ', 'result '],
    ['a line without a shape', 'output   --x--y--|', 'output   --x--y--|--'],
    ['an unknown section', '[accounts]', '[limits]'],
    ['an unknown setting of a line', 'ab := http', 'ab := http\nmax weight = 3 ms'],
    ['an unknown setting of a section', '[accounts]', '[time]\nunit = 1 s\n\n[accounts]'],
    ['an account of no known kind', 'gate 1', 'door 1'],
    ['a demand on an account that it does not state', 'ab := http', 'ab := db'],
    ['a letter without a demand', 'ab := http', 'a := http'],
    ['a meaning for a letter that is not there', 'ab := http', 'abc := http'],
    ['a second meaning', 'ab := http', 'ab := http\na := http'],
    ['an error without its name', '--x--y--|', '--x--y--#'],
    ['marbles out of their column', 'output   --', 'output    --'],
    ['blanks at the end', 'gate 1', 'gate 1 '],
    ['no rule', '% A rule.\n\n', ''],
    ['an inner without a subscription line', 'subs     ^--!\n', ''],
    ['a source without an output', 'output   --x--y--|\n', ''],
    ['an output of nobody', 'output   --', 'output c --'],
    ['an inner that nobody asks for', 'inner b  --y|', 'inner c  --y|'],
    ['two sources', 'inner a  --x|', 'source   c--|\nc := http\ninner a  --x|'],
    ['a subscription of nothing', 'output   --x--y--|', 'output   --x--y--|\nsubs     ^--!'],
    ['something that nobody can do', 'inner a  --x|', 'actions  --s\ns := sleep http\ninner a  --x|'],
    ['a setting under nothing', '[accounts]\n', ''],
  ])('fails on %s', (_, part, changed) => {
    expect(SMALL).toContain(part);
    expect(outcome(SMALL.replace(part, changed))).toBeInstanceOf(MarbleSyntaxError);
  });

  it('names the line that it cannot read', () => {
    expect(() => readScenario(SMALL.replace('output ', 'result '))).toThrow('line 14: no line is called "result"');
  });
});
