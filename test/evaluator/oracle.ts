/**
 * The search against the walk over many random traces: `npm run oracle -- --count 20000 --seed 1`. Both must tell the same
 * of each: every event, grant, refusal and deadline, in order. What differs is shrunk, unless `--as-found`.
 */
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { search, walk } from '../../src/evaluator/pass.js';
import { difference, traces } from './traces.js';

const { values } = parseArgs({ options: { count: { type: 'string' }, seed: { type: 'string' }, 'as-found': { type: 'boolean' } } });
const numRuns = Number(values.count ?? 20_000);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));

const property = fc.property(traces, (trace) => {
  const found = difference(trace, walk, search);
  if (found !== null) throw new Error(found);
});
const { failed, numRuns: ran, counterexample, errorInstance } = fc.check(property, { numRuns, seed, endOnFailure: values['as-found'] ?? false });
if (failed) {
  console.log(`APART in trace ${ran} from seed ${seed}: ${errorInstance instanceof Error ? errorInstance.message : ''}`);
  console.log(JSON.stringify(counterexample));
  process.exitCode = 1;
} else console.log(`${ran} traces from seed ${seed}: no difference`);
