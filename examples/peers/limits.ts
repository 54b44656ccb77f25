/** A limit on calls at once, as each of the five has it: the same calls are made through all of them. */
import Bottleneck from 'bottleneck';
import pLimit from 'p-limit';
import PQueue from 'p-queue';
import { Subject, mergeMap } from 'rxjs';
import { CountingGate, createAdmission, demand } from 'rx-admission';

export type Work<T = unknown> = () => Promise<T>;
/** Runs the work once the limits allow it. */
export type Limited = <T>(work: Work<T>) => Promise<T>;

/** Two limits, of some calls and of one, and the ways to ask for one of them or for both. */
export interface TwoLimits {
  readonly first: Limited;
  readonly second: Limited;
  readonly firstThenSecond: Limited;
  readonly secondThenFirst: Limited;
}

/** Without a demand over several limits, both means one inside the other. */
function nested(first: Limited, second: Limited): TwoLimits {
  return {
    first,
    second,
    firstThenSecond: (work) => first(() => second(work)),
    secondThenFirst: (work) => second(() => first(work)),
  };
}

/** `mergeMap(…, n)` behind a subject, which makes a limit of it that several callers share. */
function lane(concurrency: number): Limited {
  const jobs = new Subject<Work<void>>();
  jobs.pipe(mergeMap((job) => job(), concurrency)).subscribe();
  return (work) =>
    new Promise((resolve, reject) => {
      jobs.next(() => work().then(resolve, reject));
    });
}

const queue = (concurrency: number): Limited => {
  const one = new PQueue({ concurrency });
  return (work) => one.add(work);
};

const limiter = (maxConcurrent: number): Limited => {
  const one = new Bottleneck({ maxConcurrent });
  return (work) => one.schedule(work);
};

function ours(capacity: number): TwoLimits {
  const admission = createAdmission();
  const a = new CountingGate({ name: 'a', capacity });
  const b = new CountingGate({ name: 'b', capacity: 1 });
  return {
    first: (work) => admission.run(demand(a), work),
    second: (work) => admission.run(demand(b), work),
    firstThenSecond: (work) => admission.run(demand(a, b), work),
    secondThenFirst: (work) => admission.run(demand(b, a), work),
  };
}

/** By the name of its package: `capacity` is the first limit's, the second one lets a single call in. */
export const twoLimits: Readonly<Record<string, (capacity: number) => TwoLimits>> = {
  mergeMap: (capacity) => nested(lane(capacity), lane(1)),
  'p-limit': (capacity) => nested(pLimit(capacity), pLimit(1)),
  'p-queue': (capacity) => nested(queue(capacity), queue(1)),
  bottleneck: (capacity) => nested(limiter(capacity), limiter(1)),
  'rx-admission': ours,
};
