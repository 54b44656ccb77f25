/**
 * The admission against a model written from the rules alone: every event, grant, refusal and deadline of random traces.
 * `ORACLE_SEED` and `ORACLE_COUNT` choose them; what once told the two apart stays in regressions.yaml.
 */
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { disagreements } from './agreement.js';
import { deepLine } from './deep-line.js';
import { expected } from './expectation.js';
import { generate } from './generate.js';
import { differences } from './real.js';
import { judge } from '../conformance/run-scenario.js';
import { entriesOf } from '../conformance/scenario-file.js';
import { scenarioOf, type Running } from '../conformance/scenario.js';

const seed = Number(process.env.ORACLE_SEED ?? Math.floor(Math.random() * 2 ** 31));
const count = Number(process.env.ORACLE_COUNT ?? 300);
const AT_ONCE = 50;
/** Ten seconds of work, on a machine that may be busy with other tests. */
const PATIENCE = 120_000;

async function running(file: string): Promise<{ scenario: Running; value: unknown }[]> {
  const all: { scenario: Running; value: unknown }[] = [];
  for await (const entry of entriesOf(fileURLToPath(new URL(file, import.meta.url)))) {
    const value = 'value' in entry ? entry.value : entry;
    const scenario = scenarioOf(value);
    if (!scenario.manual) all.push({ scenario, value });
  }
  return all;
}

describe('the model', () => {
  it.each(['../conformance/scenarios.yaml', '../conformance/traces.yaml', 'regressions.yaml'])(
    'comes to what %s expects',
    async (file) => {
      const apart = (await running(file)).map(({ scenario }) => ({ id: scenario.id, apart: disagreements(scenario) }));
      expect(apart.filter(({ apart: found }) => found.length > 0)).toEqual([]);
      expect(apart.length).toBeGreaterThan(0);
    },
  );

  it('is told apart from a file that expects a grant a millisecond later', async () => {
    const [first] = await running('../conformance/scenarios.yaml');
    const late = new Map([...(first?.scenario.expect.grantedAt ?? [])].map(([job, at]) => [job, at + 1]));
    expect(late.size).toBeGreaterThan(0);
    expect(
      first && disagreements({ ...first.scenario, expect: { ...first.scenario.expect, grantedAt: late } }),
    ).not.toEqual([]);
  });
});

describe('the admission', () => {
  it('does what the model does in every trace that once told them apart', async () => {
    const verdicts = (await running('regressions.yaml')).map(({ value }) => judge({ value }));
    expect(verdicts.filter(({ verdict }) => verdict !== 'passed')).toEqual([]);
  });

  for (let first = seed; first < seed + count; first += AT_ONCE) {
    const many = Math.min(AT_ONCE, seed + count - first);
    it(`does what the model does in ${many} random traces from seed ${first}`, { timeout: PATIENCE }, () => {
      for (let n = first; n < first + many; n += 1) {
        expect(differences(generate(n)), `npm run fuzz -- --seed ${n} --count 1`).toEqual([]);
      }
    });
  }

  it('does what the model does with two thousand waiters', { timeout: PATIENCE }, () => {
    const { raw, outcome } = expected(deepLine(2000));
    expect(outcome.world.line.books.events.length).toBeGreaterThan(4000);
    expect(judge({ value: raw }).complaints).toEqual([]);
  });
});
