/** Between a grant and its delivery: whoever leaves there is rolled back, and nobody gets what nobody will settle. */
import { Demand, StoppedError, TokenBucket, WaitTimeoutError, demand } from 'rx-admission';
import { EMPTY, NEVER, of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { Job } from '../admit/job.js';
import { scene } from '../admission/scene.js';

/** Does something inside a delivery: what is granted meanwhile lands, and is delivered after it. */
const during = (admission: ReturnType<typeof scene>['admission'], work: () => void): void => {
  admission
    .defer(Demand.empty, () => {
      work();
      return EMPTY;
    })
    .subscribe();
};

describe('between grant and delivery', () => {
  it('monitor-29: an interrupt that races a grant rolls it back, with no REJECTED', () => {
    const { admission, slot, ask, events, clock } = scene();
    const holder = ask('H');
    clock.advanceTo(1);
    const a = ask('A');
    clock.advanceTo(10);
    events.length = 0;
    during(admission, () => {
      holder.release();
      expect([slot.inUse(), admission.queueSize]).toEqual([1, 0]);
      a.unsubscribe();
      expect([slot.inUse(), admission.queueSize]).toEqual([0, 0]);
    });
    expect([a.given, slot.inUse()]).toEqual([null, 0]);
    expect(events).toEqual([
      '10 RELEASED slot H waiters=1 amount=1',
      '10 GRANTED_FROM_HOLD slot A waiters=0 amount=1 wait=9',
      '10 RELEASED slot A waiters=0 amount=1',
    ]);
  });

  it('returns metered debits as well', () => {
    const { admission, clock } = scene();
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    during(admission, () => {
      const job = new Job(admission, demand([tokens, 60_000]));
      expect(tokens.tokens()).toBe(0);
      job.unsubscribe();
    });
    expect(tokens.tokens()).toBe(60_000);
  });

  it('hands what is given back there to the next in line, in the same turn', () => {
    const { admission, ask, slot } = scene();
    const holder = ask('H');
    const [a, b] = [ask('A'), ask('B')];
    during(admission, () => {
      holder.release();
      a.unsubscribe();
    });
    expect([a.given, b.state, slot.inUse()]).toEqual([null, 'granted', 1]);
  });

  it('a grant that landed survives a stop: it is delivered, and whoever was not granted is refused', () => {
    const { admission, ask, slot } = scene();
    const holder = ask('H');
    const [a, b] = [ask('A'), ask('B')];
    during(admission, () => {
      holder.release();
      admission.stop();
    });
    expect([a.state, slot.inUse()]).toEqual(['granted', 1]);
    expect(b.refusal).toBeInstanceOf(StoppedError);
  });

  it('a landed grant is not timed out any more: the wait is over', () => {
    const { admission, slot, ask, clock } = scene();
    const holder = ask('H');
    const a = new Job(admission, demand(slot), { maxWait: 10 });
    clock.advanceTo(10 - 1);
    during(admission, () => holder.release());
    clock.advanceTo(20);
    expect([a.state, a.refusal instanceof WaitTimeoutError, clock.pending]).toEqual(['granted', false, 0]);
  });

  it('a delivered grant belongs to the consumer: a later cancellation only tells it', () => {
    const { admission, slot } = scene();
    const controller = new AbortController();
    const job = new Job(admission, demand(slot), { signal: controller.signal }, () => {
      controller.abort();
      return NEVER;
    });
    expect([job.grant.settled, job.grant.signal.aborted, job.refusal, slot.inUse()]).toEqual([false, true, null, 1]);
  });

  it('many that leave there at once are rolled back in one go, and let in none of each other', () => {
    const { admission, ask, slot, events } = scene(3);
    const holder = ask('H', 3);
    const started: string[] = [];
    const run = of('a', 'b', 'c', 'd', 'e')
      .pipe(admission.admit(demand(slot), (item) => (started.push(item), NEVER)))
      .subscribe();
    events.length = 0;
    during(admission, () => {
      holder.release();
      run.unsubscribe();
    });
    expect([started, slot.inUse(), admission.queueSize]).toEqual([[], 0, 0]);
    expect(events.map((line) => line.split(' ')[1])).toEqual([
      'RELEASED',
      ...Array<string>(3).fill('GRANTED_FROM_HOLD'),
      ...Array<string>(2).fill('REJECTED'),
      ...Array<string>(3).fill('RELEASED'),
    ]);
  });
});
