/** `npm run load [-- skewed-tenants …] [--seed n]`: loads an admission in virtual time, prints what came of it, and fails where a claim does. */
import { parseArgs } from 'node:util';
import { cancellation } from './cancellation.js';
import { http } from './http.js';
import { overload } from './overload.js';
import { releaseFailure } from './release-failure.js';
import { heading, lineOf } from './report.js';
import { resizeUnderLoad } from './resize-under-load.js';
import { skewedTenants } from './skewed-tenants.js';
import { slowDependency } from './slow-dependency.js';

const programs = [overload, slowDependency, cancellation, releaseFailure, resizeUnderLoad, skewedTenants, http];

const { values, positionals } = parseArgs({ allowPositionals: true, options: { seed: { type: 'string', default: '1' } } });
const seed = Number(values.seed);
if (!Number.isSafeInteger(seed)) throw new RangeError(`--seed takes a whole number, not ${values.seed}`);
const unknown = positionals.filter((asked) => !programs.some(({ name }) => name === asked));
if (unknown.length > 0) throw new Error(`there is no ${unknown.join(', ')}; there are ${programs.map(({ name }) => name).join(', ')}`);

let failed = 0;
for (const { name, what, load } of programs) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  console.log(`${name}: ${what} (seed ${seed})`);
  const { runs, claims } = await load(seed);
  console.log(heading);
  for (const run of runs) console.log(lineOf(run));
  for (const claim of claims) {
    if (!claim.holds) failed += 1;
    console.log(`  ${claim.holds ? 'holds' : 'FAILS'}  ${claim.what}`);
  }
  console.log('');
}
process.exitCode = failed > 0 ? 1 : 0;
