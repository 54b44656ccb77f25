/** Release failure: some grants are forgotten, and some releases fail in one of two accounts. Permits do not fall over days. */
import { AbstractAccount, CountingGate, createAdmission, demand, type AdmissionOptions } from 'rx-admission';
import { config } from 'rxjs';
import { percent, type Figures, type Program } from './report.js';
import { World } from './world.js';

const SECONDS = 120;
const PERMITS = 10;
const WORK_MS = 100;
/** One in so many. */
const FORGOTTEN = 200;
const FAILING = 50;
const MAX_HOLD_MS = 2_000;

/** An account whose give fails now and then: it has taken the permit back, and says that something else went wrong. */
class Faulty extends AbstractAccount {
  readonly capacity = 1_000;
  #taken = 0;

  constructor(private readonly fails: () => boolean) {
    super('faulty');
  }
  inUse(): number {
    return this.#taken;
  }
  fits(mine: readonly number[]): boolean {
    return this.#taken + mine.length <= this.capacity;
  }
  tryTake(mine: readonly number[]): boolean {
    this.#taken += mine.length;
    return true;
  }
  give(amounts: readonly number[]): void {
    this.#taken -= amounts.length;
    if (this.fails()) throw new Error('the release failed');
  }
  earliestFit(): null {
    return null;
  }
}

interface Run {
  readonly figures: Figures;
  readonly left: number;
  readonly failures: number;
  readonly forgotten: number;
  readonly warnings: number;
}

function run(name: string, seed: number, faults: 'none' | 'some', options: AdmissionOptions): Run {
  const world = new World(seed);
  const log = { warn: (): void => undefined, info: (): void => undefined };
  const admission = createAdmission({ scheduler: world.clock, log, ...options });
  let warnings = 0;
  admission.warnings$.subscribe(() => {
    warnings += 1;
  });
  const gate = new CountingGate({ name: 'backend', capacity: PERMITS });
  const whole = demand(new Faulty(() => faults === 'some' && world.chance(1 / FAILING)), gate);
  let asked = 0;
  let done = 0;
  let failures = 0;
  let forgotten = 0;
  world.every((0.7 * PERMITS * 1_000) / WORK_MS, () => {
    asked += 1;
    world.look();
    const grant = admission.tryAcquire(whole);
    if (grant === null) return;
    if (faults === 'some' && world.chance(1 / FORGOTTEN)) {
      forgotten += 1;
      return;
    }
    world.clock.schedule(() => {
      done += 1;
      try {
        grant.release();
      } catch {
        failures += 1;
      }
    }, world.exponential(WORK_MS));
  });
  world.runFor(SECONDS);
  const figures = { ...world.figures(name), useful: done / SECONDS, shares: [done / asked] };
  return { figures, left: gate.inUse(), failures, forgotten, warnings };
}

export const releaseFailure: Program = {
  name: 'release-failure',
  what: `one grant in ${FORGOTTEN} is forgotten, and one release in ${FAILING} throws in another account of the demand`,
  async load(seed) {
    const sound = run('no faults', seed, 'none', {});
    const lost = run('faults', seed, 'some', {});
    // What is taken back has no caller who could be told that it failed: that is reported as RxJS reports errors.
    const before = config.onUnhandledError;
    let reported = 0;
    config.onUnhandledError = () => {
      reported += 1;
    };
    const recovered = run(`faults, recovered after ${MAX_HOLD_MS} ms`, seed, 'some', { maxHold: { after: MAX_HOLD_MS, recover: true } });
    await new Promise((done) => setTimeout(done));
    config.onUnhandledError = before;
    const share = ({ figures }: Run): number => figures.useful / sound.figures.useful;
    const { failures, forgotten, warnings, left } = recovered;
    return {
      runs: [sound.figures, lost.figures, recovered.figures],
      claims: [
        { what: `${failures} releases threw to their callers, ${reported} had none; ${left} permits are out at the end`, holds: failures > 0 && left === 0 },
        { what: `${forgotten} grants were forgotten, and ${warnings} warnings said so; ${percent(share(recovered))} of the work is done, at least 90 %`, holds: forgotten > PERMITS && warnings === forgotten && share(recovered) >= 0.9 },
        { what: `not recovered: ${lost.left} of ${PERMITS} permits are lost, and ${percent(share(lost))} is done, at most 60 %`, holds: lost.left > PERMITS / 2 && share(lost) <= 0.6 },
      ],
    };
  },
};
