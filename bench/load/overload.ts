/** Overload: twice as much is asked as can be done. A bounded line sheds it; an unbounded one answers everybody too late. */
import { CountingGate, demand, type AdmissionOptions } from 'rx-admission';
import { percent, percentile, type Program } from './report.js';
import { World } from './world.js';

const SECONDS = 60;
const PERMITS = 10;
const WORK_MS = 100;
/** What the permits can do at most, per second. */
const CAPACITY = (PERMITS * 1_000) / WORK_MS;
const CLIENTS = 10;
const IN_TIME_MS = 1_000;

function run(seed: number, options: AdmissionOptions, maxWait?: number): World {
  const world = new World(seed, options);
  const gate = new CountingGate({ name: 'backend', capacity: PERMITS });
  const whole = demand(gate);
  for (let n = 0; n < CLIENTS; n += 1) {
    world.client({
      name: `client ${n}`,
      perSecond: (2 * CAPACITY) / CLIENTS,
      demand: () => whole,
      work: () => world.exponential(WORK_MS),
      within: IN_TIME_MS,
      ...(maxWait === undefined ? {} : { maxWait }),
    });
  }
  world.runFor(SECONDS);
  return world;
}

export const overload: Program = {
  name: 'overload',
  what: `${CLIENTS} clients ask twice what ${PERMITS} permits can do; an answer is of use within ${IN_TIME_MS} ms`,
  load(seed) {
    const bounded = run(seed, { maxWaiters: 40 }, 500).figures('line of 40, maxWait 500 ms');
    const unbounded = run(seed, {}).figures('unbounded line');
    return {
      runs: [bounded, unbounded],
      claims: [
        { what: `bounded: ${percent(bounded.useful / CAPACITY)} of the capacity is useful, at least 90 %`, holds: bounded.useful >= 0.9 * CAPACITY },
        { what: `bounded: nobody waits for more than 500 ms, and never more than 40 do`, holds: Math.floor(percentile(bounded.waits, 1)) <= 500 && bounded.peakWaiters <= 40 },
        { what: `unbounded: ${percent(unbounded.useful / CAPACITY)} is useful, at most 10 %, on the same work`, holds: unbounded.useful <= 0.1 * CAPACITY },
      ],
    };
  },
};
