/** Bug reports of peers about several limits at once: hold and wait, refused by one and charged by the other, deadlock. */
import { type CountingGate, ElasticWindow, TokenBucket, demand } from 'rx-admission';
import { describe, expect, it } from 'vitest';
import { scene } from '../admission/scene.js';
import { Job } from '../admit/job.js';

describe('several limits at once', () => {
  it('LiteLLM#39309 (refused by concurrency, and still burns a request): the minute is charged with the grant or not at all', () => {
    const { admission, slot, ask, clock } = scene();
    const rpm = new TokenBucket({ name: 'rpm', tokensPerMinute: 60_000, requestsPerMinute: 60, scheduler: clock });
    const holder = ask('H');
    const refused = new Job(admission, demand([rpm, 10], slot), { maxWait: 0 });
    const waiting = new Job(admission, demand([rpm, 10], slot));
    expect([refused.state, waiting.state, rpm.status().availableRequests, rpm.tokens()]).toEqual(['refused', 'waiting', 60, 60_000]);
    holder.release();
    expect([waiting.state, rpm.status().availableRequests]).toEqual(['granted', 59]);
  });

  it('RLF RateLimiterUnion (1 grant and 5 refusals consumed 6 points of the other): 1', () => {
    const { admission, clock } = scene();
    const generous = new ElasticWindow({ name: 'generous', maxRequests: 100, baseWindow: 60_000, scheduler: clock });
    const strict = new ElasticWindow({ name: 'strict', maxRequests: 1, baseWindow: 60_000, scheduler: clock });
    const jobs = Array.from({ length: 6 }, () => new Job(admission, demand(generous, strict), { maxWait: 0 }));
    expect([jobs.filter(({ state }) => state === 'granted').length, generous.inUse(), strict.inUse()]).toEqual([1, 1, 1]);
  });

  it('bottleneck chain, cockatiel wrap (the outer slot is held while the inner one is waited for): nothing is held', () => {
    const { admission, slot, ask, gate } = scene();
    const outer = gate('outer', 1);
    ask('H');
    const waiting = new Job(admission, demand(outer, slot));
    expect([waiting.state, outer.inUse()]).toEqual(['waiting', 0]);
  });

  it('(two bulkheads nested in opposite order deadlock): one after the other, in whatever order they are named', () => {
    const { admission, gate } = scene();
    const [a, b] = [gate('a', 1), gate('b', 1)];
    const first = new Job(admission, demand(a, b));
    const second = new Job(admission, demand(b, a));
    expect([first.state, second.state]).toEqual(['granted', 'waiting']);
    first.release();
    expect(second.state).toBe('granted');
  });

  it('p-queue#1 (per user, per IP and a global limit, with who is next chosen by what is free): one demand', () => {
    const { admission, gate } = scene();
    const [global, ip] = [gate('global', 3), gate('ip', 2)];
    const users = new Map<string, CountingGate>(['ann', 'ben'].map((name) => [name, gate(name, 1)]));
    const ask = (user: string): Job => new Job(admission, demand(global, ip, users.get(user) ?? gate(user, 1)));
    const [ann, annAgain, ben] = [ask('ann'), ask('ann'), ask('ben')];
    // The second of ann waits for ann, and holds no more than its reservation of the others: ben finds them taken up.
    expect([ann.state, annAgain.state, ben.state]).toEqual(['granted', 'waiting', 'waiting']);
    ann.release();
    expect([annAgain.state, ben.state, global.inUse()]).toEqual(['granted', 'granted', 2]);
  });

  it('limiter#25 (bucket and interval together double the first minute): never more than either allows', () => {
    const { admission, clock } = scene();
    const perMinute = new TokenBucket({ name: 'per minute', tokensPerMinute: 1_000_000, requestsPerMinute: 10, scheduler: clock });
    const perSecond = new ElasticWindow({ name: 'per second', maxRequests: 2, baseWindow: 1_000, scheduler: clock });
    const jobs = Array.from({ length: 30 }, () => new Job(admission, demand([perMinute, 1], perSecond)));
    const granted = (): number => jobs.filter(({ state }) => state === 'granted').length;
    expect(granted()).toBe(2);
    clock.advanceTo(999);
    expect(granted()).toBe(2);
    clock.advanceTo(4_000);
    // Ten in the bucket at the start, and one more every six seconds.
    expect(granted()).toBe(10);
    clock.advanceTo(59_999);
    expect(granted()).toBe(19);
  });

  it('LiteLLM#18730, #23775 (concurrent calls pass TPM, 663 of 100: usage is counted afterwards): debited before they start', () => {
    const { admission, clock } = scene();
    const tpm = new TokenBucket({ name: 'tpm', tokensPerMinute: 100, scheduler: clock });
    const jobs = Array.from({ length: 20 }, () => new Job(admission, demand([tpm, 30])));
    expect([jobs.filter(({ state }) => state === 'granted').length, tpm.tokens()]).toEqual([3, 10]);
    // What was really used comes back, or goes on top, when it is known.
    jobs[0]?.grant.charge(tpm, 5);
    expect(jobs.filter(({ state }) => state === 'granted').length).toBe(4);
  });

  it('LiteLLM#38647 (worst-case reservations exhaust the budget with nothing spent): the rest comes back with the charge', () => {
    const { admission, clock } = scene();
    const budget = new TokenBucket({ name: 'budget', tokensPerMinute: 1_000, scheduler: clock });
    for (let n = 0; n < 10; n += 1) {
      const job = new Job(admission, demand([budget, 1_000]));
      job.grant.charge(budget, 0);
      job.release();
    }
    expect(budget.tokens()).toBe(1_000);
  });
});
