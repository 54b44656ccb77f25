/** The situations: each answer comes from a run, judged by order and outcome, never by how long something took. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Subject, defer, of, timer, type Observable } from 'rxjs';
import { twoLimits, type TwoLimits, type Work } from './limits.js';

/** By the name of the package, how it answers. A package that is missing has nothing in its API to ask with. */
export type Answers = Readonly<Record<string, () => Promise<string>>>;

/** Long enough for whatever needs no more than a few turns and timers of 100 ms, on a busy machine too. */
const SETTLED_MS = 500;

/** Whether `promise` settles while the rest goes on. */
const settles = (promise: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    promise.then(
      () => true,
      () => true,
    ),
    sleep(SETTLED_MS, false),
  ]);

export const eachTwoLimits = (capacity: number, probe: (limits: TwoLimits) => Promise<string>): Answers =>
  Object.fromEntries(Object.entries(twoLimits).map(([name, make]) => [name, () => probe(make(capacity))]));

export async function holdAndWait({ first, second, firstThenSecond }: TwoLimits): Promise<string> {
  void second(() => sleep(2 * SETTLED_MS));
  let started = 0;
  const work = async (): Promise<void> => {
    started += 1;
    await sleep(1);
  };
  for (let call = 0; call < 3; call += 1) void firstThenSecond(work);
  const others = await settles(first(() => Promise.resolve()));
  if (started > 0) return 'they start without the second';
  return others ? 'others get in' : 'they keep it busy';
}

export async function oppositeOrder({ first, second, firstThenSecond, secondThenFirst }: TwoLimits): Promise<string> {
  void first(() => sleep(50));
  void second(() => sleep(50));
  const work = (): Promise<unknown> => sleep(1);
  const both = Promise.all([firstThenSecond(work), secondThenFirst(work)]);
  return (await settles(both)) ? 'both end' : 'deadlock';
}

/** Four jobs of 100 ms through a limit of one, whose callers give up after 20 ms: how many run at once? */
export async function timedOut(start: (work: Work) => void): Promise<string> {
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
export async function clockStep(call: Work): Promise<string> {
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
export async function backOff(
  run: (failing: Observable<string>, other: Observable<string>) => Promise<string[]>,
): Promise<string> {
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
export function into(through: (jobs: Observable<Work>) => Observable<unknown>): (work: Work) => void {
  const jobs = new Subject<Work>();
  through(jobs).subscribe();
  return (work) => jobs.next(work);
}

export async function collected(source: Observable<string>): Promise<string[]> {
  const all: string[] = [];
  await source.forEach((value) => all.push(value));
  return all;
}

export const SYNCHRONOUS_JOBS = 20_000;

/** Many jobs that end in the turn they start in, behind one that takes time. */
const synchronousJobs = (): Observable<number>[] => [
  timer(10),
  ...Array.from({ length: SYNCHRONOUS_JOBS }, (_, job) => of(job)),
];

export async function synchronous(run: (jobs: Observable<number>[]) => Observable<number>): Promise<string> {
  // Where the stack overflows, the error may reach nobody: the stream then neither completes nor errors.
  const overflowed = (): void => undefined;
  process.on('uncaughtException', overflowed);
  try {
    const end = run(synchronousJobs())
      .forEach(() => undefined)
      .then(
        () => 'all end',
        () => 'stack overflow',
      );
    return await Promise.race([end, sleep(10 * SETTLED_MS, 'stack overflow')]);
  } finally {
    process.off('uncaughtException', overflowed);
  }
}

/** Asks for three of something that only ever comes two at a time; then somebody asks for one. */
export async function impossible(ask: (amount: number) => Promise<unknown>): Promise<string> {
  const three = ask(3);
  const refused = await Promise.race([
    three.then(
      () => 'granted',
      () => 'refused at once',
    ),
    sleep(SETTLED_MS, 'waits'),
  ]);
  if (refused !== 'waits') return refused;
  return (await settles(ask(1))) ? 'waits for ever' : 'waits for ever, as does who comes behind';
}

export async function abortedWaiter(ask: (work: Work, signal?: AbortSignal) => Promise<unknown>): Promise<string> {
  void ask(() => sleep(2 * SETTLED_MS));
  const controller = new AbortController();
  const waiting = ask(() => Promise.resolve(), controller.signal);
  controller.abort();
  return (await settles(waiting)) ? 'leaves at once' : 'stays';
}

/** Ones keep coming for half a second while a two waits: does it ever get its turn? */
export async function bigBehindSmall(ask: (amount: number, work: Work) => Promise<unknown>): Promise<string> {
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
