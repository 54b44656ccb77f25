/** P8: timers while 100 k wait on clocked accounts, each until an instant of its own; and what a grant at its deadline costs. */
import { NEVER, range } from 'rxjs';
import { createAdmission, demand, TokenBucket } from 'rx-admission';
import { HandClock } from './hand-clock.js';
import { collect, type Series } from './measure.js';
import { alone, type Row } from './row.js';

const WAITERS = 100_000;
/** As many models, each with its own line of them. */
const BUCKETS = 10;
const TOKENS_PER_MINUTE = 6_000_000;
const GRANTS = 1_000;
const WARM_UP = 300;
/** As P4: one release. */
const GRANT_NS = 50e3;

interface Found {
  readonly mostArmed: number;
  readonly grants: Series;
}

function run(): Found {
  const clock = new HandClock();
  const admission = createAdmission({ scheduler: clock });
  const buckets = Array.from(
    { length: BUCKETS },
    (_, index) => new TokenBucket({ name: `model ${index}`, tokensPerMinute: TOKENS_PER_MINUTE + index, scheduler: clock }),
  );
  let granted = 0;
  const first = demand(...buckets.map((bucket) => [bucket, bucket.capacity] as const));
  const line = range(WAITERS + 1).pipe(
    admission.admit(
      (index) => {
        const bucket = buckets[index % BUCKETS];
        // The first empties every bucket. No two ask for as much, so that no two deadlines are the same.
        return index === 0 || bucket === undefined ? first : demand([bucket, 1_000 + index]);
      },
      () => {
        granted += 1;
        return NEVER;
      },
    ),
  );
  const subscription = line.subscribe();
  const parked = admission.queueSize;
  if (parked !== WAITERS || clock.armed() !== 1) throw new Error(`${parked} wait, and ${clock.armed()} timers are armed`);
  collect();
  const perJob: number[] = [];
  while (perJob.length < WARM_UP + GRANTS) {
    const before = granted;
    const began = performance.now();
    clock.sleep();
    const took = (performance.now() - began) * 1e6;
    if (granted > before) perJob.push(took / (granted - before));
    if (clock.armed() !== 1) throw new Error(`${clock.armed()} timers are armed, not one`);
  }
  if (admission.queueSize !== WAITERS + 1 - granted) throw new Error('somebody is lost');
  subscription.unsubscribe();
  if (clock.armed() !== 0) throw new Error(`${clock.armed()} timers are armed, and nobody waits`);
  return { mostArmed: clock.mostArmed, grants: { name: 'ours', n: WAITERS, perJob: perJob.slice(WARM_UP) } };
}

export function* deadlines(): Generator<Row> {
  const { mostArmed, grants } = run();
  const about = { bench: 'P8', what: 'timers armed at once' };
  yield alone({ ...about, unit: 'count' }, { name: 'ours', n: WAITERS, perJob: [mostArmed] }, 1);
  yield alone({ ...about, what: 'a grant at its deadline' }, grants, GRANT_NS);
}
