/** The contended workload of P2 and P3: n jobs asked at once, so many at a time, each ending on a microtask. */
import { lastValueFrom, mergeMap, Observable, range } from 'rxjs';
import { createAdmission, type Demand } from 'rx-admission';
import type { Contestant } from './measure.js';
import type { Job, Limit } from './peers.js';
import { Tally } from './tally.js';

export const AT_ONCE = 10;

/** A cold job: it ends on a microtask. */
function observableJob(tally: Tally): Observable<number> {
  return new Observable((subscriber) => {
    tally.start();
    queueMicrotask(() => {
      tally.end();
      subscriber.next(1);
      subscriber.complete();
    });
  });
}

function promiseJob(tally: Tally): Job {
  return async () => {
    tally.start();
    await Promise.resolve();
    tally.end();
    return 1;
  };
}

/** Ours, over whatever accounts the demand names. */
export function admitted(name: string, whole: Demand, n: number): Contestant {
  const admission = createAdmission();
  const tally = new Tally();
  const job = observableJob(tally);
  const calls$ = range(n).pipe(admission.admit(whole, () => job));
  return {
    name,
    n,
    batch: async () => {
      await lastValueFrom(calls$);
      tally.check(name, n, AT_ONCE);
      if (admission.queueSize !== 0) throw new Error(`${name}: ${admission.queueSize} wait still`);
    },
  };
}

export function merged(n: number): Contestant {
  const tally = new Tally();
  const job = observableJob(tally);
  const calls$ = range(n).pipe(mergeMap(() => job, AT_ONCE));
  return {
    name: 'mergeMap',
    n,
    batch: async () => {
      await lastValueFrom(calls$);
      tally.check('mergeMap', n, AT_ONCE);
    },
  };
}

/** Whatever limits promises: all of them are asked for at once, as `Promise.all` does. */
export function limited(name: string, limit: Limit, n: number): Contestant {
  const tally = new Tally();
  const job = promiseJob(tally);
  return {
    name,
    n,
    batch: async () => {
      const all: Promise<number>[] = [];
      for (let index = 0; index < n; index += 1) all.push(limit(job));
      await Promise.all(all);
      // Bottleneck takes them one by one, whatever it may.
      tally.check(name, n, AT_ONCE, 1);
    },
  };
}
