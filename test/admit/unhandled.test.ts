/** Unhandled rejections: none, ever. Errors of handlers reach whoever RxJS tells, and cost nobody else anything. */
import { AbstractAccount, CountingGate, Demand, createAdmission, demand, type Admission } from 'rx-admission';
import { NEVER, Observable, Subject, of, take, throwError } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Job } from './job.js';
import { reports } from './reports.js';

const boom = new Error('boom');

const rejections: unknown[] = [];
const listen = (reason: unknown): void => void rejections.push(reason);

/** An account whose every `give` fails. */
class Keeper extends AbstractAccount {
  override readonly capacity = 9;
  inUse(): number {
    return 0;
  }
  fits(): boolean {
    return true;
  }
  tryTake(): boolean {
    return true;
  }
  give(): void {
    throw new Error(`${this.name} keeps it`);
  }
  earliestFit(): null {
    return null;
  }
}

beforeEach(() => {
  rejections.length = 0;
  process.on('unhandledRejection', listen);
});

afterEach(() => {
  process.off('unhandledRejection', listen);
});

interface Scene {
  readonly admission: Admission;
  readonly slot: CountingGate;
  readonly keeper: Keeper;
}

const scene = (): Scene => ({
  admission: createAdmission(),
  slot: new CountingGate({ name: 'slot', capacity: 1 }),
  keeper: new Keeper('keeper'),
});

const failing = (): Promise<never> => Promise.reject(boom);

const works: [string, (scene: Scene) => unknown][] = [
  ['a promise inner that fails after it was cut', ({ admission, slot }) => admission.defer(demand(slot), failing).subscribe().unsubscribe()],
  ['a promise inner that fails', ({ admission, slot }) => admission.defer(demand(slot), failing).subscribe({ error: () => undefined })],
  [
    'a promise that onRefused answers after it has unsubscribed',
    ({ admission, slot }) => {
      const source = new Subject<string>();
      const onRefused = (): Promise<never> => {
        subscription.unsubscribe();
        return failing();
      };
      const subscription = source.pipe(admission.admit(demand([slot, 2]), () => NEVER, { onRefused })).subscribe();
      source.next('a');
    },
  ],
  ['grant.until of what fails', ({ admission, slot }) => new Job(admission, demand(slot), {}, (grant) => (grant.until(failing()), of(1)))],
  [
    'an async iterator whose return fails',
    ({ admission, slot }) => {
      const iterable = {
        [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined), return: failing }),
      };
      admission.defer(demand(slot), () => iterable).subscribe().unsubscribe();
      admission.each(iterable, demand(slot), () => NEVER).subscribe().unsubscribe();
    },
  ],
  [
    'an async iterator whose next fails after it was left',
    ({ admission, slot }) => {
      const iterable = { [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve().then(failing) }) };
      admission.defer(demand(slot), () => iterable).subscribe().unsubscribe();
      admission.each(iterable, demand(slot), () => NEVER).subscribe().unsubscribe();
    },
  ],
  [
    'a run that fails, is refused, throws, or is stopped, with a reader',
    ({ admission, slot }) => {
      const ignore = (): undefined => undefined;
      void admission.run(demand(slot), failing).catch(ignore);
      void admission.run(demand([slot, 2]), () => 1).catch(ignore);
      void admission
        .run(Demand.empty, () => {
          throw boom;
        })
        .catch(ignore);
      void admission.acquire(demand(slot)).catch(ignore);
      admission.stop();
    },
  ],
  ['a drain', ({ admission }) => void admission.drain()],
];

describe('unhandled rejections', () => {
  it.each(works)('come from none of these: %s', async (_what, work) => {
    const reported = await reports(() => work(scene()));
    expect([rejections, reported]).toEqual([[], []]);
  });

  it.each<[string, (scene: Scene) => unknown]>([
    [
      'a grant that until kept, settled when its work ended',
      ({ admission, keeper }) => {
        const job = new Job(admission, demand(keeper), {}, (grant) => (grant.until(Promise.resolve()), NEVER));
        job.unsubscribe();
      },
    ],
    [
      'a rollback of a project that threw, where the output had gone',
      ({ admission, keeper }) => {
        const source = new Subject<string>();
        const subscription = source
          .pipe(
            admission.admit(demand(keeper), () => {
              subscription.unsubscribe();
              throw boom;
            }),
          )
          .subscribe();
        source.next('a');
      },
    ],
    [
      'a rollback of a run whose work threw',
      ({ admission, keeper }) => {
        void admission
          .run(demand(keeper), () => {
            throw boom;
          })
          .catch(() => undefined);
      },
    ],
    [
      'an async inner whose failure makes another fail in its teardown',
      ({ admission }) => {
        async function* rows(): AsyncGenerator<number> {
          yield 1;
          await Promise.resolve();
          throw boom;
        }
        const slot = new CountingGate({ name: 'wide', capacity: 2 });
        const stubborn = new Observable<number>(() => () => {
          throw new Error('keeper keeps it');
        });
        of(rows, () => stubborn).pipe(admission.admit(demand(slot))).subscribe({ error: () => undefined });
      },
    ],
    [
      'an async source whose end makes an inner fail in its teardown',
      ({ admission, slot }) => {
        async function* rows(): AsyncGenerator<number> {
          yield 1;
          await Promise.resolve();
          throw boom;
        }
        admission
          .each(rows(), demand(slot), () => new Observable(() => () => {
            throw new Error('keeper keeps it');
          }))
          .subscribe({ error: () => undefined });
      },
    ],
  ])('are reported as errors instead, where nobody is left to be told: %s', async (_what, work) => {
    const reported = await reports(() => work(scene()));
    const messages = reported.map((error) => String(error)).join();
    expect(messages).toContain('keeper keeps it');
    expect(reported).toHaveLength(1);
    expect(rejections).toEqual([]);
  });

  it('an account that cannot take back tells the one who settles', async () => {
    const { admission, keeper } = scene();
    const job = new Job(admission, demand(keeper));
    expect(() => job.unsubscribe()).toThrow('keeper keeps it');
    let error: unknown;
    admission.defer(demand(keeper), () => of(1)).subscribe({ error: (thrown: unknown) => (error = thrown) });
    expect(String(error)).toContain('keeper keeps it');
    await expect(admission.run(demand(keeper), () => 1)).rejects.toThrow('keeper keeps it');
    // What the work said comes first; the account's complaint comes on top of it.
    await expect(admission.run(demand(keeper), failing)).rejects.toThrow();
    expect(rejections).toEqual([]);
  });
});

describe('what nobody can handle', () => {
  it('is thrown in a turn of its own, unless RxJS was given a handler', () => {
    const { admission, keeper } = scene();
    const later: (() => void)[] = [];
    const timers = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void) => later.push(work)) as never);
    const source = new Subject<string>();
    const subscription = source
      .pipe(
        admission.admit(demand(keeper), () => {
          subscription.unsubscribe();
          throw boom;
        }),
      )
      .subscribe();
    source.next('a');
    timers.mockRestore();
    expect(later).toHaveLength(1);
    expect(later[0]).toThrow('keeper keeps it');
  });
});

describe('consumers and handlers that throw', () => {
  const throwing = (): never => {
    throw boom;
  };

  it.each<[string, (scene: Scene) => unknown]>([
    ['next', ({ admission, slot }) => admission.defer(demand(slot), () => of(1)).subscribe(throwing)],
    ['complete', ({ admission, slot }) => admission.defer(demand(slot), () => of(1)).subscribe({ complete: throwing })],
    [
      'error',
      ({ admission, slot }) => admission.defer(demand(slot), () => throwError(() => new Error('told'))).subscribe({ error: throwing }),
    ],
    ['no error handler at all', ({ admission, slot }) => admission.defer(demand(slot), () => throwError(() => boom)).subscribe()],
    ['an event handler', ({ admission, slot }) => (admission.events$.pipe(take(1)).subscribe(throwing), admission.defer(demand(slot), () => of(1)).subscribe())],
  ])('are reported, and the line goes on: %s', async (_place, work) => {
    const { admission, slot, keeper } = scene();
    const holder = new Job(admission, demand(slot));
    let waiter: Job | undefined;
    const reported = await reports(() => {
      work({ admission, slot, keeper });
      waiter = new Job(admission, demand(slot));
      holder.release();
    });
    expect(new Set(reported)).toEqual(new Set([boom]));
    expect(waiter?.state).toBe('granted');
    waiter?.release();
    expect([slot.inUse(), admission.queueSize, rejections]).toEqual([0, 0, []]);
  });

  it('fail the output when it is the outcome function, and the grant is released', async () => {
    const { admission, slot } = scene();
    for (const inner of [of(1), throwError(() => new Error('another'))]) {
      let error: unknown;
      admission.defer(demand(slot), () => inner, { outcome: throwing }).subscribe({ error: (e: unknown) => (error = e) });
      expect([error, slot.inUse()]).toEqual([boom, 0]);
    }
    await expect(admission.run(demand(slot), () => 1, { outcome: throwing })).rejects.toBe(boom);
    await expect(admission.run(demand(slot), failing, { outcome: throwing })).rejects.toBe(boom);
    expect([slot.inUse(), rejections]).toEqual([0, []]);
  });

  it('fail the output when it is the job function', () => {
    const { admission, slot } = scene();
    let error: unknown;
    of('a').pipe(admission.admit(demand(slot), () => of(1), { job: throwing })).subscribe({ error: (e: unknown) => (error = e) });
    expect([error, slot.inUse()]).toEqual([boom, 0]);
  });
});
