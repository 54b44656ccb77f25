/** P1: one gate that is never full, synchronous inners: what it costs that admission is there at all. */
import { mergeMap, of, range, type OperatorFunction } from 'rxjs';
import { CountingGate, createAdmission, demand } from 'rx-admission';
import { takeTurns, type Contestant } from './measure.js';
import { peers, type Limit } from './peers.js';
import { beside, type Row } from './row.js';

const N = 200_000;
const AT_ONCE = 4;
/** How many times its time ours may take. */
const AT_MOST: Readonly<Record<string, number>> = { mergeMap: 1.3, 'fastq.promise': 1, 'p-limit': 1, 'p-queue': 1 };
/** Fewer for who is slow: what each job costs is what counts. */
const SIZES: Readonly<Record<string, number>> = { 'async-mutex': 10_000, Effect: 10_000, bottleneck: 100 };

function streamed(name: string, operator: OperatorFunction<number, number>): Contestant {
  let seen = 0;
  const jobs$ = range(N).pipe(operator);
  return {
    name,
    n: N,
    batch: () => {
      seen = 0;
      jobs$.subscribe(() => {
        seen += 1;
      });
      if (seen !== N) throw new Error(`${name}: ${seen} of ${N} jobs ended`);
    },
  };
}

function awaited(name: string, limit: Limit): Contestant {
  const n = SIZES[name] ?? N;
  const job = (): Promise<number> => Promise.resolve(1);
  return {
    name,
    n,
    batch: async () => {
      let seen = 0;
      for (let index = 0; index < n; index += 1) seen += await limit(job);
      if (seen !== n) throw new Error(`${name}: ${seen} of ${n} jobs ended`);
    },
  };
}

export async function* uncontended(): AsyncGenerator<Row> {
  const gate = new CountingGate({ name: 'gate', capacity: AT_ONCE });
  const { admit } = createAdmission();
  const [ours, ...theirs] = await takeTurns([
    streamed('ours', admit(demand(gate), () => of(1))),
    streamed('mergeMap', mergeMap(() => of(1), AT_ONCE)),
    ...peers.map(({ name, limit }) => awaited(name, limit(AT_ONCE))),
  ]);
  if (ours === undefined) return;
  for (const peer of theirs) yield beside({ bench: 'P1', what: 'uncontended' }, ours, peer, AT_MOST[peer.name]);
}
