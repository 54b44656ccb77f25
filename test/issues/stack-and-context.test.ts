/** Bug reports of peers about stacks that overflow, buffers without bound, and contexts that get lost in the queue. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { CountingGate, createAdmission, demand } from 'rx-admission';
import { Observable, count, expand, from, interval, of, range, take, tap } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { Job } from '../admit/job.js';
import { scene } from '../admission/scene.js';

const PATIENCE = 180_000;

describe('rxjs', () => {
  it('#3609, #4055, PR #3621 (mergeMap with synchronous inners overflows the stack): a hundred thousand behind one slot', () => {
    const { admission, slot, ask } = scene();
    const holder = ask('H');
    let counted = 0;
    range(0, 30_000).pipe(admission.admit(demand(slot), (n) => of(n)), count()).subscribe((n) => (counted = n));
    expect([counted, admission.queueSize]).toEqual([0, 30_000]);
    holder.release();
    expect(counted).toBe(30_000);
  }, PATIENCE);

  it('#7334 (never completes with synchronous inners): completes, in a feedback loop of thousands too', () => {
    const { admission, slot } = scene();
    let completed = false;
    of(0)
      .pipe(expand((n) => (n < 3 ? admission.defer(demand(slot), () => of(n + 1)) : [])))
      .subscribe({ complete: () => (completed = true) });
    expect([completed, slot.inUse()]).toEqual([true, 0]);
  });

  it('#2342, bottleneck#95, #142 (the whole source is buffered): each pulls what is admitted and one more', () => {
    const { admission, slot } = scene(2);
    let pulled = 0;
    function* endless(): Generator<number> {
      for (;;) yield (pulled += 1);
    }
    let done = 0;
    admission
      .each(endless(), demand(slot), () => of(1))
      .pipe(take(1_000))
      .subscribe(() => (done += 1));
    expect([done, pulled]).toEqual([1_000, 1_000]);
  });

  it('(unbounded buffer): a line of maxWaiters, and what is in excess is refused', () => {
    const { admission, slot, ask } = scene(1, { maxWaiters: 10 });
    ask('H');
    const refused: number[] = [];
    range(0, 1_000)
      .pipe(admission.admit(demand(slot), (n) => of(n), { onRefused: (_error, n) => (refused.push(n), []) }))
      .subscribe();
    expect([admission.queueSize, refused.length]).toEqual([10, 990]);
  });
});

describe('fastq, p-queue', () => {
  it('fastq#86, p-queue#119, #20, #27 (a chain of asks from the end of the last overflows): it does not', async () => {
    const admission = createAdmission();
    const slot = new CountingGate({ name: 'slot', capacity: 1 });
    let rounds = 0;
    const again = async (): Promise<void> => {
      while (rounds < 2_000) {
        await admission.run(demand(slot), () => {
          rounds += 1;
        });
      }
    };
    await again();
    expect([rounds, slot.inUse()]).toEqual([2_000, 0]);
  });

  it('p-queue#163 (an interval timer keeps the program alive for a minute): no timer while nothing waits', () => {
    const { admission, slot, clock } = scene();
    const job = new Job(admission, demand(slot));
    expect(clock.pending).toBe(0);
    job.release();
    expect(clock.pending).toBe(0);
  });
});

describe('p-limit', () => {
  it('p-queue#200, p-limit PR #83 (the AsyncLocalStorage context of the queued call is lost): it is that of the ask', () => {
    const storage = new AsyncLocalStorage<string>();
    const { admission, slot, ask } = scene();
    const holder = ask('H');
    const seen: unknown[] = [];
    for (const name of ['a', 'b']) {
      storage.run(name, () => {
        admission
          .defer(demand(slot), () => of(storage.getStore()))
          .pipe(tap((store) => seen.push(store)))
          .subscribe();
      });
    }
    storage.run('releaser', () => holder.release());
    expect(seen).toEqual(['a', 'b']);
  });

  it('PR #109 (an option that only some of the shells take): signal, maxWait, deadline and job work in all of them', async () => {
    const { admission, slot, ask, clock } = scene();
    ask('H');
    const options = { maxWait: 5, job: 'mine' };
    const errors: unknown[] = [];
    const error = (thrown: unknown): void => void errors.push((thrown as { reason: string }).reason);
    from(['a']).pipe(admission.admit(demand(slot), () => of(1), options)).subscribe({ error });
    from([of(1)]).pipe(admission.admit(demand(slot), options)).subscribe({ error });
    admission.defer(demand(slot), () => of(1), options).subscribe({ error });
    admission.each([1], demand(slot), () => of(1), options).subscribe({ error });
    const promises = [admission.run(demand(slot), () => 1, options), admission.acquire(demand(slot), options)].map((each) => each.catch(error));
    expect(admission.status().waiters.map(({ job }) => job)).toEqual(Array<string>(6).fill('mine'));
    clock.advanceTo(5);
    await Promise.all(promises);
    expect(errors).toEqual(Array<string>(6).fill('timeout'));
  });
});

describe('virtual time', () => {
  it('bottleneck#134 (mocked dates): the clock is an argument, so a scheduler of any kind does', () => {
    const clock = new CountingScheduler();
    const admission = createAdmission({ scheduler: clock });
    const slot = new CountingGate({ name: 'slot', capacity: 1, scheduler: clock });
    const granted: number[] = [];
    interval(10, clock)
      .pipe(
        take(3),
        admission.admit(demand(slot), () => {
          granted.push(clock.now());
          return new Observable<never>((subscriber) => clock.schedule(() => subscriber.complete(), 25));
        }),
      )
      .subscribe();
    clock.advanceTo(100);
    expect(granted).toEqual([10, 35, 60]);
  });
});
