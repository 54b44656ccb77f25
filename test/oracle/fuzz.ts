/**
 * Random traces through the model and the real admission: `npx tsx test/oracle/fuzz.ts --seed 1 --count 10000`. With
 * `--write file.yaml` the traces are written with what the model expects of them; `--show n` shrinks the first n that differ.
 */
import { createWriteStream } from 'node:fs';
import { parseArgs } from 'node:util';
import { expected } from './expectation.js';
import { generate } from './generate.js';
import { differences } from './real.js';
import { shrunk } from './shrink.js';
import type { Trace } from './trace.js';
import { written } from './write.js';

function main(): void {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      count: { type: 'string' },
      write: { type: 'string' },
      show: { type: 'string' },
    },
  });
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  const count = Number(values.count ?? 1000);
  const file = values.write === undefined ? null : createWriteStream(values.write);
  let show = Number(values.show ?? 3);
  let apart = 0;
  console.log(`${count} traces from seed ${seed}`);
  for (let n = 0; n < count; n += 1) {
    const trace = generate(seed + n);
    if (trace.moves.length === 0) file?.write(written(expected(trace).raw));
    const found = foundIn(trace);
    if (found.length === 0) continue;
    apart += 1;
    console.log(`APART ${trace.id}: ${found[0]?.slice(0, 300) ?? ''}`);
    if (show-- > 0) report(trace);
  }
  file?.end();
  console.log(`${count - apart} agree, ${apart} differ`);
  if (apart > 0) process.exitCode = 1;
}

/** A model that fails is a difference too. */
function foundIn(trace: Trace): readonly string[] {
  try {
    return differences(trace);
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  }
}

function report(trace: Trace): void {
  const smallest = shrunk(trace, (smaller) => foundIn(smaller).length > 0);
  console.log(written(expected(smallest).raw));
  for (const { after, gate, to } of smallest.moves) console.log(`  after step ${after}: ${gate} to ${to}`);
  for (const line of foundIn(smallest)) console.log(`  ${line}`);
}

main();
