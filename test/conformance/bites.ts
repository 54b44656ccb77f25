/**
 * Shows that the runner bites: makes every number and every word that a scenario expects wrong, one at a time, and each
 * time that scenario must fail. `npm run conformance:bites -- --sample 500 [--seed 7]` takes some of them.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { changesTo, type Change } from './changes.js';
import { judge } from './run-scenario.js';
import { entriesOf } from './scenario-file.js';

interface Raw {
  readonly id: string;
  readonly given: { readonly accounts?: Readonly<Record<string, string>> };
  readonly expect: Record<string, unknown>;
}

interface Bite {
  readonly scenario: Raw;
  readonly change: Change;
}

const OWN = fileURLToPath(new URL('scenarios.yaml', import.meta.url));

async function bitesOf(path: string): Promise<readonly Bite[]> {
  const bites: Bite[] = [];
  for await (const entry of entriesOf(path)) {
    const { id, verdict, complaints } = judge(entry);
    if (verdict === 'failed') throw new Error(`${id} fails as it stands: ${complaints.join('; ')}`);
    if (verdict === 'skipped' || 'unreadable' in entry) continue;
    const scenario = entry.value as Raw;
    const accounts = Object.entries(scenario.given.accounts ?? {});
    const doubles = new Set(accounts.filter(([, spec]) => spec.startsWith('scripted double')).map(([name]) => name));
    for (const change of changesTo(scenario.expect, doubles)) bites.push({ scenario, change });
  }
  return bites;
}

function survives({ scenario, change }: Bite): boolean {
  const changed = structuredClone(scenario);
  change.apply(changed.expect);
  return judge({ value: changed }).verdict !== 'failed';
}

/** Marsaglia's xorshift: the same seed takes the same sample anywhere. */
function sampled<T>(all: readonly T[], size: number, seed: number): readonly T[] {
  let state = seed | 0 || 1;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
  const rest = [...all];
  return Array.from({ length: Math.min(size, all.length) }, () => rest.splice(Math.floor(next() * rest.length), 1)).flat();
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { sample: { type: 'string' }, seed: { type: 'string' } },
    allowPositionals: true,
  });
  const all = (await Promise.all((positionals.length > 0 ? positionals : [OWN]).map(bitesOf))).flat();
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  const taken = values.sample === undefined ? all : sampled(all, Number(values.sample), seed);
  if (values.sample !== undefined) console.log(`sample of ${taken.length} of ${all.length} changes, seed ${seed}`);
  let moved = 0;
  let survived = 0;
  for (const bite of taken) {
    if (!survives(bite)) continue;
    const { scenario, change } = bite;
    if (change.kind === 'moves') moved += 1;
    else {
      survived += 1;
      console.log(`SURVIVED ${scenario.id} expect.${change.path.join('.')}: ${change.from} -> ${change.to}`);
    }
  }
  // A check that is asked a millisecond or a step away and gets the same answer states something just as true.
  console.log(`${taken.length} changes, ${taken.length - moved - survived} caught, ${moved} as true as before, ${survived} survived`);
  if (survived > 0 || taken.length === 0) process.exitCode = 1;
}

await main();
