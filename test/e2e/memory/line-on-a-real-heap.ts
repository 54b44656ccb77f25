/**
 * A child of the end-to-end test: fills this very heap until the memory gate shuts, parks a line, drops what it held,
 * and says what became of the line. Prints one JSON record a line; told to go on by hand in the end where the
 * line still stands.
 *
 * `drains`: as shipped. `shut`: with `collect: false`.
 */
import { setTimeout } from 'node:timers/promises';
import { CountingGate, MemoryGate, createAdmission, demand } from 'rx-admission';

/** 512 KiB apiece, in pages of their own: the heap ends where its limit says, and collections move nothing. */
const NUMBERS = 65_536;
/** Milliseconds: above four fifths of a heap V8 wants the program to get two fifths of the time (CheckIneffectiveMarkCompact). */
const PAUSE = 8;
const JOBS = ['a', 'b', 'c', 'd', 'e'];

const mode = process.argv[2];
const say = (record: unknown): void => {
  console.log(JSON.stringify(record));
};
const latch = (line: string): void => {
  const [, moved] = /^memory: latch (set|cleared)/.exec(line) ?? [];
  say(moved === undefined ? { line } : { latch: moved });
};

const memory = new MemoryGate({
  log: { warn: latch, info: latch },
  ...(mode === 'shut' && { collect: false as const }),
});
const admission = createAdmission({ memory });
const pool = new CountingGate({ name: 'pool', capacity: 9 });

const hoard: number[][] = [];
while (!memory.latched) {
  hoard.push(Array<number>(NUMBERS).fill(hoard.length + 0.5));
  admission.tryAcquire(demand(pool))?.release();
  // The observer of collections gets its turn, as in a program that awaits things; and V8 ends a program that does
  // little else than collect near its limit.
  await setTimeout(PAUSE);
}

const over: Promise<void>[] = [];
for (const job of JOBS) {
  const work = (): void => {
    say({ granted: job });
  };
  over.push(admission.run(demand(pool), work, { job }));
}
say({ parked: admission.queueSize });
hoard.length = 0;

// Longer than two re-checks, and shorter than V8's own idle collection, which begins after eight seconds.
await Promise.race([Promise.all(over), setTimeout(6_000, undefined, { ref: false })]);
if (admission.queueSize > 0) {
  say({ stillParked: admission.queueSize, latched: memory.latched });
  memory.stop();
}
await Promise.all(over);
say({ inUse: pool.inUse(), waiting: admission.queueSize, latched: memory.latched });
