/** Feedback: how an inner ends tells the accounts of its grant; unnamed pressure goes to the only one that learns, or to none. */
import {
  CountingGate,
  ElasticWindow,
  HttpGate,
  TokenBucket,
  UpstreamFailure,
  createAdmission,
  demand,
  type Ending,
  type Grant,
  type Outcome,
} from 'rx-admission';
import { NEVER, Subject, of, throwError } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { Job } from '../admit/job.js';

const boom = new Error('boom');
const busy = new UpstreamFailure({ status: 429, service: 'model', detail: 'slow down' });
const overloaded = new UpstreamFailure({ status: 529, service: 'model', detail: 'overloaded', weight: 3 });

const scene = () => {
  const clock = new CountingScheduler();
  const lines: string[] = [];
  const log = { warn: (line: string): void => void lines.push(line), info: (): void => undefined };
  const admission = createAdmission({ scheduler: clock });
  const slot = new CountingGate({ name: 'slot', capacity: 9, scheduler: clock });
  const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock, log });
  const window = new ElasticWindow({ name: 'window', maxRequests: 99, baseWindow: 1_000, scheduler: clock, log });
  const throttles = (): number[] => [tokens.throttle, window.throttle];
  return { clock, admission, slot, tokens, window, throttles, lines };
};

describe('outcomes', () => {
  it('complete is success, to every account of the grant', () => {
    const { admission, slot, tokens, window, throttles } = scene();
    tokens.record429();
    window.recordPressure();
    expect(throttles()).toEqual([0.5, 1]);
    const successes = vi.spyOn(slot, 'onSuccess');
    for (let n = 0; n < 3; n += 1) admission.defer(demand(slot, tokens, window), () => of(1)).subscribe();
    expect([throttles(), successes.mock.calls.length]).toEqual([[0.3, 0.8], 3]);
  });

  it('errors, unsubscribes, bare releases and rollbacks say nothing', () => {
    const { admission, tokens, throttles } = scene();
    tokens.record429();
    for (let n = 0; n < 3; n += 1) {
      admission.defer(demand(tokens), () => throwError(() => boom)).subscribe({ error: () => undefined });
      admission.defer(demand(tokens), () => NEVER).subscribe().unsubscribe();
      new Job(admission, demand(tokens)).release();
      new Job(admission, demand(tokens)).grant.rollback();
    }
    expect(throttles()).toEqual([0.5, 0]);
  });

  it('are told the grant, which is not settled yet: what it asked for, since when, and for how long', async () => {
    const { admission, clock, slot } = scene();
    const seen: unknown[] = [];
    const outcome = (ending: Ending, grant: Grant): Outcome => {
      seen.push([ending.kind, grant.demand, grant.grantedAt, grant.age, grant.settled]);
      return 'ignored';
    };
    const asked = demand(slot);
    clock.advanceTo(100.5);
    const work = new Subject<never>();
    admission.defer(asked, () => work, { outcome }).subscribe();
    clock.advanceTo(350);
    work.complete();
    await admission.run(asked, () => Promise.reject(boom), { outcome }).catch(() => undefined);
    expect(seen).toEqual([
      ['C', asked, 100.5, 249.5, false],
      ['E', asked, 350, 0, false],
    ]);
  });

  it('are what the outcome function says of the ending', () => {
    const { admission, tokens, throttles } = scene();
    const endings: unknown[] = [];
    const outcome = (ending: unknown): Outcome => {
      endings.push(ending);
      return { pressure: busy };
    };
    admission.defer(demand(tokens), () => throwError(() => boom), { outcome }).subscribe({ error: () => undefined });
    admission.defer(demand(tokens), () => of(1), { outcome }).subscribe();
    expect(endings).toEqual([{ kind: 'E', error: boom }, { kind: 'C' }]);
    expect(throttles()).toEqual([1, 0]);
    admission.defer(demand(tokens), () => of(1), { outcome: () => 'ignored' }).subscribe();
    admission.defer(demand(tokens), () => NEVER, { outcome }).subscribe().unsubscribe();
    expect([endings.length, throttles()]).toEqual([2, [1, 0]]);
  });

  it('are given to release by hand, and by run', async () => {
    const { admission, tokens, throttles } = scene();
    new Job(admission, demand(tokens)).grant.release({ pressure: overloaded });
    expect(throttles()).toEqual([1.5, 0]);
    await admission.run(demand(tokens), () => 1, { outcome: (ending) => (ending.kind === 'C' ? { pressure: busy } : 'ignored') });
    expect(throttles()).toEqual([2, 0]);
    await admission.run(demand(tokens), () => Promise.reject(boom), { outcome: () => ({ pressure: busy }) }).catch(() => undefined);
    expect(throttles()).toEqual([2.5, 0]);
    for (let n = 0; n < 3; n += 1) await admission.run(demand(tokens), () => 1);
    expect(throttles()).toEqual([2.3, 0]);
  });

  it('weigh as the failure says, and log its summary', () => {
    const { admission, tokens, lines } = scene();
    new Job(admission, demand(tokens)).grant.release({ pressure: busy });
    expect(lines).toEqual([expect.stringContaining(busy.summary)]);
  });

  it('are not asked of what stands in for a refused item: it has no grant', () => {
    const { admission, slot } = scene();
    let asked = 0;
    const outcome = (): Outcome => {
      asked += 1;
      return 'success';
    };
    admission.defer(demand([slot, 99]), () => NEVER, { outcome, onRefused: () => of('no') }).subscribe();
    expect(asked).toBe(0);
  });

  it('of a second release are not heard', () => {
    const { admission, tokens, throttles } = scene();
    const { grant } = new Job(admission, demand(tokens));
    grant.release();
    grant.release({ pressure: busy });
    expect(throttles()).toEqual([0, 0]);
  });

  it('let in who a relaxation makes room for, in the same turn', () => {
    const { admission, tokens, clock } = scene();
    tokens.recordBackpressure(2);
    const jobs = Array.from({ length: 3 }, () => new Job(admission, demand([tokens, 20_000])));
    const waiter = new Job(admission, demand([tokens, 1_000]));
    const before = admission.nextDeadline;
    for (const { grant } of jobs) grant.release('success');
    // The refill is faster from here on, and the deadline of the waiter nearer.
    expect(admission.nextDeadline).toBeLessThan(before ?? 0);
    clock.advanceTo(before ?? 0);
    expect(waiter.state).toBe('granted');
  });
});

describe('pressure that names no account', () => {
  it('goes to the only account of the grant that learns', () => {
    const { admission, slot, tokens, window, throttles } = scene();
    new Job(admission, demand(slot, tokens)).grant.release({ pressure: busy });
    expect(throttles()).toEqual([0.5, 0]);
    new Job(admission, demand(slot, window)).grant.release({ pressure: busy });
    expect(throttles()).toEqual([0.5, 1]);
  });

  it('goes to none where none learns, and nothing is said of it', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    const { admission, slot } = scene();
    new Job(admission, demand(slot)).grant.release({ pressure: busy });
    new Job(admission, demand()).grant.release({ pressure: busy });
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });

  it('goes to an account of a user that learns, though its permits come back by release', () => {
    const { admission, slot } = scene();
    const told: unknown[] = [];
    class Adaptive extends CountingGate {
      override onRateLimitError(failure: UpstreamFailure): void {
        told.push(failure);
      }
    }
    const adaptive = new Adaptive({ name: 'adaptive', capacity: 2 });
    new Job(admission, demand(slot, adaptive)).grant.release({ pressure: busy });
    expect(told).toEqual([busy]);
  });

  it('goes to none where several learn, with one warning that names them', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    const { admission, tokens, window, throttles } = scene();
    for (let n = 0; n < 3; n += 1) new Job(admission, demand(tokens, window)).grant.release({ pressure: busy });
    expect(throttles()).toEqual([0, 0]);
    expect(warn.mock.calls).toEqual([[expect.stringContaining('tokens, window')]]);
    warn.mockRestore();
  });
});

describe('pressure that names an account', () => {
  it('goes to that one', () => {
    const { admission, tokens, window, throttles } = scene();
    new Job(admission, demand(tokens, window)).grant.release({ pressure: busy, account: window });
    expect(throttles()).toEqual([0, 1]);
  });
});

describe('the http gate', () => {
  it('is added to demands on accounts that need a connection, once', () => {
    const clock = new CountingScheduler();
    const http = new HttpGate({ capacity: 2 });
    const admission = createAdmission({ scheduler: clock, http });
    const window = new ElasticWindow({ name: 'window', maxRequests: 9, baseWindow: 1_000, scheduler: clock });
    const other = new CountingGate({ name: 'other', capacity: 9, scheduler: clock });
    const names = (job: Job): string[] => job.grant.demand.entries.map(({ account }) => account.name);
    const call = demand(window);
    const jobs = [new Job(admission, call), new Job(admission, demand(http, window)), new Job(admission, demand(other))];
    expect(jobs.map(names)).toEqual([['window', 'http'], ['http', 'window'], ['other']]);
    expect(http.inUse()).toBe(2);
    const waiter = new Job(admission, call);
    expect(admission.status().waiters).toMatchObject([{ shortOf: ['http'] }]);
    jobs[0]?.release();
    expect([waiter.state, http.inUse()]).toEqual(['granted', 2]);
    // The demand itself is as it was made.
    expect(call.entries.map(({ account }) => account.name)).toEqual(['window']);
  });

  it('is in no demand of an admission that has none', () => {
    const clock = new CountingScheduler();
    const admission = createAdmission({ scheduler: clock });
    const window = new ElasticWindow({ name: 'window', maxRequests: 9, baseWindow: 1_000, scheduler: clock });
    expect(new Job(admission, demand(window)).grant.demand.entries).toHaveLength(1);
  });

  it('counts in tryAcquire as well', () => {
    const clock = new CountingScheduler();
    const http = new HttpGate({ capacity: 1, name: 'pool' });
    const admission = createAdmission({ scheduler: clock, http });
    const window = new ElasticWindow({ name: 'window', maxRequests: 9, baseWindow: 1_000, scheduler: clock });
    expect(admission.tryAcquire(demand(window))?.demand.entries.map(({ account }) => account.name)).toEqual(['window', 'pool']);
    expect(admission.tryAcquire(demand(window))).toBeNull();
  });
});
