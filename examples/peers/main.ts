/** What mergeMap, p-limit, p-queue and bottleneck do in situations that admission has a rule for: run, as a table. */
import { probes } from './probes.js';

const NAMES = ['mergeMap', 'p-limit', 'p-queue', 'bottleneck', 'rx-admission'] as const;

const rows: string[][] = [];
let kept = true;
for (const { question, ours, answers } of probes) {
  const row = [question];
  for (const name of NAMES) row.push((await answers[name]?.()) ?? '–');
  kept &&= row.at(-1) === ours;
  rows.push(row);
}

console.log(`| | ${NAMES.join(' | ')} |`);
console.log(`|---|${NAMES.map(() => '---|').join('')}`);
for (const row of rows) console.log(`| ${row.join(' | ')} |`);
console.log(kept ? '\nKept: the last column is what admission promises.' : '\nBroken: the last column is not.');
// The peers that got stuck keep timers; they are part of what was shown.
process.exit(kept ? 0 : 1);
