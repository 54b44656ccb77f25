/**
 * Whether the oracle finds what it is there for: `npm run oracle:bites` plants bugs in a copy of the index, one at a time,
 * and each must be found within the traces that CI runs.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

interface Planted {
  readonly bug: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const PLANTED: readonly Planted[] = [
  {
    bug: 'a subtree is skipped where an account turns everyone away',
    file: 'group.ts',
    from: 'if (at(greatest, place) > bound.most || Number.isNaN(bound.room) ||',
    to: 'if (at(greatest, place) > bound.most ||',
  },
  {
    bug: 'a subtree is skipped whose greatest unmarked amount just exceeds the room',
    file: 'group.ts',
    from: 'at(unmarked, place) > bound.room) return true;',
    to: 'at(unmarked, place) > bound.room + 1) return true;',
  },
  {
    bug: 'an inner node knows the least amount of its last subtree alone',
    file: 'group.ts',
    from: '        least = Math.min(least, at(below.least, place));',
    to: '        least = at(below.least, place);',
  },
  {
    bug: 'a withdrawal is forgotten: what was known before it still counts',
    file: 'line.ts',
    from: '    this.stamp += 1;\n    this.size -= 1;',
    to: '    this.size -= 1;',
  },
  {
    bug: 'an account that does not tell is taken for one that has not moved',
    file: 'group.ts',
    from: 'this.accounts[place]?.revision ?? NaN',
    to: 'this.accounts[place]?.revision ?? 0',
  },
  {
    bug: 'a deadline is taken from the first of a group alone',
    file: 'group.ts',
    from: 'found = level === 0 ? { instant, amounts } :',
    to: 'if (level === 0) return { instant, amounts }; found =',
  },
];

const copy = mkdtempSync(join(tmpdir(), 'planted-'));
try {
  for (const part of ['src', 'test/evaluator', 'package.json', 'tsconfig.json']) cpSync(part, join(copy, part), { recursive: true });
  symlinkSync(resolve('node_modules'), join(copy, 'node_modules'));
  const oracle = ['node_modules/tsx/dist/cli.mjs', 'test/evaluator/oracle.ts', '--seed', '1', '--as-found'];
  const isFound = (): boolean => spawnSync('node', oracle, { cwd: copy }).status === 1;
  let survivors = 0;
  for (const { bug, file, from, to } of PLANTED) {
    const path = join(copy, 'src/evaluator', file);
    const source = readFileSync(path, 'utf8');
    if (!source.includes(from)) throw new Error(`${file} has no line to plant "${bug}" in: ${from}`);
    writeFileSync(path, source.replace(from, to));
    const found = isFound();
    writeFileSync(path, source);
    console.log(`${found ? 'found   ' : 'SURVIVED'} ${bug}`);
    if (!found) survivors += 1;
  }
  console.log(`${PLANTED.length} bugs planted, ${survivors} survived`);
  if (survivors > 0) process.exitCode = 1;
} finally {
  rmSync(copy, { recursive: true });
}
