/** `npm run marbles` draws every marble file; `npm run marbles -- --check` only says which pictures are stale. */
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { drawScenario } from './picture.js';
import { readScenario } from './scenario.js';

const FILES = new URL('./', import.meta.url);
const PICTURES = new URL('../docs/marbles/', import.meta.url);

const named = (folder: URL, extension: string): string[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith(extension))
    .map((file) => file.slice(0, -extension.length))
    .sort();

mkdirSync(PICTURES, { recursive: true });
const names = named(FILES, '.txt');
const checking = process.argv.includes('--check');
const stale: string[] = [];

for (const name of names) {
  const picture = new URL(`${name}.svg`, PICTURES);
  const drawn = drawScenario(name, readScenario(readFileSync(new URL(`${name}.txt`, FILES), 'utf8')));
  if (existsSync(picture) && readFileSync(picture, 'utf8') === drawn) continue;
  stale.push(`${name}.svg`);
  if (!checking) writeFileSync(picture, drawn);
}
for (const name of named(PICTURES, '.svg').filter((one) => !names.includes(one))) {
  stale.push(`${name}.svg (no such rule any more)`);
  if (!checking) rmSync(new URL(`${name}.svg`, PICTURES));
}

if (stale.length === 0) console.log(`marbles: ${names.length} pictures are up to date`);
else if (!checking) console.log(`marbles: drawn: ${stale.join(', ')}`);
else {
  console.error(`marbles: stale, run \`npm run marbles\`: ${stale.join(', ')}`);
  process.exitCode = 1;
}
