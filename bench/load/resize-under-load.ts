/** Resizing under load: fewer permits cut nobody and let nobody start until what is out fits; more start at once. */
import { CountingGate, demand } from 'rx-admission';
import type { Claim, Program } from './report.js';
import { World } from './world.js';

const PHASE_MS = 20_000;
const WORK_MS = 100;
const PHASES = [20, 5, 40, 10] as const;
/** More than the largest phase can do. */
const PER_SECOND = 500;
const MAX_WAIT_MS = 300;

export const resizeUnderLoad: Program = {
  name: 'resize-under-load',
  what: `permits go ${PHASES.join(' → ')} under ${PER_SECOND} asks/s of ${WORK_MS} ms each`,
  load(seed) {
    const world = new World(seed);
    const gate = new CountingGate({ name: 'backend', capacity: PHASES[0] });
    const whole = demand(gate);
    const overages: number[] = [];
    let started = 0;
    let over = 0;
    const client = world.client({
      name: 'all',
      perSecond: PER_SECOND,
      demand: () => whole,
      work: () => {
        started += 1;
        if (gate.inUse() > gate.capacity) over += 1;
        return world.exponential(WORK_MS);
      },
      maxWait: MAX_WAIT_MS,
    });
    const counts: number[] = [];
    PHASES.forEach((permits, phase) => {
      world.at(phase * PHASE_MS, () => {
        counts.push(client.done);
        gate.resize(permits);
        overages.push(gate.status().overage);
      });
    });
    world.at(PHASES.length * PHASE_MS, () => counts.push(client.done));
    world.runFor((PHASES.length * PHASE_MS) / 1_000);
    const throughput = PHASES.map((permits, phase): Claim => {
      const done = ((counts[phase + 1] ?? 0) - (counts[phase] ?? 0)) / (PHASE_MS / 1_000);
      const able = Math.min(PER_SECOND, (permits * 1_000) / WORK_MS);
      return { what: `${permits} permits: ${done.toFixed(1)} answers/s of ${able} that they can do, within 10 %`, holds: Math.abs(done - able) <= 0.1 * able };
    });
    return {
      runs: [world.figures('all')],
      claims: [
        ...throughput,
        { what: `nobody started beyond the permits: ${over}; all ${started} that started ended`, holds: over === 0 && started === client.done },
        { what: `what was out beyond a lowered limit was reported: ${overages.join(', ')} permits over`, holds: overages[1] === 15 && overages[3] === 30 },
      ],
    };
  },
};
