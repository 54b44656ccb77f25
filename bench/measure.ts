/** Takes turns: ours and the peers', interleaved in one run, after a warm-up, with a collection before each. */
import { cpuClock } from './cpu-time.js';

/** Somebody whose work is timed. */
export interface Contestant {
  readonly name: string;
  /** Jobs in one batch. */
  readonly n: number;
  /** One batch. It throws when a job was lost, or when more ran at once than may. */
  readonly batch: () => void | Promise<void>;
}

/** What a contestant took for one job, ns of CPU time, one figure a round. */
export interface Series {
  readonly name: string;
  readonly n: number;
  readonly perJob: readonly number[];
}

/** Rounds that count. */
export const ROUNDS = 7;
/** A turn repeats its batch until it takes about so long: the clock's own error is then far below one per cent. */
const TURN_NS = 40e6;
/**
 * A full collection throws optimized code away whose closures or shapes it found dead, and what follows runs two to five
 * times slower until it is compiled again. That is a price of our collecting between turns, not of the work, and the more
 * closures a library makes the higher it is: so each turn runs untimed for about so long first.
 */
const WARM_UP_NS = 80e6;
/** A batch of such length, or of so many jobs, warms itself up: the slow beginning is lost in it. */
const LONG_NS = 400e6;
const MANY = 1e6;
/** Rounds of warm-up before anything counts. */
const WARM_UPS = 2;

/** Collects, all of it, at once. */
export function collect(): void {
  if (globalThis.gc === undefined) throw new Error('run node with --expose-gc');
  globalThis.gc();
}

/** A contestant, and what its turns have shown so far. */
class Lane {
  readonly perJob: number[] = [];
  #batchNs = Infinity;

  constructor(readonly contestant: Contestant) {}

  /** Untimed batches; the last one tells how long a batch is. */
  async warmUp(): Promise<void> {
    if (this.contestant.n >= MANY || (this.#batchNs !== Infinity && this.#batchNs > LONG_NS)) return;
    let spent = 0;
    while (spent < WARM_UP_NS) {
      this.#batchNs = await this.#run(1);
      spent += this.#batchNs;
    }
  }

  async takeTurn(): Promise<void> {
    collect();
    await this.warmUp();
    const repeats = Math.max(1, Math.round(TURN_NS / this.#batchNs));
    this.perJob.push((await this.#run(repeats)) / (repeats * this.contestant.n));
  }

  async #run(repeats: number): Promise<number> {
    const { batch } = this.contestant;
    const began = cpuClock.read();
    for (let done = 0; done < repeats; done += 1) await batch();
    return cpuClock.read() - began;
  }
}

/** Each round, everybody has a turn; who begins moves on by one each round. */
export async function takeTurns(contestants: readonly Contestant[], rounds = ROUNDS): Promise<Series[]> {
  const lanes = contestants.map((contestant) => new Lane(contestant));
  for (const lane of lanes) {
    for (let time = 0; time < WARM_UPS; time += 1) await lane.warmUp();
  }
  for (let round = 0; round < rounds; round += 1) {
    const first = round % lanes.length;
    for (const lane of [...lanes.slice(first), ...lanes.slice(0, first)]) await lane.takeTurn();
  }
  return lanes.map(({ contestant: { name, n }, perJob }) => ({ name, n, perJob }));
}
