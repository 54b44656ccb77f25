/** The peers that limit promises, each as the one function that its users would call. */
import { newQueue } from '@henrygd/queue';
import { Semaphore } from 'async-mutex';
import { Sema } from 'async-sema';
import Bottleneck from 'bottleneck';
import { bulkhead } from 'cockatiel';
import { Effect } from 'effect';
import { promise as fastq } from 'fastq';
import pLimit from 'p-limit';
import PQueue from 'p-queue';
import { isAsked } from './settings.js';

export type Job = () => Promise<number>;
export type Limit = (job: Job) => Promise<number>;

export interface Peer {
  readonly name: string;
  /** The longest line it can bear within a turn; longer ones take it minutes. */
  readonly upTo: number;
  /** At most so many jobs at once. */
  readonly limit: (atOnce: number) => Limit;
}

const all: readonly Peer[] = [
  { name: 'p-limit', upTo: 1e6, limit: (atOnce) => pLimit(atOnce) },
  {
    name: 'p-queue',
    upTo: 1e6,
    limit: (atOnce) => {
      const queue = new PQueue({ concurrency: atOnce });
      return (job) => queue.add(job);
    },
  },
  {
    name: 'fastq.promise',
    upTo: 1e6,
    limit: (atOnce) => {
      const queue = fastq((job: Job) => job(), atOnce);
      return (job) => queue.push(job);
    },
  },
  {
    name: 'async-sema',
    upTo: 1e6,
    limit: (atOnce) => {
      const sema = new Sema(atOnce);
      return async (job) => {
        await sema.acquire();
        try {
          return await job();
        } finally {
          sema.release();
        }
      };
    },
  },
  {
    name: '@henrygd/queue',
    upTo: 1e6,
    limit: (atOnce) => {
      const queue = newQueue(atOnce);
      return (job) => queue.add(job);
    },
  },
  {
    name: 'cockatiel',
    upTo: 1e4,
    limit: (atOnce) => {
      const policy = bulkhead(atOnce, Infinity);
      return (job) => policy.execute(job);
    },
  },
  {
    name: 'async-mutex',
    upTo: 1e4,
    limit: (atOnce) => {
      const semaphore = new Semaphore(atOnce);
      return (job) => semaphore.runExclusive(job);
    },
  },
  {
    // It wakes every waiter at each release.
    name: 'Effect',
    upTo: 1e3,
    limit: (atOnce) => {
      const semaphore = Effect.unsafeMakeSemaphore(atOnce);
      return (job) => Effect.runPromise(semaphore.withPermits(1)(Effect.promise(job)));
    },
  },
  {
    // It takes milliseconds a job, most of them asleep; what counts here is the CPU time.
    name: 'bottleneck',
    upTo: 100,
    limit: (atOnce) => {
      const limiter = new Bottleneck({ maxConcurrent: atOnce });
      return (job) => limiter.schedule(job);
    },
  },
];

export const peers = all.filter(({ name }) => isAsked(name));
