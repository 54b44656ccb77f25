/** Runs every example as its reader would, with a time limit each: `npm run examples [-- name…]`. */
import { existsSync, readdirSync } from 'node:fs';
import { run } from './run.js';

const LIMIT_MS = 60_000;

/** `start` is the main job: it has its own command, `npm start`, and its own step in CI. */
const OWN_COMMAND = new Set(['start']);

function examples(): string[] {
  if (!existsSync('examples')) return [];
  return readdirSync('examples', { withFileTypes: true })
    .filter((entry) => !OWN_COMMAND.has(entry.name))
    .flatMap((entry) => {
      if (entry.isFile() && entry.name.endsWith('.ts')) return [`examples/${entry.name}`];
      const main = `examples/${entry.name}/main.ts`;
      return existsSync(main) ? [main] : [];
    })
    .sort();
}

const asked = process.argv.slice(2);
const all = examples();
const chosen = asked.length === 0 ? all : all.filter((path) => asked.some((name) => path.includes(name)));
let failed = 0;

for (const path of chosen) {
  const ran = await run(process.execPath, ['--import', 'tsx', path], { limitMs: LIMIT_MS });
  const ok = ran.code === 0 && ran.output.trim() !== '';
  if (!ok) failed += 1;
  console.log(`${ok ? 'ok  ' : 'FAIL'}  ${path}  ${ran.seconds.toFixed(1)} s`);
  if (!ok) {
    console.log(ran.timedOut ? `still running after ${LIMIT_MS} ms` : `exit code ${String(ran.code)}`);
    console.log(ran.output === '' ? '(it printed nothing)' : ran.output);
  }
}

console.log(`examples: ${chosen.length - failed} passed, ${failed} failed`);
if (chosen.length === 0) console.error('no example found');
process.exitCode = failed > 0 || chosen.length === 0 ? 1 : 0;
