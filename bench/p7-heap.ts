/** P7: what a parked waiter costs in heap, the operator's own share and the peers' promises included. */
import { setImmediate } from 'node:timers/promises';
import { mergeMap, NEVER, range, type Observable, type Subscription } from 'rxjs';
import { CountingGate, createAdmission, demand, ElasticWindow, TokenBucket, type Demand } from 'rx-admission';
import { collect, ROUNDS, type Series } from './measure.js';
import { peers, type Limit } from './peers.js';
import { alone, beside, type Row } from './row.js';

const N = 200_000;
const WITH_ONE = 600;
const WITH_FOUR = 900;

/** Parks N behind one that never ends; answers how to let go of them. */
type Park = () => () => void;

async function heapPerWaiter(name: string, park: Park): Promise<Series> {
  const perJob: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) perJob.push(await bytesOf(park));
  return { name, n: N, perJob };
}

/** In a frame of its own: one that goes on keeps what its registers held last, and with it the line before this one. */
async function bytesOf(park: Park): Promise<number> {
  await setImmediate();
  const before = heapUsed();
  const letGo = park();
  // Some peers take their jobs in on a microtask.
  await setImmediate();
  const bytes = (heapUsed() - before) / N;
  letGo();
  return bytes;
}

function heapUsed(): number {
  collect();
  const { heapUsed: heap, external } = process.memoryUsage();
  return heap + external;
}

function parkedIn(jobs$: Observable<unknown>, waiting?: () => number): () => void {
  const subscription: Subscription = jobs$.subscribe();
  if (waiting && waiting() !== N) throw new Error(`${waiting()} wait, not ${N}`);
  return () => {
    subscription.unsubscribe();
    if (waiting && waiting() !== 0) throw new Error(`${waiting()} wait still`);
  };
}

function admitted(demandOf: Demand | (() => Demand)): Park {
  return () => {
    const admission = createAdmission();
    return parkedIn(range(N + 1).pipe(admission.admit(demandOf, () => NEVER)), () => admission.queueSize);
  };
}

function limited(limit: () => Limit): Park {
  return () => {
    const within = limit();
    const never = new Promise<number>(() => undefined);
    for (let index = 0; index <= N; index += 1) void within(() => never);
    return () => {
      void within(() => never);
    };
  };
}

const gate = (): CountingGate => new CountingGate({ name: 'gate', capacity: 1 });

function four(): () => Demand {
  const connections = new CountingGate({ name: 'connections', capacity: 100 });
  const bucket = new TokenBucket({ name: 'bucket', tokensPerMinute: 1e6 });
  const window = new ElasticWindow({ name: 'window', maxRequests: 1e6, baseWindow: 60_000 });
  const slots = gate();
  return () => demand(slots, connections, [bucket, 10], window);
}

export async function* heap(): AsyncGenerator<Row> {
  const about = { bench: 'P7', unit: 'bytes' } as const;
  const whole = four()();
  const single = await heapPerWaiter('ours', admitted(demand(gate())));
  yield alone({ ...about, what: 'one account' }, single, WITH_ONE);
  yield alone({ ...about, what: 'four accounts' }, await heapPerWaiter('ours', admitted(whole)), WITH_FOUR);
  yield alone({ ...about, what: 'four accounts, a new demand for each' }, await heapPerWaiter('ours', admitted(four())));
  const merged: Park = () => parkedIn(range(N + 1).pipe(mergeMap(() => NEVER, 1)));
  yield beside({ ...about, what: 'one account' }, single, await heapPerWaiter('mergeMap', merged));
  for (const { name, limit } of peers.filter(({ upTo }) => upTo >= 1e4)) {
    yield beside({ ...about, what: 'one account' }, single, await heapPerWaiter(name, limited(() => limit(1))));
  }
}
