/** P6: half of those who wait leave, in random order, one by one: unsubscribed, or aborted by a signal of their own. */
import { NEVER } from 'rxjs';
import { CountingGate, createAdmission, demand, type Admission, type Demand } from 'rx-admission';
import { cpuClock } from './cpu-time.js';
import { collect, ROUNDS, type Series } from './measure.js';
import { randomOf } from './random.js';
import { alone, beside, type Row } from './row.js';

const SHORT = 2_000;
const LONG = 200_000;
const GROWTH = 3;
const WITHDRAWAL_NS = 10e3;
/** The short line is withdrawn from so many times a round, or its time would be lost in the clock's. */
const SHORT_LINES = 8;

/** Parks one; answers how it leaves. */
type Park = (admission: Admission, whole: Demand) => () => void;

const unsubscribed: Park = (admission, whole) => {
  const waiting = admission.defer(whole, () => NEVER).subscribe();
  return () => {
    waiting.unsubscribe();
  };
};

const aborted: Park = (admission, whole) => {
  const leaving = new AbortController();
  admission.acquire(whole, { signal: leaving.signal }).catch(() => undefined);
  return () => {
    leaving.abort();
  };
};

function shuffled<T>(values: T[]): T[] {
  const random = randomOf(values.length);
  for (let last = values.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [values[last], values[other]] = [values[other] as T, values[last] as T];
  }
  return values;
}

/** ns of CPU time for each withdrawal out of one line. */
async function leaving(park: Park, n: number): Promise<number> {
  const admission = createAdmission();
  const gate = new CountingGate({ name: 'gate', capacity: 1 });
  const whole = demand(gate);
  const held = admission.tryAcquire(whole);
  const line = shuffled(Array.from({ length: n }, () => park(admission, whole)));
  if (admission.queueSize !== n) throw new Error(`${admission.queueSize} wait, not ${n}`);
  const half = line.slice(0, n / 2);
  if (n === LONG) collect();
  const began = cpuClock.read();
  for (const leave of half) leave();
  const spent = cpuClock.read() - began;
  if (admission.queueSize !== n / 2) throw new Error(`${admission.queueSize} wait, not ${n / 2}`);
  // The line still works: the next one goes.
  held?.release();
  if (admission.queueSize !== n / 2 - 1) throw new Error('nobody was let in');
  // Who is let in and takes no notice is found by the collector, one after the other: until then the line is kept, all of it.
  admission.stop();
  // The rejections are read.
  await Promise.resolve();
  return spent / half.length;
}

async function measured(park: Park): Promise<{ short: Series; long: Series }> {
  const short: number[] = [];
  const long: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    collect();
    let sum = 0;
    // As many again, before any counts: a collection costs the compiled code.
    for (let line = 0; line < 2 * SHORT_LINES; line += 1) {
      const each = await leaving(park, SHORT);
      if (line >= SHORT_LINES) sum += each;
    }
    const each = await leaving(park, LONG);
    // The first round warms up.
    if (round === 0) continue;
    short.push(sum / SHORT_LINES);
    long.push(each);
  }
  return { short: { name: 'ours, half of 2 k', n: SHORT, perJob: short }, long: { name: 'ours', n: LONG, perJob: long } };
}

export async function* withdrawal(): AsyncGenerator<Row> {
  for (const [what, park] of [
    ['half unsubscribe', unsubscribed],
    ['half are aborted', aborted],
  ] as const) {
    const { short, long } = await measured(park);
    yield alone({ bench: 'P6', what }, long, WITHDRAWAL_NS);
    yield beside({ bench: 'P6', what: `${what}, growth` }, long, short, GROWTH);
  }
}
