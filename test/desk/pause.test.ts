/** A pause is strict: nothing starts after it returns, not even what had been decided in the same turn. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { CountingGate, demand, type Grant } from 'rx-admission';
import { NEVER, Subject, config, from, of } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { Job } from '../admit/job.js';
import { scene } from '../admission/scene.js';

/** Two who are let in by one step, the first of whom pauses the gate. */
function paused(options: ConstructorParameters<typeof Job>[2] = {}) {
  const made = scene(2);
  const { admission, slot, ask } = made;
  const holder = ask('H', 2);
  const started: string[] = [];
  const first = new Job(admission, demand(slot), {}, () => {
    started.push('first');
    slot.pause();
    return NEVER;
  });
  const second = new Job(admission, demand(slot), options, () => (started.push('second'), NEVER));
  holder.release();
  return { ...made, started, first, second };
}

describe('pause', () => {
  it('lets nobody start after it returns, from inside the delivery of a grant of the same step too', () => {
    const { slot, started, first, second, admission } = paused();
    expect([started, second.state]).toEqual([['first'], 'waiting']);
    first.release();
    expect(started).toEqual(['first']);
    expect([slot.inUse(), admission.check()]).toEqual([1, []]);
    slot.resume();
    expect([started, second.state, slot.inUse()]).toEqual([['first', 'second'], 'granted', 1]);
  });

  it.each([{ maxWait: 50 }, { deadline: 50 }])('keeps nobody longer than they would wait: %j', async (options) => {
    const { clock, slot, first, second, admission, started } = paused(options);
    clock.advanceTo(49);
    expect(second.state).toBe('waiting');
    clock.advanceTo(51);
    expect(second.state).toBe('refused');
    expect([slot.inUse(), admission.check(), clock.pending]).toEqual([1, [], 0]);
    first.release();
    slot.resume();
    await Promise.resolve();
    expect([started, slot.inUse()]).toEqual([['first'], 0]);
  });

  it('lets all whom it held back leave together, also where an account throws as it takes back what was taken', async () => {
    class Complaining extends CountingGate {
      override give(amounts: readonly number[], at: number): void {
        super.give(amounts, at);
        throw new Error('taken back, and not content');
      }
    }
    const { admission, slot, ask, clock } = scene(3);
    const odd = new Complaining({ name: 'odd', capacity: 2, scheduler: clock });
    const holder = ask('H', 3);
    const controller = new AbortController();
    const first = new Job(admission, demand(slot), {}, () => (slot.pause(), NEVER));
    const others = [1, 2].map(() => new Job(admission, demand(slot, odd), { signal: controller.signal }));
    const reported: unknown[] = [];
    config.onUnhandledError = (error) => reported.push(error);
    try {
      holder.release();
      expect([slot.inUse(), odd.inUse()]).toEqual([3, 2]);
      controller.abort();
      expect([slot.inUse(), odd.inUse(), others.map(({ state }) => state)]).toEqual([1, 0, ['refused', 'refused']]);
      await new Promise((resolve) => setTimeout(resolve));
    } finally {
      config.onUnhandledError = null;
    }
    expect(reported.map(String)).toEqual(Array(2).fill('Error: taken back, and not content'));
    first.release();
    expect([slot.inUse(), admission.check()]).toEqual([0, []]);
  });

  it('and once it goes on, the deadline ends the budget of the work as ever', () => {
    const { clock, slot, second } = paused({ deadline: 50 });
    clock.advanceTo(20);
    slot.resume();
    expect([second.state, second.grant.signal.aborted]).toEqual(['granted', false]);
    clock.advanceTo(51);
    expect(second.grant.signal.aborted).toBe(true);
  });

  it('from inside an event of the very grant', () => {
    const { admission, slot } = scene(1);
    admission.events$.subscribe(({ type }) => {
      if (type === 'GRANTED_IMMEDIATE') slot.pause();
    });
    const job = new Job(admission, demand(slot));
    expect(job.state).toBe('waiting');
    slot.resume();
    expect(job.state).toBe('granted');
  });

  it('that is resumed and paused again by whoever starts first starts one at each', () => {
    const { admission, slot, ask } = scene(3);
    const holder = ask('H', 3);
    const started: number[] = [];
    for (const n of [1, 2, 3]) new Job(admission, demand(slot), {}, () => (started.push(n), slot.pause(), NEVER));
    holder.release();
    expect(started).toEqual([1]);
    slot.resume();
    expect(started).toEqual([1, 2]);
    slot.resume();
    expect(started).toEqual([1, 2, 3]);
  });

  it('is listened to once, however many it holds back', () => {
    const { slot, ask, admission } = scene(10);
    const holder = ask('H', 10);
    const jobs = Array.from({ length: 10 }, () => new Job(admission, demand(slot), {}, () => (slot.pause(), NEVER)));
    const listens = vi.spyOn(slot.capacityChanges, 'subscribe');
    holder.release();
    expect([jobs.filter(({ state }) => state === 'waiting').length, listens.mock.calls.length]).toEqual([9, 1]);
  });

  it('holds up whoever names two paused gates until both are resumed', () => {
    const { admission, slot, gate, ask } = scene(2);
    const other = gate('other', 1);
    const holder = ask('H', 2);
    new Job(admission, demand(slot), {}, () => (slot.pause(), other.pause(), NEVER));
    const both = new Job(admission, demand(slot, other));
    holder.release();
    slot.resume();
    expect(both.state).toBe('waiting');
    other.resume();
    expect(both.state).toBe('granted');
  });

  it('is left at once by whoever unsubscribes, is aborted, or runs out of time, and nothing stays behind', () => {
    for (const way of ['unsubscribe', 'abort', 'stop'] as const) {
      const controller = new AbortController();
      const { slot, started, first, second, admission } = paused({ signal: controller.signal });
      if (way === 'unsubscribe') second.unsubscribe();
      else if (way === 'abort') controller.abort();
      else admission.stop();
      expect([way, second.state]).toEqual([way, way === 'unsubscribe' ? 'waiting' : 'refused']);
      slot.resume();
      expect([started, slot.inUse(), slot.capacityChanges.observed]).toEqual([['first'], 1, false]);
      first.release();
      expect([slot.inUse(), admission.check()]).toEqual([0, []]);
    }
  });

  it('keeps the asynchronous context of who asked for whoever is resumed', () => {
    const store = new AsyncLocalStorage<string>();
    const { admission, slot, ask } = scene(2);
    const holder = ask('H', 2);
    new Job(admission, demand(slot), {}, () => (slot.pause(), NEVER));
    let seen: string | undefined;
    store.run('asker', () => new Job(admission, demand(slot), {}, () => ((seen = store.getStore()), NEVER)));
    store.run('releaser', () => {
      holder.release();
      slot.resume();
    });
    expect(seen).toBe('asker');
  });
});

describe('resize', () => {
  it('says how much is out beyond a capacity that was lowered, and refuses at once who can never fit it', () => {
    const { admission, slot, ask } = scene(3);
    const jobs = ['A', 'B', 'C'].map((name) => ask(name));
    const [big, waiter] = [ask('BIG', 2), ask('W')];
    slot.resize(1);
    expect([big.state, waiter.state]).toEqual(['refused', 'waiting']);
    expect([slot.inUse(), slot.status().overage, slot.status().summary()]).toEqual([3, 2, '3/1 permits in use, 2 over']);
    expect(admission.status().accounts[0]).toMatchObject({ capacity: 1, inUse: 3, status: { overage: 2 } });
    jobs[0]?.release();
    jobs[1]?.release();
    expect([slot.status().overage, waiter.state]).toEqual([0, 'waiting']);
    slot.resize(2);
    expect([waiter.state, slot.inUse(), admission.check()]).toEqual(['granted', 2, []]);
  });
});

describe('capacity 1 never runs two', () => {
  /** Runs `start` as each of two ways in, and tells how many of its promises were open at once. */
  it('whatever times out, and however its work is a promise', async () => {
    const { admission, slot, clock } = scene(1);
    let running = 0;
    let most = 0;
    const ends: (() => void)[] = [];
    const work = (): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      return new Promise<void>((resolve) => ends.push(resolve)).then(() => void (running -= 1));
    };
    const settle = async (): Promise<void> => {
      ends.splice(0).forEach((end) => { end(); });
      for (let turns = 0; turns < 5; turns += 1) await Promise.resolve();
    };
    const options = { deadline: 10, maxHold: { after: 5, recover: true } };
    const source = new Subject<number>();
    const outputs = [
      from([1, 2]).pipe(admission.admit(demand(slot), () => work(), options)).subscribe({ error: () => undefined }),
      source.pipe(admission.admit(demand(slot), () => work())).subscribe(),
      admission.defer(demand(slot), () => work()).subscribe(),
    ];
    source.next(1);
    const runs = [admission.run(demand(slot), () => work(), options), admission.run(demand(slot), () => work(), { maxWait: 50 })];
    runs.forEach((run) => void run.catch(() => undefined));
    const byHand: Promise<Grant> = admission.acquire(demand(slot));
    clock.advanceTo(5);
    outputs[0]?.unsubscribe();
    for (let at = 10; at < 200; at += 10) {
      clock.advanceTo(at);
      expect([slot.inUse() <= 1, running]).toEqual([true, running <= 1 ? running : -1]);
      if (at === 50) outputs[2]?.unsubscribe();
      await settle();
    }
    const grant = await byHand;
    grant.until(work());
    grant.release();
    clock.advanceTo(300);
    expect([slot.inUse(), running]).toEqual([1, 1]);
    await settle();
    expect([most, slot.inUse(), admission.check()]).toEqual([1, 0, []]);
  });

  it('not even when it is paused, resized and resumed while a promise of the one that was cut goes on', async () => {
    const { admission, slot } = scene(1);
    let end = (): void => undefined;
    const cut = of(1).pipe(admission.admit(demand(slot), () => new Promise<void>((resolve) => (end = resolve)))).subscribe();
    cut.unsubscribe();
    const waiter = new Job(admission, demand(slot));
    slot.pause();
    slot.resize(3);
    slot.resize(1);
    slot.resume();
    expect([waiter.state, slot.inUse()]).toEqual(['waiting', 1]);
    end();
    await Promise.resolve();
    await Promise.resolve();
    expect([waiter.state, slot.inUse()]).toEqual(['granted', 1]);
  });
});
