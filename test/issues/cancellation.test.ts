/** Bug reports of peers about cancelling: waiters that stay, burn quota, never hear, or leak listeners. */
import { getEventListeners } from 'node:events';
import { CancelledError, ElasticWindow, StoppedError, TokenBucket, demand } from 'rx-admission';
import { NEVER, of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { scene } from '../admission/scene.js';
import { Job } from '../admit/job.js';

describe('p-limit', () => {
  it('#25 (clearQueue leaves promises pending for ever): whoever is cleared hears a typed error', async () => {
    const { admission, slot, ask } = scene();
    ask('H');
    const waiting = [admission.acquire(demand(slot)), admission.run(demand(slot), () => 1)];
    admission.stop();
    const ends = await Promise.allSettled(waiting);
    expect(ends.map((end) => end.status === 'rejected' && end.reason instanceof StoppedError)).toEqual([true, true]);
  });
});

describe('p-queue', () => {
  it('#219 (aborted waiters stay queued and burn intervalCap): they leave at once and are charged nothing', () => {
    const { admission, clock } = scene();
    const perSecond = new ElasticWindow({ name: 'per second', maxRequests: 2, baseWindow: 1_000, scheduler: clock });
    const controller = new AbortController();
    for (let n = 0; n < 2; n += 1) new Job(admission, demand(perSecond));
    for (let n = 0; n < 50; n += 1) new Job(admission, demand(perSecond), { signal: controller.signal });
    controller.abort();
    expect(admission.queueSize).toBe(0);
    clock.advanceTo(1_000);
    expect([new Job(admission, demand(perSecond)).state, new Job(admission, demand(perSecond)).state]).toEqual(['granted', 'granted']);
  });

  it('#241 (a signal that is aborted already never settles): it is refused at once', async () => {
    const { admission, slot } = scene();
    const signal = AbortSignal.abort();
    await expect(admission.run(demand(slot), () => 1, { signal })).rejects.toBeInstanceOf(CancelledError);
    await expect(admission.acquire(demand(slot), { signal })).rejects.toBeInstanceOf(CancelledError);
  });

  it('#168 (aborting running and waiting ones hangs the queue): the next one goes', async () => {
    const { admission, slot } = scene();
    const controller = new AbortController();
    const work = ({ signal }: { signal: AbortSignal }): Promise<never> =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')));
      });
    const ends = [1, 2, 3].map(() => admission.run(demand(slot), work, { signal: controller.signal }));
    controller.abort();
    const settled = await Promise.allSettled(ends);
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    await expect(admission.run(demand(slot), () => 'goes')).resolves.toBe('goes');
  });

  it('PR #235 (abort listeners leak): none is left on a signal that outlives a thousand jobs', async () => {
    const { admission, slot } = scene();
    const { signal } = new AbortController();
    for (let n = 0; n < 1_000; n += 1) await admission.run(demand(slot), () => n, { signal });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('#29 (reject everything on the first error), p-limit#77: an operator fails as a whole, runs beside it do not', async () => {
    const { admission, slot } = scene(2);
    const alone = admission.run(demand(slot), () => Promise.resolve('alone'));
    const started: string[] = [];
    let error: unknown;
    of('a', 'b', 'c')
      .pipe(
        admission.admit(demand(slot), (item) => {
          started.push(item);
          throw new Error(item);
        }),
      )
      .subscribe({ error: (thrown: unknown) => (error = thrown) });
    expect([started, String(error)]).toEqual([['a'], 'Error: a']);
    await expect(alone).resolves.toBe('alone');
  });
});

describe('cockatiel', () => {
  it('PR #114, #112 (an aborted waiter holds an execution slot): the next one has it', () => {
    const { admission, slot, ask } = scene();
    const holder = ask('H');
    const controller = new AbortController();
    new Job(admission, demand(slot), { signal: controller.signal });
    const next = ask('N');
    controller.abort();
    holder.release();
    expect([next.state, slot.inUse()]).toEqual(['granted', 1]);
  });

  it('(an aborted waiter neither rejects nor frees its place until its turn): both at once', () => {
    const { admission, slot, ask } = scene(1, { maxWaiters: 1 });
    ask('H');
    const controller = new AbortController();
    const waiter = new Job(admission, demand(slot), { signal: controller.signal });
    expect(ask('full').state).toBe('refused');
    controller.abort();
    expect([waiter.state, admission.queueSize, ask('fits').state]).toEqual(['refused', 0, 'waiting']);
  });

  it('#81, #69 (abort listeners leak): gone at settlement', () => {
    const { admission, slot } = scene();
    const { signal } = new AbortController();
    const job = new Job(admission, demand(slot), { signal });
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    job.release();
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('#98, #101 (the reason of the abort is lost): it is the cause', () => {
    const { admission, slot, ask } = scene();
    ask('H');
    const controller = new AbortController();
    const job = new Job(admission, demand(slot), { signal: controller.signal });
    controller.abort('closed the tab');
    expect((job.refusal as Error).cause).toBe('closed the tab');
  });
});

describe('async-mutex', () => {
  it('#64, #28 (cancel one waiter, cancel all): each by its own signal, all by stop', () => {
    const { admission, slot, ask } = scene();
    ask('H');
    const controllers = [new AbortController(), new AbortController(), new AbortController()];
    const jobs = controllers.map(({ signal }) => new Job(admission, demand(slot), { signal }));
    controllers[1]?.abort();
    expect(jobs.map(({ state }) => state)).toEqual(['waiting', 'refused', 'waiting']);
    admission.stop();
    expect(jobs.map(({ state }) => state)).toEqual(['refused', 'refused', 'refused']);
  });

  it('#67 (cancel does not stop the holder): its signal tells it', () => {
    const { admission, slot } = scene();
    const controller = new AbortController();
    const job = new Job(admission, demand(slot), { signal: controller.signal });
    controller.abort();
    expect(job.grant.signal.aborted).toBe(true);
  });

  it('#54 (isLocked is stale after timeouts): the status is of now', () => {
    const { admission, slot, ask, clock } = scene();
    const holder = ask('H');
    new Job(admission, demand(slot), { maxWait: 5 });
    clock.advanceTo(5);
    holder.release();
    expect([slot.inUse(), admission.status().accounts]).toEqual([0, []]);
  });
});

describe('effect', () => {
  it('(late cancel deletes a replaced waiter): by identity, so asking the same twice cancels one', () => {
    const { admission, slot, ask } = scene();
    const holder = ask('H');
    const call = demand(slot);
    const [first, second] = [new Job(admission, call), new Job(admission, call)];
    first.unsubscribe();
    first.unsubscribe();
    expect(admission.queueSize).toBe(1);
    holder.release();
    expect(second.state).toBe('granted');
  });
});

describe('LangChain.js', () => {
  it('AsyncCaller (the aborted call is still made when its turn comes): it is not', () => {
    const { admission, slot, ask, clock } = scene();
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    const holder = ask('H');
    const controller = new AbortController();
    const started: string[] = [];
    new Job(admission, demand(slot, [tokens, 10]), { signal: controller.signal }, () => (started.push('x'), NEVER));
    controller.abort();
    holder.release();
    expect([started, tokens.tokens()]).toEqual([[], 60_000]);
  });
});
