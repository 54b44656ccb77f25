/** Cancellation: most clients go away while they wait or run. Every permit comes back, and who stays is served. */
import { CountingGate, demand } from 'rx-admission';
import { percent, type Program } from './report.js';
import { World } from './world.js';

const SECONDS = 60;
const PERMITS = 10;

export const cancellation: Program = {
  name: 'cancellation',
  what: `400 asks/s of clients that leave after 50 ms on average, beside 50 asks/s of clients that stay, on ${PERMITS} permits`,
  load(seed) {
    const world = new World(seed);
    const gate = new CountingGate({ name: 'backend', capacity: PERMITS });
    const whole = demand(gate);
    let out = 0;
    let wrong = 0;
    const work = (): number => {
      // What is out is what runs, whoever left before.
      if (gate.inUse() > PERMITS || gate.inUse() !== world.running) wrong += 1;
      out = Math.max(out, gate.inUse());
      return world.exponential(100);
    };
    const staying = world.client({ name: 'staying', perSecond: 50, demand: () => whole, work });
    const leaving = world.client({ name: 'leaving', perSecond: 400, demand: () => whole, work, leaves: () => world.exponential(50) });
    world.runFor(SECONDS);
    const { waiters, grants } = world.admission.status();
    return {
      runs: [world.figures('staying', [staying]), world.figures('leaving', [leaving])],
      claims: [
        { what: `${leaving.left} of ${leaving.asked} left; ${out} permits were out at once, at most ${PERMITS}, and always as many as ran`, holds: out <= PERMITS && wrong === 0 && leaving.left > 0 },
        { what: `who stayed was served: ${percent(staying.done / staying.asked)}`, holds: staying.done === staying.asked },
        { what: `at the end nothing is out, waits, or is armed`, holds: gate.inUse() + waiters.length + grants.length + world.clock.actions.length === 0 },
      ],
    };
  },
};
