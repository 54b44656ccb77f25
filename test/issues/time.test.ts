/** Bug reports of peers about time: clocks that jump, waits longer than a timer can count, windows that forget. */
import { CountingGate, ElasticWindow, TokenBucket, createAdmission, demand } from 'rx-admission';
import { NEVER } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Job } from '../admit/job.js';
import { scene } from '../admission/scene.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe('on the default clock', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it('RLF#71, #113, p-queue interval of 30 days (a timer beyond 2^31 - 1 ms fires at once, or spins): one timer at a time', () => {
    const admission = createAdmission();
    const rare = new ElasticWindow({ name: 'rare', maxRequests: 1, baseWindow: 40 * DAY });
    const jobs = Array.from({ length: 50 }, () => new Job(admission, demand(rare)));
    const granted = (): number => jobs.filter(({ state }) => state === 'granted').length;
    const arms = vi.spyOn(globalThis, 'setTimeout');
    vi.advanceTimersByTime(40 * DAY - 1);
    expect([granted(), vi.getTimerCount()]).toEqual([1, 1]);
    // Split where it must be, and never again and again.
    expect(arms.mock.calls.length).toBeLessThan(4);
    vi.advanceTimersByTime(2);
    expect([granted(), vi.getTimerCount()]).toEqual([2, 1]);
    arms.mockRestore();
    admission.stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('p-queue, bottleneck, cockatiel, RLF (the wall clock goes back an hour and everything stays shut): nothing changes', () => {
    for (const jump of [-HOUR, HOUR]) {
      const admission = createAdmission();
      const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000 });
      new Job(admission, demand([tokens, 60_000]));
      const waiter = new Job(admission, demand([tokens, 1_000]), { maxWait: 5_000 });
      vi.setSystemTime(Date.now() + jump);
      vi.advanceTimersByTime(999);
      expect(waiter.state).toBe('waiting');
      vi.advanceTimersByTime(2);
      expect([waiter.state, waiter.grant.wallWait]).toEqual(['granted', expect.closeTo(1_000, -1)]);
    }
  });

  it('async-mutex#33, async-sema RateLimit (timers leak): none is left when the wait has ended', () => {
    const admission = createAdmission();
    const slot = new CountingGate({ name: 'slot', capacity: 1 });
    const holder = new Job(admission, demand(slot));
    for (let n = 0; n < 10; n += 1) {
      const job = new Job(admission, demand(slot), { maxWait: 60_000 });
      job.unsubscribe();
    }
    holder.release();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('windows and buckets', () => {
  it('p-queue#182, #251, #126 (the interval is wrong after idle, over the limit, then over-delayed): never more than max in any window', () => {
    const { admission, clock } = scene();
    const window = new ElasticWindow({ name: 'window', maxRequests: 3, baseWindow: 1_000, scheduler: clock });
    const at: number[] = [];
    const ask = (): Job => new Job(admission, demand(window), {}, () => (at.push(clock.now()), NEVER));
    // A burst, an idle time, bursts at odd instants.
    for (const instant of [0, 10, 20, 30, 5_555, 5_556, 6_000, 6_001, 6_002, 6_003, 6_004, 9_999]) {
      clock.advanceTo(instant);
      ask();
    }
    clock.advanceTo(20_000);
    for (const start of at) expect(at.filter((other) => other >= start && other < start + 1_000).length).toBeLessThanOrEqual(3);
    // And no later than it must be.
    expect(at).toEqual([0, 10, 20, 1_000, 5_555, 5_556, 6_000, 6_555, 6_556, 7_000, 7_555, 9_999]);
  });

  it('limiter#22 (a clock that is not monotonic), resilience4j#171 (a ramp after idle): the budget is capped at one minute', () => {
    const { admission, clock } = scene();
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 600, scheduler: clock });
    new Job(admission, demand([tokens, 600]));
    clock.advanceTo(30 * DAY);
    expect(tokens.tokens()).toBe(600);
    new Job(admission, demand([tokens, 600]));
    expect(new Job(admission, demand([tokens, 1])).state).toBe('waiting');
  });

  it('RLF#112, #113 (half the rate, or bursts): the long-run rate is the one that was configured', () => {
    const { admission, clock } = scene();
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 6_000, scheduler: clock });
    let done = 0;
    for (let n = 0; n < 400; n += 1) new Job(admission, demand([tokens, 100]), {}, () => ((done += 1), NEVER));
    clock.advanceTo(300_000);
    // A full minute at the start, and one each of five minutes.
    expect(done).toBe(60 + 300);
  });

  it('limiter#88 (getWaitTime), toolhive#4553, tensorzero#3623 (which limit is holding me, until when): status() says', () => {
    const { admission, clock, slot, ask } = scene();
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    new Job(admission, demand([tokens, 60_000]));
    new Job(admission, demand([tokens, 900]), { job: 'A' });
    ask('H');
    new Job(admission, demand(slot, [tokens, 1]), { job: 'B' });
    expect(admission.status().waiters.map(({ job, shortOf, earliest }) => [job, shortOf, earliest])).toEqual([
      ['A', ['tokens'], 900],
      ['B', ['slot', 'tokens'], null],
    ]);
  });
});

describe('a nested call', () => {
  it('p-limit#91, #14, zed#47232 (on the same limiter deadlocks in silence): is seen, says who holds, and ends by maxWait', () => {
    const { admission, slot, clock } = scene();
    const parent = new Job(admission, demand(slot), { job: 'parent' });
    const child = new Job(admission, demand(slot), { job: 'child', maxWait: 100 });
    const { waiters, grants } = admission.status();
    expect([waiters.map(({ job, shortOf }) => [job, shortOf]), grants.map(({ job, accounts }) => [job, accounts])]).toEqual([
      [['child', ['slot']]],
      [['parent', ['slot']]],
    ]);
    clock.advanceTo(100);
    expect((child.refusal as Error).message).toBe('not granted within 100ms: it was short of slot');
    expect(parent.grant.settled).toBe(false);
  });
});
