/** Skewed tenants: one asks a hundred times as much as each of the others. Partitions keep it from costing them theirs. */
import { CountingGate, demand, type Demand } from 'rx-admission';
import { partitioned } from 'rx-admission/bulkhead';
import { percent, type Figures, type Program } from './report.js';
import { World } from './world.js';

const SECONDS = 300;
const PERMITS = 4;
const WORK_MS = 500;
const MAX_WAIT_MS = 2_000;
const OTHERS = ['a', 'b', 'c', 'd'] as const;
const PER_SECOND = 1;
const SKEW = 100;

interface Run {
  readonly figures: Figures;
  readonly others: number;
  readonly hog: number;
}

function run(name: string, seed: number, skew: number, demandOf: (tenant: string) => Demand): Run {
  const world = new World(seed);
  const others = OTHERS.map((tenant) =>
    world.client({ name: tenant, perSecond: PER_SECOND, demand: () => demandOf(tenant), work: () => world.exponential(WORK_MS), maxWait: MAX_WAIT_MS }),
  );
  const hog = skew === 0 ? null : world.client({ name: 'hog', perSecond: PER_SECOND * skew, demand: () => demandOf('hog'), work: () => world.exponential(WORK_MS), maxWait: MAX_WAIT_MS });
  world.runFor(SECONDS);
  const answered = others.reduce((sum, { done }) => sum + done, 0) / others.reduce((sum, { asked }) => sum + asked, 0);
  return { figures: world.figures(name, others), others: answered, hog: hog === null ? 0 : hog.done / SECONDS };
}

export const skewedTenants: Program = {
  name: 'skewed-tenants',
  what: `${OTHERS.length} tenants at ${PER_SECOND} ask/s and one at ${PER_SECOND * SKEW}, on ${PERMITS} permits of ${WORK_MS} ms; figures of the others`,
  load(seed) {
    const gate = (): ((tenant: string) => Demand) => {
      const whole = demand(new CountingGate({ name: 'backend', capacity: PERMITS }));
      return () => whole;
    };
    const parts = (): ((tenant: string) => Demand) => {
      const pool = partitioned({ name: 'backend', capacity: PERMITS });
      return (tenant) => demand(pool.of(tenant));
    };
    const alone = run('the others by themselves', seed, 0, gate());
    const apart = run('beside the hog, partitions', seed, SKEW, parts());
    const together = run('beside the hog, no partitions', seed, SKEW, gate());
    const loss = ({ others }: Run): number => 1 - others / alone.others;
    return {
      runs: [alone.figures, apart.figures, together.figures],
      claims: [
        { what: `with partitions the others lose ${percent(loss(apart))} of their throughput, at most 10 %`, holds: loss(apart) <= 0.1 },
        { what: `without partitions they lose ${percent(loss(together))}, at least 90 %`, holds: loss(together) >= 0.9 },
        { what: `the hog gets what they leave: ${apart.hog.toFixed(2)} answers/s with partitions, ${together.hog.toFixed(2)} without`, holds: apart.hog >= 0.9 * ((PERMITS * 1_000) / WORK_MS - OTHERS.length * PER_SECOND) },
      ],
    };
  },
};
