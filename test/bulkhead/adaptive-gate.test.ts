/** The adaptive gate as an account: what it counts as a sample, its bounds, and what it does when the signal fails. */
import { createAdmission, demand, UpstreamFailure, type Grant, type Outcome } from 'rx-admission';
import { adaptiveGate, aimd, gradient2, vegas, type AdaptiveGate, type AdaptiveGateOptions, type Limit, type LimitSample } from 'rx-admission/bulkhead';
import { accountContract } from 'rx-admission/testing';
import { NEVER, of, tap } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { VirtualClock } from '../conformance/virtual-clock.js';
import { seeded } from './adaptive-server.js';

const failure = new UpstreamFailure({ status: 503, service: 'search', detail: 'overloaded' });

/** An algorithm that does as it is told, and remembers what it heard. */
class Scripted implements Limit {
  readonly name = 'scripted';
  readonly heard: LimitSample[] = [];
  answer: (limit: number) => number = (limit) => limit;

  start(limit: number): { limit: number } {
    return { limit };
  }

  next({ limit }: { readonly limit: number }, sample: LimitSample): { limit: number } {
    this.heard.push(sample);
    return { limit: this.answer(limit) };
  }
}

/** What a signal that is aborted throws is its reason, whatever that is. */
function throwing(reason: string): number {
  AbortSignal.abort(reason).throwIfAborted();
  return 0;
}

/** One gate in one admission on a virtual clock; a decision takes two samples and no time, unless told otherwise. */
function scene(more: Partial<AdaptiveGateOptions> = {}) {
  const clock = new VirtualClock(0);
  const limit = new Scripted();
  const log = { warn: vi.fn(), info: vi.fn() };
  const gate = adaptiveGate({ name: 'search', limit, min: 1, max: 20, initial: 4, window: { ms: 0, count: 2 }, log, ...more });
  const admission = createAdmission({ scheduler: clock });
  const grants = (count: number): Grant[] => Array.from({ length: count }, () => admission.tryAcquire(demand(gate))!);
  /** All of them at once, `ms` after they were granted. */
  const jobs = (count: number, ms: number, outcome: Outcome = 'success'): void => {
    const held = grants(count);
    clock.advanceTo(clock.now() + ms);
    for (const grant of held) grant.release(outcome);
  };
  /** So late that the next window is long enough, whatever the last one was. */
  const later = (): void => {
    clock.advanceTo(clock.now() + 10_000);
  };
  return { clock, limit, log, gate, admission, grants, jobs, later };
}

const dropped = (account: AdaptiveGate): Outcome => ({ pressure: failure, account });

describe('an adaptive gate', () => {
  for (const { title, run } of accountContract({
    make: () => adaptiveGate({ name: 'search', limit: vegas(), min: 4, max: 30, initial: 12 }),
    amounts: [1, 4],
    impossible: 5,
    less: (gate) => {
      gate.resize(6);
    },
    more: (gate) => {
      gate.resize(20);
    },
  })) {
    it(title, run);
  }

  it('starts with the limit that it is given, and says so', () => {
    const { gate } = scene();
    expect(gate.capacity).toBe(4);
    expect(gate.status()).toMatchObject({ limit: 4, min: 1, max: 20, mode: 'adaptive', failure: null, latency: null, changes: 0 });
    expect(gate.status().summary()).toBe('0/4 permits in use, scripted 1 to 20, nothing measured yet');
  });

  it('decides by the mean latency of a window and the most that were out', () => {
    const { gate, limit, clock, grants } = scene();
    const [one, two, three] = grants(3) as [Grant, Grant, Grant];
    clock.advanceTo(100);
    one.release('success');
    expect(limit.heard).toEqual([]);
    clock.advanceTo(200);
    two.release('success');
    expect(limit.heard).toEqual([{ kind: 'latency', latency: 150, count: 2, inFlight: 3, isAppLimited: false }]);
    expect(gate.status().summary()).toBe('1/4 permits in use, scripted 1 to 20, 150.0ms');
    three.release();
  });

  it('decides no sooner than its window is long, and than twice the latency', () => {
    const { limit, clock, jobs } = scene({ window: { ms: 1_000, count: 2 } });
    jobs(2, 600);
    expect(limit.heard).toHaveLength(1);
    // Twice 600 ms: the samples at 1,599 ms come too soon, that at 1,800 ms does not.
    jobs(2, 999);
    expect([clock.now(), limit.heard.length]).toEqual([1_599, 1]);
    jobs(1, 201);
    expect(limit.heard[1]).toMatchObject({ latency: (999 + 999 + 201) / 3, count: 3 });
  });

  it('counts no job that was granted before the last decision', () => {
    const { limit, clock, grants, jobs, gate } = scene();
    const [early] = grants(1) as [Grant];
    jobs(2, 100);
    clock.advanceTo(500);
    early.release('success');
    const [late] = grants(1) as [Grant];
    jobs(1, 20);
    late.release(dropped(gate));
    expect(limit.heard.map(({ kind }) => kind)).toEqual(['latency', 'dropped']);
  });

  it('counts a burst of pressure once', () => {
    const { limit, gate, jobs } = scene({ limit: aimd({ backoff: 0.5 }), initial: 16 });
    jobs(10, 100, dropped(gate));
    expect([gate.capacity, limit.heard]).toEqual([8, []]);
    jobs(8, 100, dropped(gate));
    expect(gate.capacity).toBe(4);
  });

  it('hears nothing of what is ignored, rolled back, or failed without weight', () => {
    const { limit, gate, grants, jobs, clock } = scene();
    jobs(4, 100, 'ignored');
    jobs(4, 100, { pressure: new UpstreamFailure({ status: 500, service: 'search', detail: 'bug', weight: 0 }), account: gate });
    const held = grants(4);
    clock.advanceTo(1_000);
    for (const grant of held) grant.rollback();
    expect([limit.heard, gate.inUse()]).toEqual([[], 0]);
  });

  it('takes pressure that names nobody for its own, where nobody else learns', () => {
    const { limit, jobs } = scene();
    jobs(1, 100, { pressure: failure });
    expect(limit.heard).toEqual([{ kind: 'dropped', inFlight: 1 }]);
  });

  it('hears of pressure by hand, each time', () => {
    const { limit, gate } = scene();
    gate.onRateLimitError(failure);
    gate.onRateLimitError(failure, 5);
    expect(limit.heard).toHaveLength(2);
  });

  it('keeps the limit whole and within its bounds, whatever the algorithm says', () => {
    const { limit, gate, jobs, later } = scene({ min: 2 });
    const limits = [7.9, 1_000, -5, 3].map((answer) => {
      limit.answer = () => answer;
      later();
      jobs(Math.min(gate.capacity, 10), 100);
      return gate.capacity;
    });
    expect(limits).toEqual([7, 20, 2, 3]);
    expect(gate.status().changes).toBe(4);
  });

  it('is not raised by a window without demand, and may be lowered', () => {
    const { limit, gate, jobs, later } = scene({ initial: 10 });
    limit.answer = (before) => before + 5;
    jobs(4, 100);
    expect([gate.capacity, limit.heard[0]]).toEqual([10, expect.objectContaining({ inFlight: 4, isAppLimited: true })]);
    later();
    jobs(5, 100);
    expect(gate.capacity).toBe(15);
    limit.answer = (before) => before - 5;
    later();
    jobs(2, 100);
    expect(gate.capacity).toBe(10);
  });

  it('wakes the line when the limit grows, in the turn of the sample', () => {
    const { limit, gate, admission, grants, clock } = scene({ sample: 'marked', initial: 2 });
    limit.answer = () => 3;
    const [one, two] = grants(2) as [Grant, Grant];
    const started: string[] = [];
    admission.defer(demand(gate), () => of('started')).subscribe((value) => started.push(value));
    clock.advanceTo(100);
    gate.mark(one);
    expect(started).toEqual([]);
    gate.mark(two);
    expect(started).toEqual(['started']);
  });

  it('cuts no work when the limit shrinks, shows what is over, and lets nobody in until it fits', () => {
    const { limit, gate, grants, clock, admission } = scene();
    limit.answer = () => 1;
    const [one, two, three, four] = grants(4) as [Grant, Grant, Grant, Grant];
    clock.advanceTo(100);
    one.release('success');
    two.release('success');
    expect([three.settled, four.settled, three.signal.aborted]).toEqual([false, false, false]);
    expect(gate.status()).toMatchObject({ limit: 1, activeCount: 2, overage: 1 });
    expect(admission.tryAcquire(demand(gate))).toBeNull();
    three.release();
    expect([gate.status().overage, admission.tryAcquire(demand(gate))]).toEqual([0, null]);
    four.release();
    expect(admission.tryAcquire(demand(gate))).not.toBeNull();
  });

  it('refuses at once what the least limit cannot hold, and nobody later', async () => {
    const { gate, admission, limit, jobs } = scene({ min: 3, initial: 10 });
    await expect(admission.acquire(demand([gate, 4]))).rejects.toThrow(
      'search: 4 permits may never fit, since the limit may come down to 3; ask for fewer at once, or raise min',
    );
    const held = admission.tryAcquire(demand([gate, 1]))!;
    const three = admission.acquire(demand([gate, 3]));
    limit.answer = () => 1;
    jobs(6, 100);
    expect(gate.capacity).toBe(3);
    held.release();
    expect((await three).settled).toBe(false);
  });

  it('says when it holds its limit down to measure without load', () => {
    const { gate, jobs } = scene({ limit: vegas(), initial: 8 });
    jobs(8, 100);
    expect(gate.status()).toMatchObject({ limit: 4, isProbing: true });
    expect(gate.status().summary()).toBe('0/4 permits in use, vegas 1 to 20, 100.0ms, probing');
  });

  it('is paused and resumed like any gate', () => {
    const { gate, admission } = scene();
    gate.pause();
    expect(admission.tryAcquire(demand(gate))).toBeNull();
    gate.resume();
    expect(admission.tryAcquire(demand(gate))).not.toBeNull();
  });

  it('takes a limit by hand within its bounds, and goes on from there', () => {
    const { gate, limit, jobs } = scene();
    gate.resize(12);
    limit.answer = (before) => before + 1;
    jobs(12, 100);
    expect(gate.capacity).toBe(13);
    expect(() => { gate.resize(21); }).toThrow('search: the limit must be a whole number from 1 to 20, not 21');
    expect(gate.capacity).toBe(13);
  });
});

describe('an adaptive gate under random use', () => {
  const WEIGHTS = 3;

  it.each(Array.from({ length: 40 }, (_, n) => n + 1))('holds just what is out, and lets nobody in above its limit: seed %i', (seed) => {
    const random = seeded(seed);
    const below = (n: number): number => Math.floor(random() * n);
    const limit = [vegas(), gradient2(), aimd()][seed % 3]!;
    const { gate, admission, clock } = scene({ limit, min: WEIGHTS, initial: 6, sample: seed % 2 === 0 ? 'end' : 'marked' });
    const held = new Set<Grant>();
    let above = 0;
    admission.events$.subscribe(({ type }) => {
      if (type.startsWith('GRANTED') && gate.inUse() > gate.capacity) above += 1;
    });
    const outcomes: Outcome[] = ['success', 'success', 'ignored', dropped(gate)];
    const acts = [
      () => {
        void admission.acquire(demand([gate, 1 + below(WEIGHTS)]), { maxWait: 1 + below(500) }).then((grant) => held.add(grant), () => undefined);
      },
      () => { [...held].slice(0, 1 + below(4)).forEach((grant) => { grant.release(outcomes[below(outcomes.length)]); held.delete(grant); }); },
      () => { [...held].slice(0, 1).forEach((grant) => { grant.rollback(); held.delete(grant); }); },
      () => { if (seed % 2 === 1) [...held].forEach((grant) => { gate.mark(grant, [undefined, 50, NaN][below(3)]); }); },
      () => { gate.resize(WEIGHTS + below(18)); },
      () => { gate.pause(); },
      () => { gate.resume(); },
    ];
    return (async () => {
      for (let step = 0; step < 300; step += 1) {
        acts[[0, 0, 0, 1, 1, 2, 3, 3, 4, 5, 6, 6][below(12)]!]!();
        clock.advanceTo(clock.now() + below(200));
        // A promise tells of its grant a turn later.
        await Promise.resolve();
        await Promise.resolve();
        const weights = [...held].map(({ demand: { entries } }) => Number(entries[0]!.amounts[0]));
        expect(gate.inUse()).toBe(weights.reduce((sum, weight) => sum + weight, 0));
        expect(admission.check()).toEqual([]);
        expect(gate.capacity).toBeGreaterThanOrEqual(WEIGHTS);
        expect(gate.capacity).toBeLessThanOrEqual(20);
      }
      for (const grant of held) grant.release();
      expect(above).toBe(0);
    })();
  });
});

describe('an adaptive gate that is told its latencies', () => {
  it('takes the first value of a stream for its latency, and its end for nothing', () => {
    const { gate, limit, admission, clock } = scene({ sample: 'marked' });
    for (const at of [100, 300]) {
      clock.advanceTo(at);
      const grant = admission.tryAcquire(demand(gate))!;
      clock.advanceTo(at + 50);
      of(1, 2, 3).pipe(tap(() => { gate.mark(grant); })).subscribe();
      clock.advanceTo(at + 150);
      grant.release('success');
    }
    expect(limit.heard).toEqual([{ kind: 'latency', latency: 50, count: 2, inFlight: 1, isAppLimited: true }]);
  });

  it('takes nothing of a call on a lent permit: the job that took it is what is measured', () => {
    const { gate, limit, grants, admission, clock } = scene({ sample: 'marked' });
    const [outer, other] = grants(2) as [Grant, Grant];
    const inner: Grant[] = [];
    outer.defer(demand(gate), (grant) => (inner.push(grant), NEVER)).subscribe();
    const [lent] = inner as [Grant];
    expect([lent.borrows(gate), outer.borrows(gate), admission.check()]).toEqual([true, false, []]);
    clock.advanceTo(1_000);
    gate.mark(lent, 7);
    gate.mark(outer, 20);
    gate.mark(other, 40);
    expect(limit.heard).toMatchObject([{ latency: 30 }]);
    lent.release();
    expect(() => { gate.mark(lent); }).not.toThrow();
  });

  it('takes what was measured elsewhere', () => {
    const { gate, limit, grants, clock } = scene({ sample: 'marked' });
    const [one, two] = grants(2) as [Grant, Grant];
    clock.advanceTo(1_000);
    gate.mark(one, 20);
    gate.mark(two, 40);
    expect(limit.heard).toMatchObject([{ latency: 30 }]);
  });

  it('hears of pressure all the same', () => {
    const { gate, limit, jobs } = scene({ sample: 'marked' });
    jobs(1, 100, dropped(gate));
    expect(limit.heard).toMatchObject([{ kind: 'dropped' }]);
  });

  it('ignores a grant that is settled, and refuses one that is not its own', () => {
    const { gate, limit, grants, admission } = scene({ sample: 'marked' });
    const [one] = grants(1) as [Grant];
    one.release();
    gate.mark(one, 10);
    gate.mark(one, 10);
    expect(limit.heard).toEqual([]);
    const stranger = admission.tryAcquire(demand(scene().gate))!;
    expect(() => { gate.mark(stranger); }).toThrow(new RangeError('this grant\'s demand does not name the account "search"'));
  });

  it('is told nothing where it measures to the end', () => {
    const { gate, grants } = scene();
    const [one] = grants(1) as [Grant];
    expect(() => { gate.mark(one); }).toThrow(new TypeError("search measures to the end of the work; say sample: 'marked'"));
  });
});

describe('an adaptive gate whose signal fails', () => {
  it('goes static after as many bad latencies as make a window, and says so once', () => {
    const { gate, jobs, log } = scene({ initial: 8, fallback: 5 });
    jobs(1, 0);
    expect(gate.status().mode).toBe('adaptive');
    jobs(1, 0);
    expect(gate.capacity).toBe(5);
    expect(gate.status()).toMatchObject({ mode: 'static', failure: 'a latency of 0 ms, 2 times in a row', changes: 1 });
    expect(gate.status().summary()).toBe('0/5 permits in use, static: a latency of 0 ms, 2 times in a row');
    jobs(4, 0);
    expect(log.warn.mock.calls).toEqual([['search: the limit is static at 5 while its signal fails: a latency of 0 ms, 2 times in a row']]);
  });

  it('adapts again after a window that can be trusted, and warns of no second failure', () => {
    const { gate, limit, jobs, log } = scene({ initial: 8, fallback: 5 });
    jobs(2, 0);
    limit.answer = (before) => before + 1;
    jobs(5, 100);
    // Two windows of two.
    expect(gate.status()).toMatchObject({ mode: 'adaptive', limit: 6, failure: null });
    jobs(2, 0);
    expect([gate.capacity, log.warn.mock.calls.length]).toEqual([5, 1]);
  });

  it('leaves out a bad latency among good ones', () => {
    const { gate, limit, jobs } = scene();
    for (const ms of [0, 100, 0, 100]) jobs(1, ms);
    expect([gate.status().mode, limit.heard]).toEqual(['adaptive', [expect.objectContaining({ latency: 100, count: 2 })]]);
  });

  it.each([NaN, Infinity, -1])('takes %s for no latency', (latency) => {
    const { gate, grants } = scene({ sample: 'marked' });
    for (const grant of grants(2)) gate.mark(grant, latency);
    expect(gate.status().failure).toBe(`a latency of ${String(latency)} ms, 2 times in a row`);
  });

  it('goes static when successes have no latency at all', () => {
    const { gate } = scene();
    gate.onSuccess();
    gate.onSuccess(10);
    expect(gate.status().failure).toBe('nobody measured a latency, 2 times in a row');
  });

  it('hears nothing of a success that took no permit', () => {
    const { gate, limit } = scene();
    for (const at of [1, 2, 3]) gate.onSuccess(at, undefined, {});
    expect([gate.status().mode, limit.heard]).toEqual(['adaptive', []]);
  });

  it('goes static when nobody marks: after more successes than could be out at once', () => {
    const { gate, jobs, grants } = scene({ sample: 'marked', max: 4 });
    jobs(4, 100);
    const [marked] = grants(1) as [Grant];
    gate.mark(marked, 100);
    marked.release('success');
    jobs(3, 100);
    expect(gate.status().mode).toBe('adaptive');
    jobs(1, 100);
    expect(gate.status()).toMatchObject({ mode: 'static', failure: 'more than 4 successes without a mark' });
  });

  it('is told of pressure and stays static', () => {
    const { gate, limit, jobs } = scene();
    jobs(2, 0);
    jobs(1, 100, dropped(gate));
    expect([gate.status().mode, limit.heard]).toEqual(['static', []]);
  });

  it.each([
    ['throws', () => { throw new Error('no such state'); }, 'scripted: no such state'],
    ['throws what is no error', () => throwing('oh'), 'scripted: oh'],
    ['answers no number', () => NaN, 'scripted: a limit is a number of permits, not NaN held at Infinity'],
  ])('goes static when the algorithm %s', (_title, answer, reason) => {
    const { gate, limit, jobs, log, grants } = scene({ initial: 8, fallback: 3 });
    limit.answer = answer;
    const others = grants(2);
    jobs(2, 100);
    expect([gate.capacity, gate.status().failure]).toEqual([3, reason]);
    for (const grant of others) grant.release('success');
    jobs(2, 100);
    expect([gate.inUse(), log.warn.mock.calls.length]).toEqual([0, 1]);
    limit.answer = () => 9;
    jobs(3, 100);
    expect([gate.capacity, gate.status().failure]).toEqual([9, null]);
  });

  it('goes static when the algorithm calls the admission that settles', () => {
    const { gate, limit, jobs, admission } = scene();
    limit.answer = () => Number(admission.tryAcquire(demand(gate))?.age);
    jobs(2, 100);
    expect(gate.status().failure).toMatch(/^scripted: an account called the admission while being questioned/);
    expect([gate.inUse(), admission.status().phase]).toEqual([0, 'open']);
  });

  it('goes static when the algorithm throws under pressure', () => {
    const { gate, limit, jobs } = scene({ fallback: 2 });
    limit.answer = () => { throw new Error('no such state'); };
    jobs(1, 100, dropped(gate));
    expect([gate.capacity, gate.status().failure]).toEqual([2, 'scripted: no such state']);
  });

  it('writes to the console unless told where', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    const { jobs } = scene({ log: undefined });
    jobs(2, 0);
    expect(warn).toHaveBeenCalledOnce();
    warn.mockRestore();
  });
});

describe('options of an adaptive gate', () => {
  const good = { name: 'search', limit: vegas(), min: 2, max: 20, initial: 4 };

  it('fall back to the initial limit', () => {
    const { gate, jobs } = scene({ initial: 6 });
    gate.resize(12);
    jobs(2, 0);
    expect(gate.capacity).toBe(6);
  });

  it.each([
    [{ min: 0 }, 'search: min must be a positive whole number, not 0'],
    [{ max: '20' as unknown as number }, 'search: max must be a positive whole number, not "20"'],
    [{ max: 1, min: 2 }, 'search: max must be at least min (2), not 1'],
    [{ initial: 21 }, 'search: initial must be a whole number from 2 to 20, not 21'],
    [{ initial: 3.5 }, 'search: initial must be a whole number from 2 to 20, not 3.5'],
    [{ fallback: 1 }, 'search: fallback must be a whole number from 2 to 20, not 1'],
    [{ window: { ms: -1 } }, 'search: window.ms must be zero or a positive number, not -1'],
    [{ window: { count: 0 } }, 'search: window.count must be a positive whole number, not 0'],
    [{ sample: 'first' as unknown as 'end' }, "search: sample must be 'end' or 'marked', not \"first\""],
  ])('are refused out of bounds: %j', (more, message) => {
    expect(() => adaptiveGate({ ...good, ...more })).toThrow(new RangeError(message));
  });

  it.each(['vegas', null, {}, { start: () => ({ limit: 1 }) }])('name an algorithm, which %j is not', (limit) => {
    expect(() => adaptiveGate({ ...good, limit: limit as unknown as Limit })).toThrow(TypeError);
    expect(() => adaptiveGate({ ...good, limit: limit as unknown as Limit })).toThrow('search: limit must be an algorithm, such as vegas()');
  });

  it('name an algorithm that can start', () => {
    const broken: Limit = { name: 'broken', start: () => ({ limit: NaN }), next: (state) => state };
    expect(() => adaptiveGate({ ...good, limit: broken })).toThrow('a limit is a number of permits, not NaN');
  });
});
