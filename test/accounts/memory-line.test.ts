/** The memory gate in front of a line: one at a time, in order, and no timer where nobody waits. */
import * as fc from 'fast-check';
import { finalize, timer, type Observable } from 'rxjs';
import { CountingGate, MemoryGate, createAdmission, demand, type Admission, type Grant } from 'rx-admission';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../conformance/virtual-clock.js';
import { RecordedLog } from './recorded-log.js';

interface World {
  readonly clock: VirtualClock;
  readonly admission: Admission;
  readonly db: CountingGate;
  readonly heap: { ratio: number };
  readonly events: string[];
}

function world(ratio: number, capacity: number): World {
  const clock = new VirtualClock(0);
  const heap = { ratio };
  const memory = new MemoryGate({ heap: () => heap.ratio, collect: false, log: new RecordedLog() });
  const admission = createAdmission({ memory, scheduler: clock });
  const events: string[] = [];
  admission.events$.subscribe((event) => events.push(`${event.type} ${event.account} ${String(event.job)}`));
  return { clock, admission, db: new CountingGate({ name: 'db', capacity }), heap, events };
}

describe('the line of memory', () => {
  it('memory-07: is HELD 25 times and GRANTED_FROM_HOLD 25 times for 25 jobs', () => {
    const { clock, admission, db, heap, events } = world(0.96, 10_000);
    for (let job = 1; job <= 25; job += 1) admission.defer(demand(db), () => [job], { job }).subscribe();
    clock.advanceTo(1_000);
    heap.ratio = 0.79;
    clock.advanceTo(4_000);
    const onMemory = (type: string): string[] => events.filter((event) => event.startsWith(`${type} memory`));
    const jobs = Array.from({ length: 25 }, (_, index) => index + 1);
    expect(onMemory('HELD')).toEqual(jobs.map((job) => `HELD memory ${job}`));
    expect(onMemory('GRANTED_FROM_HOLD')).toEqual(jobs.map((job) => `GRANTED_FROM_HOLD memory ${job}`));
    expect(admission.queueSize).toBe(0);
  });

  it('memory-35: with an empty queue there is no re-check at all, latched or not', () => {
    const { clock, admission, db, heap } = world(0.94, 2);
    let grant: Grant | undefined;
    void admission.acquire(demand(db)).then((granted) => {
      grant = granted;
    });
    expect([admission.nextDeadline, clock.actions]).toEqual([null, []]);
    heap.ratio = 0.97;
    const waiting = admission.defer(demand(db), () => []).subscribe();
    expect([admission.nextDeadline, clock.actions.length]).toEqual([2_000, 1]);
    waiting.unsubscribe();
    expect([admission.nextDeadline, clock.actions, grant]).toEqual([null, [], undefined]);
  });

  it('event-07: the release of a job that memory had held is told on its account and not on memory', () => {
    const { clock, admission, db, heap, events } = world(0.96, 5);
    admission.defer(demand(db), () => ['done'], { job: 'A' }).subscribe();
    heap.ratio = 0.5;
    clock.advanceTo(3_000);
    expect(events).toEqual(['HELD memory A', 'GRANTED_IMMEDIATE db A', 'GRANTED_FROM_HOLD memory A', 'RELEASED db A']);
  });

  it('memory-32: random readings and completions grant all of 150 jobs in order and leak no permit', () => {
    const randoms = fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }));
    fc.assert(
      fc.property(randoms, (stream) => {
        const next = (): number => stream.next().value as number;
        const { clock, admission, db, heap, events } = world(0.5, 10_000);
        let running = 0;
        let done = 0;
        for (let job = 1; job <= 150; job += 1) {
          const work = (): Observable<0> => {
            running += 1;
            return timer(1 + Math.floor(next() * 3), clock).pipe(finalize(() => (running -= 1)));
          };
          admission.defer(demand(db), work, { job }).subscribe({ complete: () => (done += 1) });
        }
        for (let tick = 0; tick < 2_000 && done < 150; tick += 1) {
          if (tick % 7 === 0) heap.ratio = Math.min(0.4 + next() * 0.57, tick < 400 ? 1 : 0.89);
          clock.advanceTo(clock.now() + 20 + Math.floor(next() * 200));
          if (db.inUse() !== running) throw new Error(`${db.inUse()} permits for ${running} jobs`);
        }
        if (done !== 150) throw new Error(`${done} of 150 are done`);
        const heldMarks = events.filter((event) => event.startsWith('HELD memory')).map((event) => event.slice(12));
        const drained = events
          .filter((event) => event.startsWith('GRANTED_FROM_HOLD memory'))
          .map((event) => event.slice(25));
        expect(drained).toEqual(heldMarks);
        expect([db.inUse(), admission.queueSize, admission.nextDeadline, clock.actions]).toEqual([0, 0, null, []]);
        expect(admission.status().accounts.map(({ name, waiters }) => [name, waiters])).toEqual([['memory', 0]]);
      }),
      { numRuns: 25 },
    );
  });
});
