/** Bug reports of peers about slots that come free while the work runs on, or never come free at all. */
import { CountingGate, RefusedError, TokenBucket, createAdmission, demand } from 'rx-admission';
import { EMPTY, NEVER, Observable, Subject, firstValueFrom, retry, take, throwError, timeout, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { inVirtualTime } from '../admit/in-virtual-time.js';
import { Job } from '../admit/job.js';
import { scene } from '../admission/scene.js';

const turns = (count = 10): Promise<void> => (count === 0 ? Promise.resolve() : Promise.resolve().then(() => turns(count - 1)));

describe('a slot that comes free while the work runs on', () => {
  it('p-queue timeout, opossum (capacity 1, four running at once): never more than one', async () => {
    const admission = createAdmission();
    const slot = new CountingGate({ name: 'slot', capacity: 1 });
    let running = 0;
    let peak = 0;
    const ends: (() => void)[] = [];
    const call = admission.defer(demand(slot), async () => {
      running += 1;
      peak = Math.max(peak, running);
      await new Promise<void>((resolve) => ends.push(resolve));
      running -= 1;
    });
    for (let n = 0; n < 5; n += 1) await firstValueFrom(call.pipe(timeout(0))).catch(() => undefined);
    expect([peak, running, slot.inUse()]).toEqual([1, 1, 1]);
    for (const end of ends) end();
    await turns();
    expect([running, slot.inUse(), ends.length]).toEqual([0, 0, 1]);
  });

  it('bottleneck expiration, OmniRoute#9533 (one knob for waiting and running): maxWait bounds the wait, and nothing else', () => {
    const { admission, slot, ask, clock } = scene();
    const running = new Job(admission, demand(slot), { maxWait: 50 });
    const waiting = new Job(admission, demand(slot), { maxWait: 50 });
    clock.advanceTo(50);
    expect([running.state, running.grant.signal.aborted, waiting.state]).toEqual(['granted', false, 'refused']);
    clock.advanceTo(10_000);
    expect([running.grant.settled, ask('next').state]).toEqual([false, 'waiting']);
  });

  it('NeMo-Skills#907 (released too early): not before the last byte of a stream', () => {
    inVirtualTime(({ admission, gate, cold, expectObservable, expectSubscriptions }) => {
      const slot = gate(1);
      const stream = cold('--a--b--c--|');
      const next = cold('x|');
      expectObservable(admission.defer(demand(slot), () => stream)).toBe('--a--b--c--|');
      expectObservable(admission.defer(demand(slot), () => next)).toBe('-----------x|');
      expectSubscriptions(next.subscriptions).toBe('-----------^!');
    });
  });
});

describe('a slot that never comes free', () => {
  it('LiteLLM#27955, #30020 (a cancelled stream): free in the turn of the cancel', () => {
    const { admission, slot, ask } = scene();
    const stream = new Subject<string>();
    const subscription = admission.defer(demand(slot), () => stream).subscribe();
    stream.next('a token');
    const next = ask('next');
    subscription.unsubscribe();
    expect([next.state, stream.observed]).toEqual(['granted', false]);
  });

  it('QwenPaw#6998, hermes-agent#78576 (a stream closed before its first read): free as well', () => {
    const { admission, slot } = scene();
    admission.defer(demand(slot), () => NEVER).subscribe().unsubscribe();
    admission.defer(demand(slot), () => NEVER).pipe(take(0)).subscribe();
    expect(slot.inUse()).toBe(0);
  });

  it('(a stream that is never consumed): it is never admitted', () => {
    const { admission, slot } = scene();
    void admission.defer(demand(slot), () => NEVER);
    expect([slot.inUse(), admission.queueSize]).toEqual([0, 0]);
  });

  it('@henrygd/queue (a synchronous throw leaks its slot for ever): free, and the next one goes', () => {
    const { admission, slot, ask } = scene();
    const thrower = new Job(admission, demand(slot), {}, () => {
      throw new Error('at once');
    });
    expect([thrower.state, slot.inUse(), ask('next').state]).toEqual(['refused', 0, 'granted']);
  });

  it('Failsafe#393, #365 (an abandoned waiter keeps the permit): it has none', () => {
    const { admission, slot, ask } = scene();
    const holder = ask('H');
    const abandoned = new Job(admission, demand(slot), { maxWait: 0 });
    holder.release();
    expect([abandoned.state, slot.inUse()]).toEqual(['refused', 0]);
  });

  it('p-ratelimit PR #25 (a waiter that times out leaks a slot): none', () => {
    const { admission, slot, ask, clock } = scene();
    const holder = ask('H');
    for (let n = 0; n < 10; n += 1) new Job(admission, demand(slot), { maxWait: 5 });
    clock.advanceTo(5);
    holder.release();
    expect([slot.inUse(), admission.queueSize]).toEqual([0, 0]);
  });

  it('effect #6910, #6081, #6638, #8391, #7580 (interrupted between take and release): at every step, nothing leaks', () => {
    // Every point of an ask's life at which the user's code runs, and so may interrupt it.
    const steps = ['demand', 'held event', 'grant event', 'project', 'subscribe', 'next', 'release event'] as const;
    for (const parked of [false, true]) {
      for (const step of steps) {
        const { admission, slot, ask, clock } = scene();
        const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
        const holder = parked ? ask('H') : null;
        const source = new Subject<string>();
        const interrupt = (at: (typeof steps)[number]): void => {
          if (at === step) subscription.unsubscribe();
        };
        const subscription = source
          .pipe(
            admission.admit(
              () => (interrupt('demand'), demand(slot, [tokens, 10])),
              () => {
                interrupt('project');
                return new Observable<string>((subscriber) => {
                  interrupt('subscribe');
                  subscriber.next('x');
                  subscriber.complete();
                });
              },
              { job: 'mine' },
            ),
          )
          .subscribe(() => interrupt('next'));
        admission.events$.subscribe(({ type, job }) => {
          if (job !== 'mine') return;
          if (type === 'HELD') interrupt('held event');
          else if (type.startsWith('GRANTED')) interrupt('grant event');
          else if (type === 'RELEASED') interrupt('release event');
        });
        source.next('a');
        holder?.release();
        expect([parked, step, slot.inUse(), admission.queueSize, admission.status().grants]).toEqual([parked, step, 0, 0, []]);
      }
    }
  });
});

describe('a retry', () => {
  it('bottleneck#170, #223, #178, LangChain p-retry (holds the slot while it backs off): holds nothing', () => {
    inVirtualTime(({ admission, gate, cold, at, flush, expectObservable }) => {
      const slot = gate(1);
      const fails = cold('-#');
      let tries = 0;
      const call = admission
        .defer(demand(slot), () => ((tries += 1) < 3 ? fails : EMPTY))
        .pipe(retry({ count: 5, delay: () => timer(10) }));
      const inUse: number[] = [];
      for (const frame of [0, 5, 11, 15]) at(frame, () => inUse.push(slot.inUse()));
      expectObservable(call).toBe('----------------------|');
      flush();
      // Frame 0 and 11 come before the (re)subscription of that frame and within the call after it.
      expect([inUse[1], inUse[3], tries]).toEqual([0, 0, 3]);
    });
  });

  it('bottleneck (skips the limits): each try is a demand of its own, and is debited', () => {
    const { admission, clock } = scene();
    const rpm = new TokenBucket({ name: 'rpm', tokensPerMinute: 60_000, requestsPerMinute: 60, scheduler: clock });
    admission
      .defer(demand([rpm, 10]), () => throwError(() => new Error('again')))
      .pipe(retry(4))
      .subscribe({ error: () => undefined });
    expect([rpm.status().availableRequests, rpm.tokens()]).toEqual([55, 59_950]);
  });

  it('gfargo/coco#1677 (retries within retries): one that can never succeed is tried once, by what its error says', () => {
    const { admission, slot, clock } = scene();
    let tries = 0;
    admission
      .defer(() => ((tries += 1), demand([slot, 2])), () => EMPTY)
      .pipe(retry({ count: 5, delay: (error: unknown) => (error instanceof RefusedError ? throwError(() => error) : timer(1, clock)) }))
      .subscribe({ error: () => undefined });
    clock.advanceTo(1_000);
    expect(tries).toBe(1);
  });
});
