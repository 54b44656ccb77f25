/** What `nested` costs: awaits and jobs in a process that follows jobs, beside one that does not. Run once with `off`, once with `lend`. */
import { CountingGate, createAdmission, demand, type NestedPolicy } from 'rx-admission';
import { cpuClock } from './cpu-time.js';

const nested = (process.argv[2] ?? 'off') as NestedPolicy;
const AWAITS = 200_000;
const JOBS = 100_000;
/** As in the other rows: the least of this many turns. */
const TURNS = 7;

const whole = demand(new CountingGate({ name: 'gate', capacity: 4 }));
const admission = createAdmission({ nested });
const leaf = (): Promise<void> => Promise.resolve();

async function awaits(): Promise<void> {
  for (let n = 0; n < AWAITS; n += 1) await leaf();
}

async function jobs(): Promise<void> {
  for (let n = 0; n < JOBS; n += 1) await admission.run(whole, leaf);
}

async function least(count: number, work: () => Promise<void>): Promise<string> {
  let best = Infinity;
  for (let turn = 0; turn < TURNS; turn += 1) {
    const since = cpuClock.read();
    await work();
    best = Math.min(best, (cpuClock.read() - since) / count);
  }
  return `${best.toFixed(0)} ns`;
}

// The first job of an admission that follows makes the runtime follow every promise from then on.
await admission.run(whole, leaf);
const outside = await least(AWAITS, awaits);
const inside = await least(AWAITS, () => admission.run(whole, awaits));
console.log(`nested ${nested}: an await ${outside}, one inside a job ${inside}, a job ${await least(JOBS, jobs)}`);
