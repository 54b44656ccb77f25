/** The limiters that the burst can go through as well, each told as much of the quota as it has words for. */
import Bottleneck from 'bottleneck';
import pLimit from 'p-limit';
import PQueue from 'p-queue';
import type { Limits } from '../provider/quota.js';

/** Runs the work when it may. */
export type Limiter = <T>(work: () => Promise<T>) => Promise<T>;

const MINUTE = 60_000;

export const peers = {
  /** Calls at once; it has no minute. */
  'p-limit': ({ concurrency }: Limits): Limiter => pLimit(concurrency),
  /** Calls at once and requests per minute, counted by whole minutes; no tokens. */
  'p-queue': ({ concurrency, requestsPerMinute }: Limits): Limiter => {
    const queue = new PQueue({ concurrency, intervalCap: requestsPerMinute, interval: MINUTE });
    return (work) => queue.add(work);
  },
  /** The same, as a reservoir that is filled up each minute; one reservoir, so requests or tokens, not both. */
  bottleneck: ({ concurrency, requestsPerMinute }: Limits): Limiter => {
    const limiter = new Bottleneck({
      maxConcurrent: concurrency,
      reservoir: requestsPerMinute,
      reservoirRefreshAmount: requestsPerMinute,
      reservoirRefreshInterval: MINUTE,
    });
    return async (work) => {
      try {
        return await limiter.schedule(work);
      } finally {
        // Its heartbeat would keep the process alive.
        if (limiter.empty() && limiter.counts().RECEIVED === 0) await limiter.disconnect(false);
      }
    };
  },
} satisfies Readonly<Record<string, (limits: Limits) => Limiter>>;

export type Peer = keyof typeof peers;
