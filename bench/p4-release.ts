/** P4: one release, while n wait behind a head that is short elsewhere, and each of them stays short. */
import { NEVER, range } from 'rxjs';
import { CountingGate, createAdmission, demand, type Admission, type Demand, type Grant } from 'rx-admission';
import { eachByItself } from './each-by-itself.js';
import { collect, type Series } from './measure.js';
import { alone, beside, type Row } from './row.js';
import { sizesUpTo } from './settings.js';

const RELEASES = 1_000;
/** Steps before any counts: the compiler's. */
const WARM_UP = 300;
const SHORT = 1e3;
const LONG = 1e6;
const GROWTH = 3;
const RELEASE_NS = 50e3;
const PASS_NS = 20e6;
const PASS_WAITERS = 10_000;
/** Who joins a line of as many sets asks all of them: ten thousand would take minutes to park. */
const SETS = 1_000;
const PASSES = 50;

function taken(admission: Admission, whole: Demand): Grant {
  const grant = admission.tryAcquire(whole);
  if (grant === null) throw new Error('it should have been free');
  return grant;
}

/** Parks one for each of `demands` behind a head that waits for a gate which stays taken. */
function parked(admission: Admission, n: number, demandOf: (index: number) => Demand): () => void {
  const closed = new CountingGate({ name: 'closed', capacity: 1 });
  taken(admission, demand(closed));
  const head = demand(closed);
  const line = range(n + 1).pipe(admission.admit((index) => (index === 0 ? head : demandOf(index - 1)), () => NEVER));
  const subscription = line.subscribe();
  const check = (left: number): void => {
    if (admission.queueSize !== left) throw new Error(`${admission.queueSize} wait, not ${left}`);
  };
  check(n + 1);
  return () => {
    check(n + 1);
    subscription.unsubscribe();
    check(0);
  };
}

/** The waiters ask for all of the gate, and it comes back permit by permit: no release suffices for any. */
function releases(n: number): Series {
  const admission = createAdmission();
  const steps = WARM_UP + RELEASES;
  const gate = new CountingGate({ name: 'gate', capacity: steps + 1 });
  const single = demand(gate);
  const grants = Array.from({ length: steps + 1 }, () => taken(admission, single));
  const whole = demand([gate, steps + 1]);
  const leave = parked(admission, n, () => whole);
  collect();
  const series = eachByItself('ours', n, steps, (index) => grants[index]?.release());
  if (gate.inUse() !== 1) throw new Error(`${gate.inUse()} permits are out, not 1`);
  leave();
  return { ...series, perJob: series.perJob.slice(WARM_UP) };
}

/** All ask for one gate in amounts of their own, and all are short. */
function passOverAmounts(): Series {
  const admission = createAdmission();
  const capacity = 2 * PASS_WAITERS + PASSES;
  const gate = new CountingGate({ name: 'gate', capacity });
  const rest = taken(admission, demand([gate, capacity - PASSES]));
  const grants = Array.from({ length: PASSES }, () => taken(admission, demand(gate)));
  const leave = parked(admission, PASS_WAITERS, (index) => demand([gate, PASSES + 1 + index]));
  const series = eachByItself('ours', PASS_WAITERS, PASSES, (index) => grants[index]?.release());
  leave();
  rest.release();
  return series;
}

/** Each asks for a place that all share and for a gate of its own, which is taken: as many sets of accounts as waiters. */
function overSets(): { arrivals: Series; passes: Series } {
  const admission = createAdmission();
  const shared = new CountingGate({ name: 'shared', capacity: SETS });
  const own = Array.from({ length: SETS }, (_, index) => new CountingGate({ name: `own ${index}`, capacity: 1 }));
  for (const gate of own) taken(admission, demand(gate));
  const grants = Array.from({ length: PASSES }, () => taken(admission, demand(shared)));
  const demands = own.map((gate) => demand(shared, gate));
  const began = performance.now();
  const leave = parked(admission, SETS, (index) => demands[index] ?? demand(shared));
  const arrivals = { name: 'ours', n: SETS, perJob: [((performance.now() - began) * 1e6) / SETS] };
  const passes = eachByItself('ours', SETS, PASSES, (index) => grants[index]?.release());
  leave();
  return { arrivals, passes };
}

export function* release(): Generator<Row> {
  const about = { bench: 'P4', what: 'one release' };
  // The compiler's, before any counts.
  releases(SHORT);
  const short = releases(SHORT);
  yield alone(about, short, RELEASE_NS);
  for (const n of sizesUpTo(LONG).filter((size) => size > SHORT)) {
    const series = releases(n);
    yield alone(about, series, RELEASE_NS);
    yield beside({ ...about, what: 'growth' }, series, { ...short, name: 'ours at 1 k' }, n === LONG ? GROWTH : undefined);
  }
  yield alone({ bench: 'P4', what: 'a pass over so many amounts' }, passOverAmounts(), PASS_NS);
  const { arrivals, passes } = overSets();
  yield alone({ bench: 'P4', what: 'a pass over so many sets of accounts' }, passes, PASS_NS);
  yield alone({ bench: 'P4', what: 'an arrival behind so many sets' }, arrivals);
}
