/** Bug reports of peers about demands that can never fit: they hang, and everyone behind them. Ours are refused at once. */
import { CountingGate, ElasticWindow, RefusedError, TokenBucket, demand } from 'rx-admission';
import { describe, expect, it } from 'vitest';
import { scene } from '../admission/scene.js';
import { Job } from '../admit/job.js';

describe('a demand beyond the capacity', () => {
  it('async-mutex (acquire(weight > capacity) waits for ever and blocks all): refused, and the next one goes', () => {
    const { admission, slot, ask } = scene(2);
    const impossible = new Job(admission, demand([slot, 3]));
    expect(impossible.refusal).toBeInstanceOf(RefusedError);
    expect([ask('next').state, admission.queueSize]).toEqual(['granted', 0]);
  });

  it('effect (withPermits(3) of 2 hangs): refused, behind others too', () => {
    const { admission, slot, ask } = scene(2);
    ask('H', 2);
    ask('W');
    const impossible = new Job(admission, demand([slot, 3]));
    expect([impossible.state, admission.queueSize]).toEqual(['refused', 1]);
    expect((impossible.refusal as Error).message).toBe('slot: 3 permits can never fit 2; ask for fewer at once');
  });

  it('bottleneck (weight beyond what the reservoir refreshes hangs itself and all behind it): refused, all behind it go', () => {
    const { admission, clock } = scene();
    const reservoir = new TokenBucket({ name: 'reservoir', tokensPerMinute: 100, scheduler: clock });
    const impossible = new Job(admission, demand([reservoir, 101]));
    expect([impossible.state, new Job(admission, demand([reservoir, 100])).state]).toEqual(['refused', 'granted']);
    expect((impossible.refusal as Error).message).toContain('101');
  });

  it('openlimit#8, PR #10 (a request above a sixtieth of the minute hangs): it waits for the minute and goes', () => {
    const { admission, clock } = scene();
    const tpm = new TokenBucket({ name: 'tpm', tokensPerMinute: 60_000, scheduler: clock });
    new Job(admission, demand([tpm, 60_000]));
    const big = new Job(admission, demand([tpm, 30_000]));
    clock.advanceTo(29_999);
    expect(big.state).toBe('waiting');
    clock.advanceTo(30_000);
    expect(big.state).toBe('granted');
  });

  it('limiter PR #56 (a large request is never fulfilled under load): it is the head, and the load waits behind it', () => {
    const { admission, clock } = scene();
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    new Job(admission, demand([tokens, 60_000]));
    const big = new Job(admission, demand([tokens, 50_000]));
    const load: Job[] = [];
    for (let second = 1; second <= 50; second += 1) {
      clock.advanceTo(second * 1_000 - 1);
      load.push(new Job(admission, demand([tokens, 900])));
    }
    clock.advanceTo(50_000);
    expect([big.state, big.grant.wallWait]).toEqual(['granted', 50_000]);
    expect(load.every(({ given }) => given === null || given.wallWait > 0)).toBe(true);
  });

  it('LiteLLM#29193 (the first request is refused: an estimate above the limit): the error says which limit, and by how much', () => {
    const { admission, clock } = scene();
    const tpm = new TokenBucket({ name: 'gpt', tokensPerMinute: 100, scheduler: clock });
    const job = new Job(admission, demand([tpm, 1_024]));
    expect(job.refusal).toMatchObject({ account: 'gpt', reason: 'circuit_blocked' });
    expect((job.refusal as Error).message).toMatch(/gpt: 1024 tokens exceed the budget of 100/);
  });

  it('LiteLLM#4314 (the wrong limit is named in the error): the one that was short', () => {
    const { admission, slot, clock } = scene();
    const rpm = new TokenBucket({ name: 'rpm', tokensPerMinute: 1_000, requestsPerMinute: 1, scheduler: clock });
    new Job(admission, demand([rpm, 1]));
    const job = new Job(admission, demand(slot, [rpm, 1]), { maxWait: 0 });
    expect(job.refusal).toMatchObject({ account: 'rpm', message: 'not granted within 0ms: it was short of rpm' });
  });

  it('is found out again on every shrink, in the same turn', () => {
    const { ask, slot } = scene(3);
    ask('H');
    const big = ask('BIG', 3);
    slot.resize(2);
    expect(big.state).toBe('refused');
  });

  it('is refused by a window as well, and by all or nothing of several', () => {
    const { admission, slot, clock } = scene();
    const window = new ElasticWindow({ name: 'window', maxRequests: 2, baseWindow: 1_000, scheduler: clock });
    expect(new Job(admission, demand([window, 3])).state).toBe('refused');
    expect(new Job(admission, demand(slot, [window, 3])).state).toBe('refused');
    expect([slot.inUse(), window.inUse()]).toEqual([0, 0]);
  });

  it('RLF#82 (negative points), async-sema#36, PR #57 (over-release grows the capacity): neither can be said', () => {
    const { admission, slot } = scene(2);
    for (const amount of [-1, 0, 1.5, Number.NaN, Infinity]) expect(() => demand([slot, amount])).toThrow(RangeError);
    const job = new Job(admission, demand(slot));
    job.release();
    job.release();
    job.grant.rollback();
    expect([slot.inUse(), slot.status().availablePermits]).toEqual([0, 2]);
    const strays = new CountingGate({ name: 'strays', capacity: 2 });
    strays.give([5], 0);
    expect([strays.inUse(), strays.fits([3].slice(0, 0), [])]).toEqual([0, true]);
    expect(new Job(admission, demand([strays, 2])).state).toBe('granted');
    expect(new Job(admission, demand(strays)).state).toBe('waiting');
  });
});
