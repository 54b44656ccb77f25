/** Every situation with the packages that it can be made in, and how to make it there. */
import Bottleneck from 'bottleneck';
import PQueue from 'p-queue';
import { EMPTY, catchError, firstValueFrom, from, merge, mergeMap, retry, timeout, type Observable } from 'rxjs';
import { CountingGate, ElasticWindow, TokenBucket, createAdmission, demand } from 'rx-admission';
import {
  SYNCHRONOUS_JOBS,
  abortedWaiter,
  backOff,
  bigBehindSmall,
  clockStep,
  collected,
  eachTwoLimits,
  holdAndWait,
  impossible,
  into,
  oppositeOrder,
  synchronous,
  timedOut,
  type Answers,
} from './situations.js';

export interface Probe {
  readonly question: string;
  /** What admission promises. */
  readonly ours: string;
  readonly answers: Answers;
}

const gate = (capacity: number): CountingGate => new CountingGate({ name: 'gate', capacity });

export const probes: readonly Probe[] = [
  {
    question: 'three calls need a limit of 3 and one of 1, which is taken; others need the limit of 3',
    ours: 'others get in',
    answers: eachTwoLimits(3, holdAndWait),
  },
  {
    question: 'two limits are busy, and two calls wait for both, in opposite order',
    ours: 'both end',
    answers: eachTwoLimits(1, oppositeOrder),
  },
  {
    question: 'three permits asked of a limit of two',
    ours: 'refused at once',
    answers: {
      bottleneck: () => {
        const limiter = new Bottleneck({ maxConcurrent: 2 });
        return impossible((weight) => limiter.schedule({ weight }, () => Promise.resolve()));
      },
      'rx-admission': () => {
        const admission = createAdmission();
        const two = gate(2);
        return impossible((amount) => admission.run(demand([two, amount]), () => undefined));
      },
    },
  },
  {
    question: 'three units asked of a rate of two',
    ours: 'refused at once',
    answers: {
      bottleneck: () => {
        const rate = { reservoir: 2, reservoirRefreshAmount: 2, reservoirRefreshInterval: 250 };
        const limiter = new Bottleneck(rate);
        return impossible((weight) => limiter.schedule({ weight }, () => Promise.resolve()));
      },
      'rx-admission': () => {
        const admission = createAdmission();
        const rate = new TokenBucket({ name: 'rate', tokensPerMinute: 2 });
        return impossible((amount) => admission.run(demand([rate, amount]), () => undefined));
      },
    },
  },
  {
    question: 'one asks for the whole limit, others keep asking for half of it',
    ours: 'gets its turn',
    answers: {
      bottleneck: () => {
        const limiter = new Bottleneck({ maxConcurrent: 2 });
        return bigBehindSmall((weight, work) => limiter.schedule({ weight }, work));
      },
      'rx-admission': () => {
        const admission = createAdmission();
        const two = gate(2);
        return bigBehindSmall((amount, work) => admission.run(demand([two, amount]), work));
      },
    },
  },
  {
    question: 'a call that waits is aborted by its signal',
    ours: 'leaves at once',
    answers: {
      'p-queue': () => {
        const queue = new PQueue({ concurrency: 1 });
        return abortedWaiter((work, signal) => queue.add(work, signal ? { signal } : {}));
      },
      'rx-admission': () => {
        const admission = createAdmission();
        const one = gate(1);
        return abortedWaiter((work, signal) => admission.run(demand(one), work, { signal }));
      },
    },
  },
  {
    question: 'limit 1, work of 100 ms that cannot be cut, a timeout of 20 ms',
    ours: '1 at once',
    answers: {
      mergeMap: () =>
        timedOut(
          into((jobs) =>
            jobs.pipe(
              mergeMap(
                (work) =>
                  from(work()).pipe(
                    timeout(20),
                    catchError(() => EMPTY),
                  ),
                1,
              ),
            ),
          ),
        ),
      'p-queue': () => {
        const queue = new PQueue({ concurrency: 1, timeout: 20 });
        return timedOut((work) => void queue.add(work).catch(() => undefined));
      },
      bottleneck: () => {
        const limiter = new Bottleneck({ maxConcurrent: 1 });
        return timedOut((work) => void limiter.schedule({ expiration: 20 }, work).catch(() => undefined));
      },
      'rx-admission': () => {
        const admission = createAdmission();
        const one = gate(1);
        return timedOut((work) => {
          const call = admission.defer(demand(one), () => work());
          call
            .pipe(
              timeout(20),
              catchError(() => EMPTY),
            )
            .subscribe();
        });
      },
    },
  },
  {
    question: 'one call at a time, and one that failed backs off before its retry',
    ours: 'lets others in',
    answers: {
      mergeMap: () =>
        backOff((failing, other) =>
          collected(from([failing.pipe(retry({ count: 1, delay: 200 })), other]).pipe(mergeMap((call) => call, 1))),
        ),
      bottleneck: () => {
        const limiter = new Bottleneck({ maxConcurrent: 1 });
        limiter.on('failed', (_error, { retryCount }) => (retryCount === 0 ? 200 : undefined));
        return backOff((failing, other) => {
          const call = (one: Observable<string>): Observable<string> =>
            from(limiter.schedule(() => firstValueFrom(one)));
          return collected(merge(call(failing), call(other)));
        });
      },
      'rx-admission': () => {
        const admission = createAdmission();
        const one = gate(1);
        return backOff((failing, other) => {
          const retried = admission.defer(demand(one), () => failing).pipe(retry({ count: 1, delay: 200 }));
          return collected(
            merge(
              retried,
              admission.defer(demand(one), () => other),
            ),
          );
        });
      },
    },
  },
  {
    question: 'one call per 100 ms, and the wall clock is set back by an hour',
    ours: 'goes on',
    answers: {
      'p-queue': () => {
        const queue = new PQueue({ intervalCap: 1, interval: 100 });
        return clockStep(() => queue.add(() => Promise.resolve()));
      },
      bottleneck: () => {
        const limiter = new Bottleneck({ minTime: 100 });
        return clockStep(() => limiter.schedule(() => Promise.resolve()));
      },
      'rx-admission': () => {
        const admission = createAdmission();
        const window = new ElasticWindow({ name: 'window', maxRequests: 1, baseWindow: 100 });
        return clockStep(() => admission.run(demand(window), () => Promise.resolve()));
      },
    },
  },
  {
    question: `${SYNCHRONOUS_JOBS.toLocaleString('en')} synchronous observables behind one that takes 10 ms`,
    ours: 'all end',
    answers: {
      mergeMap: () => synchronous((jobs) => from(jobs).pipe(mergeMap((job) => job, 1))),
      'rx-admission': () => {
        const admission = createAdmission();
        const one = gate(1);
        return synchronous((jobs) => from(jobs).pipe(admission.admit(demand(one))));
      },
    },
  },
];
