/** Rules of the database contract about jobs: what an admission's jobs take, and that all of it comes back. */
import { catchError, from, lastValueFrom, mergeMap, of, retry, timer, toArray, type Observable } from 'rxjs';
import { createAdmission, type Admission } from '../index.js';
import { withDatabase, type DatabaseWork } from '../database/index.js';
import { eventually, holds, pause, rowsAre, type DatabaseSubject } from './database-subject.js';
import { Random } from './random.js';
import { show } from './show.js';

/** A row is written before and after a pause, so that half a job can be seen. */
const rowsOf = (job: string): string[] => [`${job} begun`, `${job} done`];

type Work<T> = (job: string, value: T) => Promise<string>;

/** An admission, its jobs, and a watch on the pool's own count. */
class Scene<T> {
  readonly admission: Admission = createAdmission();
  readonly subject: DatabaseSubject<T>;
  readonly database: DatabaseWork<T>;
  #most = 0;
  readonly #watch: ReturnType<typeof setInterval>;

  constructor(subject: DatabaseSubject<T>) {
    this.subject = subject;
    this.database = withDatabase(subject.provider);
    this.#watch = setInterval(() => this.look(), 1);
  }

  look(): void {
    this.#most = Math.max(this.#most, this.subject.out());
  }

  /** Writes twice with a pause between. */
  readonly work = async (job: string, value: T, fails = false): Promise<string> => {
    const [begun = '', done = ''] = rowsOf(job);
    this.look();
    await this.subject.write(value, begun);
    await pause(10);
    this.look();
    if (fails) throw new Error(`${job} fails`);
    await this.subject.write(value, done);
    return job;
  };

  fanOut(jobs: readonly string[], work: Work<T> = this.work): Observable<string> {
    return from(jobs).pipe(
      this.admission.admit(
        this.database.demand(),
        this.database.project((job: string, value) => work(job, value)),
      ),
    );
  }

  /** Waits until nothing is held, and fails where something stays out or more than the bound ever was. */
  async ends(when: string): Promise<void> {
    const { subject, admission } = this;
    try {
      await eventually(
        () => admission.status().grants.length === 0,
        () => `${when}, ${admission.status().grants.length} grants are held`,
      );
      // The permit comes back last, so that by now the pool has everything.
      holds(subject.out() === 0, `${when}, the permits are back and ${subject.out()} connections are out of the pool`);
      const { admission: gate } = subject.provider;
      holds(gate.inUse() === 0, `${when}, ${gate.inUse()} permits are taken`);
      holds(this.#most <= gate.capacity, `${when}, ${this.#most} connections were out at once, and the bound is ${gate.capacity}`);
    } finally {
      clearInterval(this.#watch);
    }
  }

  /** No job has left half of its rows. */
  async areWhole(when: string): Promise<void> {
    const rows = new Set(await this.subject.rows());
    const half = [...rows].filter((row) => {
      const job = row.replace(/ (?:begun|done)$/, '');
      return !rowsOf(job).every((each) => rows.has(each));
    });
    holds(half.length === 0, `${when}, half of a job is left: ${show(half)}`);
  }
}

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `job ${index + 1}`);

/** One job after another may fail; the others go on. */
const survivors = <T>(scene: Scene<T>, jobs: readonly string[], work: Work<T>): Observable<string> =>
  from(jobs).pipe(mergeMap((job) => scene.fanOut([job], work).pipe(catchError(() => of('failed')))));

export async function fansOut<T>(subject: DatabaseSubject<T>): Promise<void> {
  const scene = new Scene(subject);
  const done = await lastValueFrom(scene.fanOut(names(6)).pipe(toArray()), { defaultValue: [] });
  await scene.ends('after six jobs');
  holds(done.length === 6, `${done.length} of six jobs have ended`);
  await rowsAre(subject, names(6).flatMap(rowsOf), 'after six jobs');
}

export async function fails<T>(subject: DatabaseSubject<T>, holding: boolean): Promise<void> {
  const scene = new Scene(subject);
  const every = names(9);
  const work: Work<T> = (job, value) => scene.work(job, value, every.indexOf(job) % 3 === 0);
  const ended = await lastValueFrom(survivors(scene, every, work).pipe(toArray()), { defaultValue: [] });
  await scene.ends('after jobs that failed');
  holds(ended.filter((each) => each === 'failed').length === 3, 'three of nine jobs fail, and not each of them is told');
  if (!holding) return;
  const kept = every.filter((_, index) => index % 3 !== 0);
  await rowsAre(subject, kept.flatMap(rowsOf), 'after jobs that failed');
}

export async function isUnsubscribed<T>(subject: DatabaseSubject<T>, seed: number, holding: boolean): Promise<void> {
  const random = new Random(seed);
  for (let round = 1; round <= 6; round += 1) {
    const scene = new Scene(subject);
    const subscription = scene.fanOut(names(6).map((job) => `${round}: ${job}`)).subscribe({ error: () => undefined });
    await pause(random.below(40));
    subscription.unsubscribe();
    await scene.ends(`after an unsubscribe (seed ${seed}, round ${round})`);
    if (holding) await scene.areWhole(`after an unsubscribe (seed ${seed}, round ${round})`);
  }
  if (holding) await cutsWhatRuns(subject);
}

/** A statement of a minute does not keep its permit for a minute. */
async function cutsWhatRuns<T>(subject: DatabaseSubject<T>): Promise<void> {
  const scene = new Scene(subject);
  let running = 0;
  const subscription = scene
    .fanOut(names(3), (job, value) => {
      running += 1;
      return Promise.resolve(subject.linger(value)).then(() => job);
    })
    .subscribe({ error: () => undefined });
  await eventually(
    () => running === 2,
    () => `${running} of two jobs run`,
  );
  await pause(50);
  subscription.unsubscribe();
  await scene.ends('after an unsubscribe in the middle of a statement');
}

export async function losesItsBackends<T>(subject: DatabaseSubject<T>): Promise<void> {
  const scene = new Scene(subject);
  const ended = lastValueFrom(survivors(scene, names(12), scene.work).pipe(toArray()), { defaultValue: [] });
  await pause(15);
  await subject.killBackends?.();
  const each = await ended;
  await scene.ends('after the server ended every connection');
  await scene.areWhole('after the server ended every connection');
  const done = each.filter((job) => job !== 'failed');
  const rows = new Set(await subject.rows());
  const lost = done.filter((job) => !rowsOf(job).every((row) => rows.has(row)));
  holds(lost.length === 0, `${show(lost)} ended well, and left nothing`);
  holds(done.length < 12, 'no job felt that every connection was ended: do they run on the connection they hold?');
  holds(done.length > 0, 'no job got a new connection after every old one was ended');
}

const DOWN_MS = 2_000;

export async function losesItsServer<T>(subject: DatabaseSubject<T>): Promise<void> {
  const scene = new Scene(subject);
  let failures = 0;
  const one = (job: string): Observable<string> => {
    let attempt = 0;
    return scene.admission
      .defer(scene.database.demand(), scene.database.factory((value) => scene.work(`${job}, ${(attempt += 1)}`, value)))
      .pipe(retry({ count: 100, delay: () => ((failures += 1), timer(100)) }));
  };
  const ended = lastValueFrom(from(names(12)).pipe(mergeMap(one), toArray()), { defaultValue: [] });
  await pause(15);
  await subject.server?.stop();
  await pause(DOWN_MS);
  await subject.server?.start();
  const done = await ended;
  await scene.ends('after the server was away');
  await scene.areWhole('after the server was away');
  holds(done.length === 12, `${done.length} of twelve jobs have ended`);
  holds(failures > 0, 'no job felt that the server was away');
}
