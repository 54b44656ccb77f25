/** A slow dependency: one of two becomes fifty times as slow. With a gate each, the other does not notice. */
import { CountingGate, demand, type Demand } from 'rx-admission';
import { percent, type Figures, type Program } from './report.js';
import { World, type Client } from './world.js';

const SECONDS = 60;
const SLOW_FROM_MS = 10_000;
const WORK_MS = 100;
const SLOW_MS = 5_000;
const PER_SECOND = 50;
const MAX_WAIT_MS = 500;

interface Demands {
  readonly slow: Demand;
  readonly sound: Demand;
}

function run(seed: number, demands: Demands, slowMs: number): { readonly world: World; readonly sound: Client } {
  const world = new World(seed);
  const client = (name: string, whole: Demand, work: () => number): Client =>
    world.client({ name, perSecond: PER_SECOND, demand: () => whole, work, maxWait: MAX_WAIT_MS });
  client('slow', demands.slow, () => world.exponential(world.clock.now() < SLOW_FROM_MS ? WORK_MS : slowMs));
  const sound = client('sound', demands.sound, () => world.exponential(WORK_MS));
  world.runFor(SECONDS);
  return { world, sound };
}

function gates(): Demands {
  return { slow: demand(new CountingGate({ name: 'slow', capacity: 10 })), sound: demand(new CountingGate({ name: 'sound', capacity: 10 })) };
}

function one(): Demands {
  const shared = demand(new CountingGate({ name: 'outgoing', capacity: 20 }));
  return { slow: shared, sound: shared };
}

export const slowDependency: Program = {
  name: 'slow-dependency',
  what: `two dependencies at ${PER_SECOND} calls/s; after ${SLOW_FROM_MS / 1_000} s the one takes ${SLOW_MS} ms in place of ${WORK_MS}`,
  load(seed) {
    const figures = (name: string, { world, sound }: ReturnType<typeof run>): Figures => world.figures(name, [sound]);
    const before = run(seed, gates(), WORK_MS);
    const apart = run(seed, gates(), SLOW_MS);
    const together = run(seed, one(), SLOW_MS);
    const answered = ({ sound }: ReturnType<typeof run>): number => sound.done / sound.asked;
    const of = (other: ReturnType<typeof run>): number => answered(other) / answered(before);
    return {
      runs: [
        figures('the sound one, both sound', before),
        figures('the sound one, a gate each', apart),
        figures('the sound one, one gate for both', together),
      ],
      claims: [
        { what: `a gate each: the sound one keeps ${percent(of(apart))} of its answers, at least 99 %`, holds: of(apart) >= 0.99 },
        { what: `one gate for both: it keeps ${percent(of(together))}, at most 40 %, the first ${SLOW_FROM_MS / 1_000} s of ${SECONDS} included`, holds: of(together) <= 0.4 },
      ],
    };
  },
};
