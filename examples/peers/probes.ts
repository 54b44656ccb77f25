/** The situations: each answer comes from a run, judged by order and outcome, never by how long something took. */
import { setTimeout as sleep } from 'node:timers/promises';
import Bottleneck from 'bottleneck';
import PQueue from 'p-queue';
import {
  EMPTY,
  Subject,
  catchError,
  defer,
  firstValueFrom,
  from,
  merge,
  mergeMap,
  of,
  retry,
  timeout,
  timer,
  type Observable,
} from 'rxjs';
import { CountingGate, ElasticWindow, TokenBucket, createAdmission, demand } from 'rx-admission';
import { twoLimits, type TwoLimits, type Work } from './limits.js';

export interface Probe {
  readonly question: string;
  /** What admission promises. */
  readonly ours: string;
  /** A contender that is missing has nothing in its API to ask with. */
  readonly answers: Readonly<Record<string, () => Promise<string>>>;
}

/** Long enough for whatever needs no more than a few turns and timers of 100 ms, on a busy machine too. */
const SETTLED_MS = 500;

/** Whether `promise` settles while the rest goes on. */
const settles = (promise: Promise<unknown>): Promise<boolean> =>
  Promise.race([promise.then(() => true, () => true), sleep(SETTLED_MS, false)]);

const eachTwoLimits = (capacity: number, probe: (limits: TwoLimits) => Promise<string>): Probe['answers'] =>
  Object.fromEntries(Object.entries(twoLimits).map(([name, make]) => [name, () => probe(make(capacity))]));

async function holdAndWait({ first, second, firstThenSecond }: TwoLimits): Promise<string> {
  void second(() => sleep(2 * SETTLED_MS));
  for (let call = 0; call < 3; call += 1) void firstThenSecond(() => sleep(1));
  return (await settles(first(() => Promise.resolve()))) ? 'others get in' : 'they keep it busy';
}

async function oppositeOrder({ first, second, firstThenSecond, secondThenFirst }: TwoLimits): Promise<string> {
  void first(() => sleep(50));
  void second(() => sleep(50));
  const work = (): Promise<unknown> => sleep(1);
  const both = Promise.all([firstThenSecond(work), secondThenFirst(work)]);
  return (await settles(both)) ? 'both end' : 'deadlock';
}

/** Runs four jobs of 100 ms through a limit of one whose caller gives up after 20 ms, and counts how many ran at once. */
async function timedOut(start: (work: Work) => void): Promise<string> {
  let running = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    await sleep(100);
    running -= 1;
  };
  for (let job = 0; job < 4; job += 1) start(work);
  await sleep(SETTLED_MS);
  return most === 1 ? '1 at once' : 'more than 1 at once';
}

/** Sets the wall clock back an hour under three calls at 100 ms each, and looks whether they still go. */
async function clockStep(call: Work): Promise<string> {
  const { now } = Date;
  await call();
  Date.now = () => now() - 3_600_000;
  try {
    return (await settles(Promise.all([call(), call()]))) ? 'goes on' : 'stands still';
  } finally {
    Date.now = now;
  }
}

/** A call that fails once and backs off 200 ms, and another one that waits: which of them ends first? */
async function backOff(run: (failing: Observable<string>, other: Observable<string>) => Promise<string[]>): Promise<string> {
  let failed = false;
  const failing = defer(() => {
    if (failed) return of('the retried call');
    failed = true;
    throw new Error('503');
  });
  const [firstEnded] = await run(failing, of('the other call'));
  return firstEnded === 'the other call' ? 'lets others in' : 'keeps its place';
}

/** A stream that jobs are pushed into, one by one. */
function into(through: (jobs: Observable<Work>) => Observable<unknown>): (work: Work) => void {
  const jobs = new Subject<Work>();
  through(jobs).subscribe();
  return (work) => jobs.next(work);
}

async function collected(source: Observable<string>): Promise<string[]> {
  const all: string[] = [];
  await source.forEach((value) => all.push(value));
  return all;
}

const SYNCHRONOUS_JOBS = 20_000;

/** Many jobs that end in the turn they start in, behind one that takes time. */
const synchronousJobs = (): Observable<number>[] => [
  timer(10),
  ...Array.from({ length: SYNCHRONOUS_JOBS }, (_, job) => of(job)),
];

async function synchronous(run: (jobs: Observable<number>[]) => Observable<number>): Promise<string> {
  // Where the stack overflows, the error may reach nobody: the stream then neither completes nor errors.
  const overflowed = (): void => undefined;
  process.on('uncaughtException', overflowed);
  try {
    const end = run(synchronousJobs()).forEach(() => undefined).then(() => 'all end', () => 'stack overflow');
    return await Promise.race([end, sleep(10 * SETTLED_MS, 'stack overflow')]);
  } finally {
    process.off('uncaughtException', overflowed);
  }
}

/** Asks for three of something that only ever comes two at a time; then somebody asks for one. */
async function impossible(ask: (amount: number) => Promise<unknown>): Promise<string> {
  const three = ask(3);
  const refused = await Promise.race([three.then(() => 'granted', () => 'refused at once'), sleep(SETTLED_MS, 'waits')]);
  if (refused !== 'waits') return refused;
  return (await settles(ask(1))) ? 'waits for ever' : 'waits for ever, as does who comes behind';
}

async function abortedWaiter(ask: (work: Work, signal?: AbortSignal) => Promise<unknown>): Promise<string> {
  void ask(() => sleep(2 * SETTLED_MS));
  const controller = new AbortController();
  const waiting = ask(() => Promise.resolve(), controller.signal);
  controller.abort();
  return (await settles(waiting)) ? 'leaves at once' : 'stays';
}

/** Ones keep coming for half a second while a two waits: does it ever get its turn? */
async function bigBehindSmall(ask: (amount: number, work: Work) => Promise<unknown>): Promise<string> {
  const busy = (): Promise<unknown> => sleep(20);
  let coming = true;
  const keepAsking = async (): Promise<void> => {
    while (coming) await Promise.race([ask(1, busy), sleep(15)]);
  };
  void keepAsking();
  void keepAsking();
  await sleep(30);
  const served = await settles(ask(2, busy));
  coming = false;
  return served ? 'gets its turn' : 'starves';
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
          into((jobs) => jobs.pipe(mergeMap((work) => from(work()).pipe(timeout(20), catchError(() => EMPTY)), 1))),
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
          call.pipe(timeout(20), catchError(() => EMPTY)).subscribe();
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
          const call = (one: Observable<string>): Observable<string> => from(limiter.schedule(() => firstValueFrom(one)));
          return collected(merge(call(failing), call(other)));
        });
      },
      'rx-admission': () => {
        const admission = createAdmission();
        const one = gate(1);
        return backOff((failing, other) => {
          const retried = admission.defer(demand(one), () => failing).pipe(retry({ count: 1, delay: 200 }));
          return collected(merge(retried, admission.defer(demand(one), () => other)));
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
        return synchronous((jobs) => admission.each(jobs, demand(one), (job) => job));
      },
    },
  },
];
