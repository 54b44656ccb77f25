/** Starting once, stopping for good, and what is left of an admission then. */
import {
  Admission,
  CancelledError,
  CountingGate,
  MemoryGate,
  StoppedError,
  TokenBucket,
  createAdmission,
  demand,
} from 'rx-admission';
import { NEVER } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { Job } from '../admit/job.js';
import { scene } from './scene.js';

describe('start', () => {
  it('monitor-01: a second start throws an IllegalState kind of error, and the first evaluator keeps serving', () => {
    const { admission, clock, ask } = scene();
    expect(() => admission.start()).toThrow('has been started already');
    clock.advanceTo(1);
    const job = ask('A');
    expect([job.state, clock.now()]).toEqual(['granted', 1]);
    const parked = ask('B');
    job.release();
    expect(parked.state).toBe('granted');
  });

  it('monitor-01: a second start throws after a stop too, and names the admission', () => {
    const admission = createAdmission({ name: 'kitchen', scheduler: new CountingScheduler() });
    admission.stop();
    expect(() => admission.start()).toThrow('kitchen has been started already');
    expect(admission.status().phase).toBe('closed');
    expect(new Admission().name).toBe('admission');
  });

  it('monitor-45: admit before start works inline, and the parked wait for start', () => {
    const clock = new CountingScheduler();
    const admission = new Admission({ scheduler: clock });
    const slot = new CountingGate({ name: 'slot', capacity: 1, scheduler: clock });
    const a = new Job(admission, demand(slot));
    expect([a.state, admission.status().phase]).toEqual(['granted', 'created']);
    clock.advanceTo(1);
    const b = new Job(admission, demand(slot));
    clock.advanceTo(5);
    a.release();
    expect([b.state, slot.inUse()]).toEqual(['waiting', 0]);
    clock.advanceTo(6);
    admission.start();
    expect([b.state, b.grant.wallWait, admission.status().phase]).toEqual(['granted', 5, 'open']);
  });

  it('lets those who waited for it go when they leave or are stopped before it', () => {
    const clock = new CountingScheduler();
    const admission = new Admission({ scheduler: clock });
    const slot = new CountingGate({ name: 'slot', capacity: 1, scheduler: clock });
    const holder = new Job(admission, demand(slot));
    const leaves = new Job(admission, demand(slot));
    const late = new Job(admission, demand(slot), { maxWait: 5 });
    const stopped = new Job(admission, demand(slot));
    leaves.unsubscribe();
    clock.advanceTo(5);
    expect([late.state, admission.queueSize]).toEqual(['refused', 1]);
    admission.stop();
    expect(stopped.refusal).toBeInstanceOf(StoppedError);
    holder.release();
    admission.start();
    expect([admission.status().phase, slot.inUse()]).toEqual(['closed', 0]);
  });

  it('refuses options that are out of bounds', () => {
    for (const maxWaiters of [-1, Number.NaN]) expect(() => createAdmission({ maxWaiters })).toThrow(RangeError);
    expect(() => createAdmission({ overflow: 'block' as never })).toThrow("overflow must be 'reject' or 'drop-oldest', not block");
  });
});

describe('stop', () => {
  it('monitor-33: a refused late admit emits nothing', () => {
    const { admission, events, ask, clock } = scene();
    ask('H');
    ask('W');
    clock.advanceTo(10);
    admission.stop();
    events.length = 0;
    const late = ask('LATE');
    expect(late.refusal).toBeInstanceOf(StoppedError);
    expect(events).toEqual([]);
  });

  it('monitor-34: the capacity change at 6 runs no callback', () => {
    const clock = new CountingScheduler();
    const memory = new MemoryGate({ heap: () => 0.5, scheduler: clock });
    const admission = createAdmission({ scheduler: clock, memory });
    const slot = new CountingGate({ name: 'slot', capacity: 1, scheduler: clock });
    const meter = new TokenBucket({ name: 'm', tokensPerMinute: 1_000, requestsPerMinute: 60, scheduler: clock });
    const holder = new Job(admission, demand(slot, [meter, 10]));
    const waiter = new Job(admission, demand(slot, [meter, 10]));
    const observed = (): boolean[] => [slot, meter, memory].map(({ capacityChanges }) => capacityChanges.observed);
    expect(observed()).toEqual([true, true, true]);
    clock.advanceTo(5);
    admission.stop();
    expect([observed(), waiter.state]).toEqual([[false, false, false], 'refused']);
    clock.advanceTo(6);
    let looks = 0;
    admission.state$.subscribe(() => (looks += 1));
    meter.setConfig({ tokensPerMinute: 2_000, requestsPerMinute: 100 });
    expect(looks).toBe(1);
    holder.release();
    expect(slot.inUse()).toBe(0);
  });

  it('is told as one kind of cancellation, with the reason as its cause', () => {
    const { admission, ask } = scene();
    ask('H');
    const waiter = ask('W');
    admission.stop('deploying');
    const late = ask('LATE');
    for (const { refusal } of [waiter, late]) {
      expect(refusal).toBeInstanceOf(StoppedError);
      expect(refusal).toBeInstanceOf(CancelledError);
      expect(refusal).toMatchObject({ name: 'AbortError', reason: 'shutdown', cause: 'deploying' });
      expect((refusal as Error).message).toContain('shutdown');
    }
  });

  it('does nothing the second time, and keeps the first reason', () => {
    const { admission, ask } = scene();
    ask('H');
    admission.stop('first');
    admission.stop('second');
    expect(ask('LATE').refusal).toMatchObject({ cause: 'first' });
  });

  it('refuses every way in', async () => {
    const { admission, slot } = scene();
    admission.stop();
    await expect(admission.run(demand(slot), () => 1)).rejects.toBeInstanceOf(StoppedError);
    await expect(admission.acquire(demand(slot))).rejects.toBeInstanceOf(StoppedError);
    expect(() => admission.tryAcquire(demand(slot))).toThrow(StoppedError);
    let error: unknown;
    admission.each([1], demand(slot), () => NEVER).subscribe({ error: (thrown: unknown) => (error = thrown) });
    expect(error).toBeInstanceOf(StoppedError);
  });

  it('cuts no admitted work: grants settle as ever, and their signals do not abort', () => {
    const { admission, slot, ask, events } = scene(2);
    const [a, b] = [ask('A'), ask('B')];
    admission.stop();
    expect(a.grant.signal.aborted).toBe(false);
    events.length = 0;
    a.release();
    b.grant.rollback();
    expect([slot.inUse(), events.length]).toEqual([0, 2]);
  });

  it('leaves no timer', () => {
    const { admission, clock, slot } = scene();
    const bucket = new TokenBucket({ name: 'bucket', tokensPerMinute: 60, scheduler: clock });
    new Job(admission, demand([bucket, 60], slot));
    new Job(admission, demand([bucket, 60]), { maxWait: 90_000, deadline: 95_000 });
    expect(clock.pending).toBe(1);
    admission.stop();
    expect(clock.pending).toBe(0);
  });
});
