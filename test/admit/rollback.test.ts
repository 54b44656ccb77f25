/** Promise 7: a project that throws, or a grant that can no longer be delivered, costs nothing: metered debits come back. */
import { CountingGate, ElasticWindow, TokenBucket, createAdmission, demand, type Demand } from 'rx-admission';
import { EMPTY, NEVER, Subject, of, type ObservableInput } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { CountingScheduler } from './counting-scheduler.js';
import { inVirtualTime } from './in-virtual-time.js';
import { Job } from './job.js';

const boom = new Error('boom');

const scene = () => {
  const scheduler = new CountingScheduler();
  const admission = createAdmission({ scheduler });
  const slot = new CountingGate({ name: 'slot', capacity: 2, scheduler });
  const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, requestsPerMinute: 60, scheduler });
  const window = new ElasticWindow({ name: 'window', maxRequests: 2, baseWindow: 1_000, scheduler });
  const whole: Demand = demand(slot, [tokens, 1_000], window);
  const debits = (): unknown => [slot.inUse(), tokens.tokens(), tokens.status().availableRequests, window.inUse()];
  return { scheduler, admission, whole, debits };
};

const UNTOUCHED = [0, 60_000, 60, 0];

describe('promise 7: rollback', () => {
  it.each<[string, () => ObservableInput<unknown>]>([
    [
      'throws',
      () => {
        throw boom;
      },
    ],
    ['answers what is no observable', () => 42 as unknown as ObservableInput<unknown>],
    ['answers nothing', () => undefined as unknown as ObservableInput<unknown>],
  ])('returns every debit when project %s, and fails the output', (_how, project) => {
    const { admission, whole, debits } = scene();
    let error: unknown;
    let inside: unknown;
    of('a')
      .pipe(admission.admit(whole, () => ((inside = debits()), project())))
      .subscribe({ error: (thrown: unknown) => (error = thrown) });
    expect(inside).toEqual([1, 59_000, 59, 1]);
    expect(error).toBeInstanceOf(Error);
    expect(debits()).toEqual(UNTOUCHED);
  });

  it('keeps what time replenishes spent when the inner fails: it may have used it', () => {
    const { admission, whole, debits } = scene();
    admission.defer(whole, () => NEVER).subscribe().unsubscribe();
    expect(debits()).toEqual([0, 59_000, 59, 1]);
  });

  it('withdraws the other waiters before it rolls back, and cuts the other inners', () => {
    const { admission, whole, debits } = scene();
    const events: string[] = [];
    admission.events$.subscribe(({ type, job, account }) => events.push(`${type} ${account} ${String(job)}`));
    const started: string[] = [];
    const source = new Subject<string>();
    source
      .pipe(
        admission.admit(whole, (item) => {
          started.push(item);
          if (item === 'b') {
            source.next('c');
            throw boom;
          }
          return NEVER;
        }),
      )
      .subscribe({ error: (error: unknown) => events.push(String(error)) });
    source.next('a');
    events.length = 0;
    source.next('b');
    expect(started).toEqual(['a', 'b']);
    expect(events).toEqual([
      'GRANTED_IMMEDIATE slot b',
      'GRANTED_IMMEDIATE tokens b',
      'GRANTED_IMMEDIATE window b',
      // The project of b runs here, and throws; what follows is delivered after it.
      'Error: boom',
      'HELD slot c',
      'HELD window c',
      'REJECTED slot c',
      'REJECTED window c',
      'RELEASED slot a',
      'RELEASED slot b',
      'RELEASED tokens b',
      'RELEASED window b',
    ]);
    expect(debits()).toEqual([0, 59_000, 59, 1]);
  });

  it('rolls back once when project unsubscribes and throws then', () => {
    const { admission, whole, debits } = scene();
    const source = new Subject<string>();
    const subscription = source
      .pipe(
        admission.admit(whole, () => {
          subscription.unsubscribe();
          throw boom;
        }),
      )
      .subscribe({ error: () => expect.unreachable() });
    source.next('a');
    expect(debits()).toEqual(UNTOUCHED);
  });

  it('leaves a grant that project settled itself alone', () => {
    const { admission, whole, debits } = scene();
    new Job(admission, whole, {}, (grant) => {
      grant.release();
      throw boom;
    });
    expect(debits()).toEqual([0, 59_000, 59, 1]);
    new Job(admission, whole, {}, (grant) => {
      grant.rollback();
      return EMPTY;
    });
    expect(debits()).toEqual([0, 59_000, 59, 1]);
  });

  it('lets the next one in at the same instant, as a marble', () => {
    inVirtualTime(({ admission, admit, gate, hot, cold, expectObservable, expectSubscriptions }) => {
      const slot = gate(1);
      const holder = cold('   ---|');
      const fails = hot('     -b-------|');
      const failsSubs = '     ^--!';
      const next = hot('      --c------|');
      const inner = cold('       --x|');
      const innerSubs = '     ---^--!';
      expectObservable(admission.defer(demand(slot), () => holder)).toBe('---|');
      const throwing = admit(demand(slot), (): never => {
        throw boom;
      });
      expectObservable(fails.pipe(throwing)).toBe('---#', undefined, boom);
      expectObservable(next.pipe(admit(demand(slot), () => inner))).toBe('-----x---|');
      expectSubscriptions(fails.subscriptions).toBe(failsSubs);
      expectSubscriptions(inner.subscriptions).toBe(innerSubs);
    });
  });
});
