/** P2: n jobs behind one gate, 10 at a time: what a job costs in a line of that length. */
import { CountingGate, createAdmission, demand } from 'rx-admission';
import { admitted, AT_ONCE, limited, merged } from './contended.js';
import { takeTurns, type Contestant, type Series } from './measure.js';
import { peers } from './peers.js';
import { beside, type Row } from './row.js';
import { sizesUpTo } from './settings.js';

const SHORT = 1_000;
const LONG = 100_000;
/** A fifth of mergeMap's time where its array has become slow. */
const FIFTH = 0.2;
/** The floor's own growth, which is the collector's, is 3 to 5 times. */
const GROWTH = 4;

/** How many times the peer's time ours may take, where anything is promised. */
function atMost(peer: string, n: number): number | undefined {
  switch (peer) {
    case 'mergeMap':
      return n >= LONG ? FIFTH : 1;
    case 'p-limit':
    case 'p-queue':
      return 1;
    case 'fastq.promise':
    case 'async-sema':
      return n >= LONG ? 1 : undefined;
    default:
      return undefined;
  }
}

const gate = (): CountingGate => new CountingGate({ name: 'gate', capacity: AT_ONCE });
const ours = (n: number): Contestant => admitted('ours', demand(gate()), n);

/** `run` gives a promise for each call, as those peers do. */
function asPromises(n: number): Contestant {
  const admission = createAdmission();
  const whole = demand(gate());
  return limited('run', (job) => admission.run(whole, job), n);
}

/** Whoever can bear a line of that length. */
function others(n: number): Contestant[] {
  const lanes = n <= LONG ? [merged(n)] : [];
  for (const { name, upTo, limit } of peers) {
    // Bottleneck has one size, of its own.
    const size = n === SHORT ? Math.min(n, upTo) : n;
    if (size <= upTo) lanes.push(limited(name, limit(AT_ONCE), size));
  }
  return lanes;
}

export async function* contended(): AsyncGenerator<Row> {
  for (const n of sizesUpTo(1e6)) {
    const lanes = [ours(n), ours(1e4), ...(n <= LONG ? [asPromises(n)] : []), ...others(n)];
    const [own, short, ...rest] = (await takeTurns(lanes)) as [Series, Series, ...Series[]];
    const promised = rest.find(({ name }) => name === 'run');
    const theirs = rest.filter((series) => series !== promised);
    for (const peer of theirs) yield beside({ bench: 'P2', what: '10 at a time' }, own, peer, atMost(peer.name, n));
    const limit = theirs.find(({ name }) => name === 'p-limit');
    if (promised && limit) yield beside({ bench: 'P2', what: '10 at a time, by run()' }, promised, limit);
    if (n === 1e6) yield beside({ bench: 'P2', what: 'growth' }, own, { ...short, name: 'ours at 10 k' }, GROWTH);
  }
}
