/** A key never has two identities that are alive: who holds, waits or has looked it up sees the same one. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createAdmission, demand } from 'rx-admission';
import { partitioned, type Partition } from 'rx-admission/bulkhead';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Identities } from '../../src/bulkhead/partition-identities.js';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { Job } from '../admit/job.js';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

/** A collection frees what nothing can reach, once the job that looked at it has ended. */
async function collected(): Promise<void> {
  await new Promise((done) => setImmediate(done));
  gc();
}

const KEYS = ['a', 'b', 'c', 'd', 'e'];
const key = fc.constantFrom(...KEYS);
const act = fc.oneof(
  fc.record({ kind: fc.constant('look up' as const), key }),
  fc.record({ kind: fc.constant('ask' as const), key }),
  fc.record({ kind: fc.constantFrom('ask with what was looked up' as const, 'drop' as const, 'leave' as const, 'release' as const), which: fc.nat(100) }),
  fc.record({ kind: fc.constant('resize' as const), shared: fc.constantFrom([], ['a'], ['a', 'b']) }),
  fc.constant({ kind: 'collect' as const }),
);

describe('the identity of a key', () => {
  it('is one, however keys come, are kept, retire and come back', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 30, size: 'max' }), async (acts) => {
        const admission = createAdmission({ scheduler: new CountingScheduler() });
        const pool = partitioned({ name: 'calls', capacity: 3, maxPartitions: 3 });
        const looked: Partition[] = [];
        let jobs: { readonly partition: Partition; readonly job: Job }[] = [];
        const start = (partition: Partition): void => {
          jobs.push({ partition, job: new Job(admission, demand(partition)) });
        };
        for (const step of acts) {
          switch (step.kind) {
            case 'look up':
              looked.push(pool.of(step.key));
              break;
            case 'ask':
              start(pool.of(step.key));
              break;
            case 'ask with what was looked up': {
              const kept = looked[step.which % Math.max(1, looked.length)];
              if (kept !== undefined) start(kept);
              break;
            }
            case 'drop':
              looked.splice(step.which % Math.max(1, looked.length), 1);
              break;
            case 'leave':
              jobs[step.which % Math.max(1, jobs.length)]?.job.unsubscribe();
              break;
            case 'release': {
              const job = jobs[step.which % Math.max(1, jobs.length)]?.job;
              if (job?.state === 'granted') job.release();
              break;
            }
            case 'resize':
              pool.resize(3, Object.fromEntries(step.shared.map((each) => [each, 1])));
              break;
            case 'collect':
              jobs = jobs.filter(({ job }) => job.state !== 'refused' && !job.subscription.closed);
              await collected();
          }
          const alive = [...looked, ...jobs.map(({ partition }) => partition)];
          for (const each of KEYS) {
            const identities = new Set([pool.of(each), ...alive.filter((partition) => partition.key === each)]);
            expect(identities.size, `identities of ${each}`).toBe(1);
          }
          const out = jobs.filter(({ job }) => job.state === 'granted' && !job.grant.settled).length;
          expect(pool.inUse()).toBe(out);
          expect(pool.status().partitions.length).toBeLessThanOrEqual(5);
        }
      }),
      { numRuns: Number(process.env.IDENTITY_RUNS ?? 60) },
    );
  });

  it('is kept for a holder that nobody can see any more', async () => {
    const admission = createAdmission({ scheduler: new CountingScheduler() });
    const pool = partitioned({ name: 'calls', capacity: 3 });
    const grant = await admission.acquire(demand([pool.of('a'), 2]));
    await collected();
    expect(pool.of('a').inUse()).toBe(2);
    grant.release();
    expect(pool.inUse()).toBe(0);
  });

  it('is forgotten with the last who could reach it: keys that come and go leave nothing', async () => {
    const identities = new Identities<object>();
    const kept = { kept: true };
    identities.add('kept', kept);
    for (let round = 0; round < 20; round += 1) {
      for (let n = 0; n < 100; n += 1) identities.add(`key ${round} ${n}`, {});
      await collected();
    }
    expect(identities.get('kept')).toBe(kept);
    expect(identities.get('key 0 1')).toBeUndefined();
    expect([...identities.values()]).toEqual([kept]);
    // A round's keys, and those of the round before that no sweep has met yet.
    expect(identities.size).toBeLessThanOrEqual(300);
  });
});
