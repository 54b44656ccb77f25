/** Options of one ask: signal, maxWait, deadline and job. */
import { getEventListeners } from 'node:events';
import {
  AdmissionError,
  CancelledError,
  TokenBucket,
  WaitTimeoutError,
  createAdmission,
  demand,
  type Grant,
} from 'rx-admission';
import { NEVER, Subject, of, range } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { Job } from '../admit/job.js';
import { scene } from './scene.js';

const why = new Error('the user has left');
const abortable = (): { signal: AbortSignal; abort: () => void } => {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort(why) };
};
const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

describe('signal', () => {
  it('monitor-32, W7: a demand whose signal is aborted already is refused at once and charged nothing', () => {
    const { admission, slot, events, clock } = scene();
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    const signal = AbortSignal.abort(why);
    const job = new Job(admission, demand(slot, [tokens, 5]), { signal });
    expect(job.refusal).toBeInstanceOf(CancelledError);
    expect(job.refusal).toMatchObject({ name: 'AbortError', reason: 'cancelled', cause: why });
    expect([slot.inUse(), tokens.tokens(), admission.queueSize, events, listeners(signal)]).toEqual([0, 60_000, 0, [], 0]);
  });

  it('takes a waiter out of the line at once, and tells it why', () => {
    const { admission, slot, ask, events, clock } = scene();
    const holder = ask('H');
    const controller = new AbortController();
    const job = new Job(admission, demand(slot), { signal: controller.signal, job: 'A' });
    clock.advanceTo(7);
    controller.abort(why);
    expect(job.refusal).toMatchObject({ name: 'AbortError', reason: 'cancelled', cause: why });
    expect(events.at(-1)).toBe('7 REJECTED slot A waiters=0 amount=1 wait=7 reason=cancelled');
    holder.release();
    expect([slot.inUse(), admission.queueSize, listeners(controller.signal)]).toEqual([0, 0, 0]);
  });

  it('event-10: one REJECTED per account it was held on, in the order it was first held, each with its wait and count', () => {
    const { admission, gate, events, clock } = scene();
    const [a, b] = [gate('a', 1), gate('b', 1)];
    const holders = [new Job(admission, demand(a)), new Job(admission, demand(b))];
    const controller = new AbortController();
    clock.advanceTo(10);
    new Job(admission, demand(b, a), { signal: controller.signal, job: 'J' });
    clock.advanceTo(60);
    events.length = 0;
    controller.abort();
    expect(events).toEqual([
      '60 REJECTED b J waiters=0 amount=1 wait=50 reason=cancelled',
      '60 REJECTED a J waiters=0 amount=1 wait=50 reason=cancelled',
    ]);
    for (const holder of holders) holder.release();
  });

  it('lets those go whom the leaving head held back', () => {
    const { admission, slot, ask } = scene(2);
    ask('H');
    const controller = new AbortController();
    new Job(admission, demand([slot, 2]), { signal: controller.signal });
    const behind = ask('B');
    expect(behind.state).toBe('waiting');
    controller.abort();
    expect(behind.state).toBe('granted');
  });

  it('aborts the signal of a running grant, and leaves the work to its own devices', () => {
    const { admission, slot } = scene();
    const controller = new AbortController();
    const job = new Job(admission, demand(slot), { signal: controller.signal });
    controller.abort(why);
    expect([job.grant.signal.aborted, job.grant.signal.reason, job.refusal, slot.inUse()]).toEqual([true, why, null, 1]);
    job.release();
    expect([slot.inUse(), listeners(controller.signal)]).toEqual([0, 0]);
  });

  it('rolls back a grant that has landed and was not delivered, and refuses it', () => {
    const { admission, slot } = scene();
    const controller = new AbortController();
    const started: string[] = [];
    const refused: unknown[] = [];
    const source = new Subject<string>();
    source
      .pipe(admission.admit(demand(slot), (item) => (started.push(item), NEVER), { signal: controller.signal }))
      .subscribe({ error: (error: unknown) => refused.push(error) });
    admission
      .defer(demand(), () => {
        source.next('a');
        expect(slot.inUse()).toBe(1);
        controller.abort(why);
        return of(1);
      })
      .subscribe();
    expect([started, slot.inUse(), listeners(controller.signal)]).toEqual([[], 0, 0]);
    expect(refused).toHaveLength(1);
    expect(refused[0]).toMatchObject({ reason: 'cancelled', cause: why });
  });

  it('lets in nobody that it has just aborted, though one of them releases in its abort listener', () => {
    const { admission, slot, ask } = scene();
    const { signal, abort } = abortable();
    const running = new Job(admission, demand(slot), { signal });
    const parked = new Job(admission, demand(slot), { signal });
    const stranger = ask('S');
    running.grant.signal.addEventListener('abort', () => running.release());
    abort();
    expect([parked.state, stranger.state, slot.inUse()]).toEqual(['refused', 'granted', 1]);
  });

  it('is listened to once, however many asks share it, and no longer than one of them lives', () => {
    const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const { admission, slot } = scene();
    const { signal } = new AbortController();
    const counts: number[] = [];
    const holder = new Job(admission, demand(slot), { signal });
    counts.push(listeners(signal));
    range(0, 3_000)
      .pipe(admission.admit(demand(slot), () => [1], { signal }))
      .subscribe({ complete: () => counts.push(listeners(signal)) });
    counts.push(listeners(signal), admission.queueSize);
    holder.release();
    expect(counts).toEqual([1, 1, 3_000, 0]);
    expect(listeners(signal)).toBe(0);
    expect(warnings).not.toHaveBeenCalled();
    warnings.mockRestore();
  });

  it('takes thousands out of the line in one change', () => {
    const { admission, slot, ask } = scene(2);
    ask('H', 1);
    const controller = new AbortController();
    let passes = 0;
    const jobs = Array.from({ length: 2_000 }, () => new Job(admission, demand([slot, 2]), { signal: controller.signal }));
    const behind = ask('B');
    admission.state$.subscribe(() => (passes += 1));
    controller.abort(why);
    expect(new Set(jobs.map(({ state }) => state))).toEqual(new Set(['refused']));
    expect([behind.state, passes - 1]).toEqual(['granted', 1]);
  });

  it('is let go when the waiter leaves by itself, is refused, or is stopped', () => {
    const { admission, slot, ask } = scene();
    const { signal } = new AbortController();
    ask('H');
    const leaves = new Job(admission, demand(slot), { signal });
    leaves.unsubscribe();
    expect(listeners(signal)).toBe(0);
    new Job(admission, demand([slot, 2]), { signal });
    expect(listeners(signal)).toBe(0);
    new Job(admission, demand(slot), { signal });
    expect(listeners(signal)).toBe(1);
    admission.stop();
    expect(listeners(signal)).toBe(0);
  });

  it('may be asked with again from inside its own abort: refused', () => {
    const { admission, slot, ask } = scene();
    ask('H');
    const controller = new AbortController();
    const { signal } = controller;
    const again: Job[] = [];
    signal.addEventListener('abort', () => again.push(new Job(admission, demand(slot), { signal })));
    new Job(admission, demand(slot), { signal });
    controller.abort(why);
    expect(again.map(({ refusal }) => refusal)).toEqual([expect.objectContaining({ cause: why })]);
  });
});

describe('maxWait', () => {
  it('ends the wait then, and says what it was short of', () => {
    const { admission, slot, ask, clock, events } = scene();
    const holder = ask('H');
    const job = new Job(admission, demand(slot), { maxWait: 10, job: 'A' });
    clock.advanceTo(9);
    expect([job.state, clock.pending]).toEqual(['waiting', 1]);
    clock.advanceTo(10);
    expect(job.refusal).toBeInstanceOf(WaitTimeoutError);
    expect(job.refusal).toMatchObject({ name: 'WaitTimeoutError', reason: 'timeout', account: 'slot' });
    expect((job.refusal as Error).message).toBe('not granted within 10ms: it was short of slot');
    expect(events.at(-1)).toBe('10 REJECTED slot A waiters=0 amount=1 wait=10 reason=timeout');
    holder.release();
    expect([slot.inUse(), clock.pending, admission.queueSize]).toEqual([0, 0, 0]);
  });

  it('never cuts a running call', () => {
    const { admission, slot, clock } = scene();
    const job = new Job(admission, demand(slot), { maxWait: 10 });
    expect(clock.pending).toBe(0);
    clock.advanceTo(100);
    expect([job.grant.signal.aborted, slot.inUse()]).toEqual([false, 1]);
  });

  it('lets one who is let in at that instant or before go, timer and all', () => {
    const { admission, slot, ask, clock } = scene();
    const holder = ask('H');
    const job = new Job(admission, demand(slot), { maxWait: 10 });
    clock.advanceTo(9);
    holder.release();
    expect([job.state, clock.pending]).toEqual(['granted', 0]);
  });

  it('0 grants at once or not at all', () => {
    const { admission, slot, events, clock } = scene();
    const now = new Job(admission, demand(slot), { maxWait: 0, job: 'A' });
    const late = new Job(admission, demand(slot), { maxWait: 0, job: 'B' });
    expect([now.state, late.state, admission.queueSize, clock.pending]).toEqual(['granted', 'refused', 0, 0]);
    expect(late.refusal).toMatchObject({ reason: 'timeout', message: 'not granted within 0ms: it was short of slot' });
    expect(events).toEqual([
      '0 GRANTED_IMMEDIATE slot A waiters=0 amount=1',
      '0 HELD slot B waiters=1 amount=1',
      '0 REJECTED slot B waiters=0 amount=1 wait=0 reason=timeout',
    ]);
  });

  it('names every account that was short, and none of those that were not', () => {
    const { admission, gate, clock } = scene();
    const [a, b, c] = [gate('a', 1), gate('b', 1), gate('c', 1)];
    new Job(admission, demand(a, c));
    const job = new Job(admission, demand(a, b, c), { maxWait: 5 });
    clock.advanceTo(5);
    expect((job.refusal as Error).message).toBe('not granted within 5ms: it was short of a, c');
  });

  it('lets those go whom the head that gave up held back', () => {
    const { admission, slot, ask, clock } = scene(2);
    ask('H');
    new Job(admission, demand([slot, 2]), { maxWait: 5 });
    const behind = ask('B');
    clock.advanceTo(4);
    expect(behind.state).toBe('waiting');
    clock.advanceTo(5);
    expect([behind.state, behind.grant.wallWait]).toEqual(['granted', 5]);
  });

  it('shares one timer between thousands of waiters', () => {
    const { admission, slot, ask, clock } = scene();
    ask('H');
    const jobs = Array.from({ length: 500 }, (_, n) => new Job(admission, demand(slot), { maxWait: 1_000 - n }));
    expect([clock.pending, clock.peak]).toEqual([1, 1]);
    clock.advanceTo(750);
    expect([jobs.filter(({ state }) => state === 'refused').length, admission.queueSize, clock.pending]).toEqual([250, 250, 1]);
    clock.advanceTo(1_000);
    expect([admission.queueSize, clock.pending, clock.peak]).toEqual([0, 0, 1]);
  });

  it('may be Infinity, and nothing else that is no wait', () => {
    const { admission, slot, ask } = scene();
    ask('H');
    expect(new Job(admission, demand(slot), { maxWait: Infinity }).state).toBe('waiting');
    for (const maxWait of [-1, Number.NaN]) {
      expect(new Job(admission, demand(slot), { maxWait }).refusal).toBeInstanceOf(RangeError);
    }
    expect(admission.queueSize).toBe(1);
  });
});

describe('deadline', () => {
  it('ends the wait at its instant', () => {
    const { admission, slot, ask, clock } = scene();
    ask('H');
    clock.advanceTo(5);
    const job = new Job(admission, demand(slot), { deadline: 12 });
    clock.advanceTo(11);
    expect(job.state).toBe('waiting');
    clock.advanceTo(12);
    expect(job.refusal).toMatchObject({ reason: 'timeout', message: 'not granted within 7ms: it was short of slot' });
    expect(clock.pending).toBe(0);
  });

  it('is what is left of it once granted, and aborts the signal of the grant', () => {
    const { admission, slot, ask, clock } = scene();
    const holder = ask('H');
    const job = new Job(admission, demand(slot), { deadline: 20 });
    clock.advanceTo(8);
    holder.release();
    expect([job.grant.remaining(), job.grant.signal.aborted]).toEqual([12, false]);
    clock.advanceTo(19);
    expect([job.grant.remaining(), job.grant.signal.aborted]).toEqual([1, false]);
    clock.advanceTo(20);
    expect([job.grant.remaining(), job.grant.signal.aborted]).toEqual([0, true]);
    expect(job.grant.signal.reason).toMatchObject({ name: 'TimeoutError' });
    clock.advanceTo(30);
    // Only told: the work ends when it ends.
    expect([job.grant.remaining(), slot.inUse(), clock.pending]).toEqual([0, 1, 0]);
  });

  it('leaves no timer behind when the work ends before it', () => {
    const { admission, slot, clock } = scene();
    const job = new Job(admission, demand(slot), { deadline: 20 });
    expect(clock.pending).toBe(1);
    job.release();
    expect([clock.pending, job.grant.signal.aborted]).toEqual([0, false]);
  });

  it('that has passed refuses at once, and charges nothing', () => {
    const { admission, slot, clock, events } = scene();
    clock.advanceTo(10);
    for (const deadline of [9, 10, -Infinity]) {
      expect(new Job(admission, demand(slot), { deadline }).refusal).toMatchObject({ reason: 'timeout' });
    }
    expect([slot.inUse(), events, clock.pending]).toEqual([0, [], 0]);
    expect(new Job(admission, demand(slot), { deadline: Number.NaN }).refusal).toBeInstanceOf(RangeError);
  });

  it('and maxWait: whichever is first', () => {
    const { admission, slot, ask, clock } = scene();
    ask('H');
    const jobs = [{ deadline: 5, maxWait: 9 }, { deadline: 9, maxWait: 5 }].map((options) => new Job(admission, demand(slot), options));
    clock.advanceTo(5);
    expect(jobs.map(({ state }) => state)).toEqual(['refused', 'refused']);
  });

  it('is no limit when it is Infinity or absent', () => {
    const { admission, slot, clock } = scene(2);
    const jobs = [new Job(admission, demand(slot), { deadline: Infinity }), new Job(admission, demand(slot))];
    expect(jobs.map(({ grant }) => grant.remaining())).toEqual([Infinity, Infinity]);
    expect(clock.pending).toBe(0);
  });
});

describe('job', () => {
  it('is the item unless given, a label, or a function of item and index', () => {
    const { admission, slot } = scene(9);
    const jobs: unknown[] = [];
    const project = (_item: string, grant: Grant): never[] => (jobs.push(grant.job), []);
    of('a', 'b').pipe(admission.admit(demand(slot), project)).subscribe();
    of('a', 'b').pipe(admission.admit(demand(slot), project, { job: 'label' })).subscribe();
    of('a', 'b').pipe(admission.admit(demand(slot), project, { job: (item: string, index: number) => `${item}${index}` })).subscribe();
    expect(jobs).toEqual(['a', 'b', 'label', 'label', 'a0', 'b1']);
  });

  it('is carried by every event, status, grant and state of the ask, whoever causes them', () => {
    const { admission, slot, ask, clock } = scene();
    const snapshot = { id: 7 };
    const seen: unknown[] = [];
    admission.events$.subscribe(({ type, job }) => seen.push([type, job]));
    const holder = ask('H');
    const waiter = new Job(admission, demand(slot), { job: snapshot });
    expect(admission.status().waiters.map(({ job }) => job)).toEqual([snapshot]);
    clock.advanceTo(5);
    holder.release();
    expect(waiter.grant.job).toBe(snapshot);
    expect(admission.status().grants.map(({ job }) => job)).toEqual([snapshot]);
    waiter.release();
    expect(seen.filter((one) => (one as unknown[])[1] === snapshot).map((one) => (one as unknown[])[0])).toEqual([
      'HELD',
      'GRANTED_FROM_HOLD',
      'RELEASED',
    ]);
  });

  it('may be given to run, acquire and tryAcquire', async () => {
    const { admission, slot } = scene(9);
    await expect(admission.run(demand(slot), ({ job }) => job, { job: 'r' })).resolves.toBe('r');
    expect((await admission.acquire(demand(slot), { job: 'a' })).job).toBe('a');
    expect(admission.tryAcquire(demand(slot))?.job).toBeUndefined();
  });
});

describe('errors', () => {
  it('are AdmissionErrors that name their reason, and pass instanceof by kind', () => {
    const { admission, slot, ask } = scene();
    ask('H');
    const cancelled = new Job(admission, demand(slot), { signal: AbortSignal.abort() }).refusal;
    const late = new Job(admission, demand(slot), { maxWait: 0 }).refusal;
    expect(cancelled).toBeInstanceOf(AdmissionError);
    expect(late).toBeInstanceOf(AdmissionError);
    expect(late).not.toBeInstanceOf(CancelledError);
    expect((cancelled as CancelledError).cause).toMatchObject({ name: 'AbortError' });
  });

  it('leave the user own errors unchanged', () => {
    const { admit } = createAdmission();
    let error: unknown;
    of('a').pipe(admit(demand(), () => { throw why; })).subscribe({ error: (thrown: unknown) => (error = thrown) });
    expect(error).toBe(why);
  });
});
