/** `npm run soak [-- --minutes 10] [--seed n]`: everything at random at full speed; nothing may be lost, nor may the heap grow. */
import { setImmediate, setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createAdmission } from 'rx-admission';
import { collect } from './measure.js';
import { randomOf } from './random.js';
import { Books } from './soak/books.js';
import { CountingScheduler } from './soak/counting-scheduler.js';
import { Jobs } from './soak/jobs.js';
import { growthOf, isFlat } from './soak/trend.js';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string' } } });
const minutes = Number(values.minutes);
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
if (!(minutes > 0)) throw new RangeError(`--minutes takes a number above 0, not ${values.minutes}`);
if (!Number.isInteger(seed)) throw new RangeError(`--seed takes a whole number, not ${values.seed ?? ''}`);

/** Looks at the heap in a run of any length. */
const LOOKS = 24;
const ACTS_A_TURN = 200;
/** A longer line is let off before more come. */
const LONGEST_LINE = 3_000;

const random = randomOf(seed);
const clock = new CountingScheduler();
const books = new Books(clock);
const admission = createAdmission({ scheduler: clock });
const jobs = new Jobs(admission, books, random);

function act(): void {
  const what = random();
  const crowded = admission.queueSize > LONGEST_LINE;
  if (what < 0.6) {
    if (!crowded) jobs.ask();
  } else if (what < 0.75 || crowded) jobs.cancel();
  else if (what < 0.97) jobs.settle();
  else if (what < 0.99) books.resize(random);
  else books.pause(random);
}

/** A turn of the event loop: acts, then all that they cause on microtasks; then everybody's books are compared. */
async function turn(): Promise<void> {
  for (let acts = 0; acts < ACTS_A_TURN; acts += 1) act();
  await setImmediate();
  check();
}

function check(): void {
  books.check();
  if (jobs.failures.length > 0) throw new AggregateError(jobs.failures, 'errors that nobody made');
}

/** Everybody leaves; nothing may be left. */
async function quiet(): Promise<void> {
  books.open();
  for (let patience = 2_000; patience > 0 && (jobs.pending > 0 || admission.queueSize > 0); patience -= 1) {
    jobs.endAll();
    await setTimeout(1);
  }
  jobs.endAll();
  await setImmediate();
  check();
  const inUse = books.gates.map((gate) => gate.inUse());
  if (jobs.pending > 0 || admission.queueSize > 0) throw new Error(`${jobs.pending} are pending, ${admission.queueSize} wait`);
  if (inUse.some((permits) => permits !== 0)) throw new Error(`nobody works, and ${inUse.join(', ')} permits are out`);
  if (clock.armed > 0) throw new Error(`nobody waits, and ${clock.armed} timers are armed`);
}

const heaps: number[] = [];
const began = performance.now();
const seconds = (): number => (performance.now() - began) / 1_000;
console.log(`seed ${seed}, ${minutes} minutes, Node ${process.version}`);
console.log('    s        asked      granted   heap, kB   rss, MB');
try {
  for (let look = 1; look <= LOOKS; look += 1) {
    while (seconds() < (minutes * 60 * look) / LOOKS) await turn();
    await quiet();
    collect();
    collect();
    const { heapUsed, rss } = process.memoryUsage();
    heaps.push(heapUsed);
    const columns = [
      seconds().toFixed(0).padStart(5),
      jobs.asked.toLocaleString('en').padStart(12),
      books.granted.toLocaleString('en').padStart(12),
      (heapUsed / 1e3).toFixed(0).padStart(10),
      (rss / 1e6).toFixed(0).padStart(9),
    ];
    console.log(columns.join(' '));
  }
  const growth = growthOf(heaps);
  const grew = growth === null ? 'too short a run to tell' : `${(growth / 1e3).toFixed(0)} kB from the first third to the last`;
  const flat = growth === null || isFlat(growth);
  console.log(`heap ${flat ? 'flat' : 'GROWS'}: ${grew}; ${Math.round(jobs.asked / seconds()).toLocaleString('en')} asks a second`);
  process.exitCode = flat ? 0 : 1;
} catch (error) {
  console.error(`broken after ${jobs.asked} asks; --seed ${seed} makes the same choices again`);
  console.error(error);
  process.exitCode = 1;
}
