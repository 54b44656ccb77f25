/** P5: random weights from 1 to 10 over a capacity of 50. */
import { Semaphore } from 'async-mutex';
import { lastValueFrom, Observable, range } from 'rxjs';
import { CountingGate, createAdmission, demand } from 'rx-admission';
import { takeTurns, type Contestant, type Series } from './measure.js';
import { randomOf } from './random.js';
import { beside, type Row } from './row.js';
import { sizesUpTo } from './settings.js';

const CAPACITY = 50;
const GREATEST = 10;
const SHORT = 1e3;
const LONG = 1e5;
const GROWTH = 3;
/** A twentieth of async-mutex's time. */
const TWENTIETH = 0.05;

function weights(n: number): number[] {
  const random = randomOf(n);
  return Array.from({ length: n }, () => 1 + Math.floor(random() * GREATEST));
}

/** What runs, by weight. */
class Load {
  #ended = 0;
  #active = 0;
  #peak = 0;

  start(weight: number): void {
    this.#active += weight;
    if (this.#active > this.#peak) this.#peak = this.#active;
  }

  end(weight: number): void {
    this.#active -= weight;
    this.#ended += 1;
  }

  check(who: string, n: number): void {
    const [ended, active, peak] = [this.#ended, this.#active, this.#peak];
    this.#ended = this.#active = this.#peak = 0;
    if (ended !== n || active !== 0) throw new Error(`${who}: ${ended} of ${n} jobs ended, ${active} permits are out`);
    // A head never waits while the heaviest would fit.
    if (peak > CAPACITY || peak <= CAPACITY - GREATEST) throw new Error(`${who}: ${peak} permits were out at once`);
  }
}

function admitted(name: string, n: number): Contestant {
  const gate = new CountingGate({ name: 'gate', capacity: CAPACITY });
  const { admit } = createAdmission();
  const load = new Load();
  const weightOf = weights(n);
  const job = (weight: number): Observable<number> =>
    new Observable((subscriber) => {
      load.start(weight);
      queueMicrotask(() => {
        load.end(weight);
        subscriber.next(weight);
        subscriber.complete();
      });
    });
  // As a user writes it: a demand for each item.
  const calls$ = range(n).pipe(
    admit(
      (index) => demand([gate, weightOf[index] ?? 1]),
      (index) => job(weightOf[index] ?? 1),
    ),
  );
  return {
    name,
    n,
    batch: async () => {
      await lastValueFrom(calls$);
      load.check(name, n);
    },
  };
}

function guarded(n: number): Contestant {
  const semaphore = new Semaphore(CAPACITY);
  const load = new Load();
  const weightOf = weights(n);
  return {
    name: 'async-mutex',
    n,
    batch: async () => {
      const all = weightOf.map((weight) =>
        semaphore.runExclusive(async () => {
          load.start(weight);
          await Promise.resolve();
          load.end(weight);
        }, weight),
      );
      await Promise.all(all);
      load.check('async-mutex', n);
    },
  };
}

export async function* weighted(): AsyncGenerator<Row> {
  for (const n of sizesUpTo(LONG)) {
    const lanes = [admitted('ours', n), guarded(n), admitted('ours at 1 k', SHORT)];
    const [own, theirs, short] = (await takeTurns(lanes)) as [Series, Series, Series];
    yield beside({ bench: 'P5', what: 'weights 1 to 10 over 50' }, own, theirs, n === LONG ? TWENTIETH : undefined);
    if (n === LONG) yield beside({ bench: 'P5', what: 'growth' }, own, short, GROWTH);
  }
}
