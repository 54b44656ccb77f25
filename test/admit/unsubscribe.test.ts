/** Promise 4: unsubscribing in any state leaves nothing behind, all in the same turn and in one order. */
import {
  CountingGate,
  Demand,
  TokenBucket,
  createAdmission,
  demand,
  type Admission,
  type AdmissionEvent,
  type Grant,
} from 'rx-admission';
import { NEVER, Observable, Subject, Subscriber, concat, finalize, of, type Subscription } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { CountingScheduler } from './counting-scheduler.js';
import { inVirtualTime } from './in-virtual-time.js';

interface Scene {
  readonly scheduler: CountingScheduler;
  readonly admission: Admission;
  readonly slot: CountingGate;
  readonly source: Subject<string>;
  readonly events: string[];
  /** Holds the slot for another subscription. */
  readonly hold: (permits?: number) => Subscription;
  readonly expectNothingLeft: () => void;
}

const scene = (capacity = 1): Scene => {
  const scheduler = new CountingScheduler();
  const admission = createAdmission({ scheduler });
  const slot = new CountingGate({ name: 'slot', capacity, scheduler });
  const source = new Subject<string>();
  const events: string[] = [];
  const listening = admission.events$.subscribe(({ type, job }) => events.push(`${type} ${String(job)}`));
  return {
    scheduler,
    admission,
    slot,
    source,
    events,
    hold: (permits = 1) => admission.defer(demand([slot, permits]), () => NEVER, { job: 'other' }).subscribe(),
    expectNothingLeft: () => {
      listening.unsubscribe();
      expect({
        inUse: slot.inUse(),
        queueSize: admission.queueSize,
        timers: scheduler.pending,
        source: source.observed,
        hooks: slot.capacityChanges.observed,
        shrinks: slot.shrinks.observed,
        grants: admission.status().grants,
        accounts: admission.status().accounts,
        nextDeadline: admission.nextDeadline,
      }).toEqual({
        inUse: 0,
        queueSize: 0,
        timers: 0,
        source: false,
        hooks: false,
        shrinks: false,
        grants: [],
        accounts: [],
        nextDeadline: null,
      });
    },
  };
};

describe('promise 4: unsubscribe', () => {
  it('leaves nothing behind while an item waits', () => {
    const { admission, slot, source, hold, expectNothingLeft } = scene();
    const other = hold();
    const started: string[] = [];
    const subscription = source
      .pipe(admission.admit(demand(slot), (item) => (started.push(item), NEVER), { maxWait: 50, deadline: 90 }))
      .subscribe();
    source.next('a');
    expect(admission.queueSize).toBe(1);
    subscription.unsubscribe();
    expect(admission.queueSize).toBe(0);
    other.unsubscribe();
    expect(started).toEqual([]);
    expectNothingLeft();
  });

  it('leaves nothing behind while an inner runs', () => {
    const { admission, slot, source, expectNothingLeft } = scene();
    let torn = 0;
    const subscription = source
      .pipe(admission.admit(demand(slot), () => NEVER.pipe(finalize(() => torn++)), { deadline: 90 }))
      .subscribe();
    source.next('a');
    expect([slot.inUse(), torn]).toEqual([1, 0]);
    subscription.unsubscribe();
    expect(torn).toBe(1);
    expectNothingLeft();
  });

  it('leaves nothing behind between two items', () => {
    const { admission, slot, source, expectNothingLeft } = scene();
    const subscription = source.pipe(admission.admit(demand(slot), (item) => of(item))).subscribe();
    source.next('a');
    source.next('b');
    expect(source.observed).toBe(true);
    subscription.unsubscribe();
    expectNothingLeft();
  });

  it('leaves nothing behind before the first item, and after the output ended', () => {
    const { admission, slot, source, expectNothingLeft } = scene();
    const results = source.pipe(admission.admit(demand(slot), (item) => of(item)));
    results.subscribe().unsubscribe();
    expect(source.observed).toBe(false);
    const ended = results.subscribe();
    source.next('a');
    source.complete();
    ended.unsubscribe();
    expectNothingLeft();
  });

  it('rolls back a grant that has landed and was not delivered', () => {
    const { admission, slot, source, events, scheduler, expectNothingLeft } = scene();
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler });
    const started: string[] = [];
    const subscription = source
      .pipe(admission.admit(demand(slot, [tokens, 400]), (item) => (started.push(item), NEVER)))
      .subscribe();
    let inside: unknown;
    // Its project runs in a delivery: what is granted meanwhile lands, and is delivered after it.
    admission
      .defer(Demand.empty, () => {
        source.next('a');
        inside = [slot.inUse(), tokens.tokens(), started.length];
        subscription.unsubscribe();
        return of('x');
      })
      .subscribe();
    expect(inside).toEqual([1, 59_600, 0]);
    expect(started).toEqual([]);
    expect(tokens.tokens()).toBe(60_000);
    expect(events).toEqual(['GRANTED_IMMEDIATE a', 'GRANTED_IMMEDIATE a', 'RELEASED a', 'RELEASED a']);
    expectNothingLeft();
  });

  it('leaves nothing behind when an event handler unsubscribes while the ask is being made', () => {
    for (const type of ['HELD', 'GRANTED_IMMEDIATE'] as const) {
      const { admission, slot, source, hold, scheduler, expectNothingLeft } = scene();
      const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler });
      const other = type === 'HELD' ? hold() : null;
      const started: string[] = [];
      const subscription = source
        .pipe(admission.admit(demand([tokens, 500], slot), (item) => (started.push(item), NEVER)))
        .subscribe();
      admission.events$.subscribe((event: AdmissionEvent) => {
        if (event.type === type) subscription.unsubscribe();
      });
      source.next('a');
      expect(admission.queueSize).toBe(0);
      other?.unsubscribe();
      // Rolled back, not released: it never ran.
      expect([started, tokens.tokens()]).toEqual([[], 60_000]);
      expectNothingLeft();
    }
  });

  it('leaves nothing behind when project unsubscribes, and releases what was granted', () => {
    const { admission, slot, source, expectNothingLeft } = scene();
    const seen: unknown[] = [];
    let subscribed = 0;
    const subscription: Subscription = source
      .pipe(
        admission.admit(demand(slot), (_item, grant) => {
          subscription.unsubscribe();
          seen.push(grant.signal.aborted, grant.settled);
          return new Observable(() => {
            subscribed += 1;
          });
        }),
      )
      .subscribe();
    source.next('a');
    expect(seen).toEqual([true, false]);
    expect(subscribed).toBe(0);
    expectNothingLeft();
  });

  it('cuts a synchronous inner in its middle', () => {
    const { admission, slot, source, expectNothingLeft } = scene();
    const values: number[] = [];
    let asked = 0;
    const subscription: Subscription = source
      .pipe(
        admission.admit(
          demand(slot),
          () =>
            new Observable<number>((subscriber) => {
              for (let n = 1; n <= 10 && !subscriber.closed; n += 1) {
                asked = n;
                subscriber.next(n);
              }
              subscriber.complete();
            }),
        ),
      )
      .subscribe((n) => {
        values.push(n);
        if (n === 3) subscription.unsubscribe();
      });
    source.next('a');
    expect([values, asked]).toEqual([[1, 2, 3], 3]);
    expectNothingLeft();
  });

  it('goes in order: waiters withdraw, the signal aborts, the inner is torn down, its grant is released, others go', () => {
    const { admission, slot, source, hold, expectNothingLeft } = scene(3);
    const log: string[] = [];
    const note = (what: string): void => void log.push(`${what} inUse=${slot.inUse()}`);
    const held = hold();
    const work = (item: string, { signal }: Grant): Observable<never> => {
      signal.addEventListener('abort', () => note(`${item} aborts: ${(signal.reason as Error).message}`));
      return NEVER.pipe(finalize(() => note(`${item} is torn down`)));
    };
    const ours = source
      .pipe(
        finalize(() => note('the source is left')),
        admission.admit((item) => demand([slot, item === 'big' ? 3 : 1]), work),
      )
      .subscribe();
    source.next('a');
    source.next('big');
    source.next('small');
    const others = admission
      .defer(demand(slot), () => {
        note('the other goes');
        return NEVER;
      }, { job: 'small of another' })
      .subscribe();
    expect(admission.queueSize).toBe(3);
    const seen: string[] = [];
    admission.events$.subscribe(({ type, job }) => seen.push(`${type} ${String(job)}`));
    ours.unsubscribe();
    note('unsubscribed');
    // A permit was free all along: the other is granted as soon as the head has gone, and told when all is done.
    expect(log).toEqual([
      'the source is left inUse=3',
      'a aborts: the work was unsubscribed inUse=3',
      'a is torn down inUse=3',
      'the other goes inUse=2',
      'unsubscribed inUse=2',
    ]);
    expect(seen).toEqual([
      'REJECTED big',
      'REJECTED small',
      'GRANTED_FROM_HOLD small of another',
      'RELEASED a',
    ]);
    others.unsubscribe();
    held.unsubscribe();
    expectNothingLeft();
  });

  it('lets none of its own waiters in, however many there are and whatever is released', () => {
    const { admission, slot, source, events, expectNothingLeft } = scene(2);
    const started: string[] = [];
    const subscription = source
      .pipe(
        admission.admit((item) => demand([slot, item === 'c' ? 2 : 1]), (item) => {
          started.push(item);
          return NEVER;
        }),
      )
      .subscribe();
    for (const item of ['a', 'b', 'c', 'd', 'e']) source.next(item);
    events.length = 0;
    subscription.unsubscribe();
    expect(started).toEqual(['a', 'b']);
    expect(events).toEqual(['REJECTED c', 'REJECTED d', 'REJECTED e', 'RELEASED a', 'RELEASED b']);
    expectNothingLeft();
  });

  it('tears down what the source left running when its own teardown releases a permit', () => {
    const { admission, slot, events, hold, expectNothingLeft } = scene();
    const other = hold();
    const started: string[] = [];
    const subscription = concat(of('a'), NEVER)
      .pipe(
        finalize(() => other.unsubscribe()),
        admission.admit(demand(slot), (item) => (started.push(item), NEVER)),
      )
      .subscribe();
    subscription.unsubscribe();
    expect(started).toEqual([]);
    expect(events.filter((event) => event.startsWith('GRANTED_FROM_HOLD'))).toEqual([]);
    expectNothingLeft();
  });

  it('does not abort the signal of a grant whose inner has ended', () => {
    const { admission, slot, source, expectNothingLeft } = scene(2);
    const grants: Grant[] = [];
    const ends = new Subject<string>();
    const subscription = source
      .pipe(admission.admit(demand(slot), (item, grant) => (grants.push(grant), item === 'a' ? ends : NEVER)))
      .subscribe();
    source.next('a');
    source.next('b');
    ends.complete();
    subscription.unsubscribe();
    expect(grants.map(({ signal, settled }) => [signal.aborted, settled])).toEqual([
      [false, true],
      [true, true],
    ]);
    expectNothingLeft();
  });

  it('ends an inner that another one ends while it is told to abort, once', () => {
    const { admission, slot, source, events, expectNothingLeft } = scene(2);
    const second = new Subject<string>();
    const signals: AbortSignal[] = [];
    const subscription = source
      .pipe(
        admission.admit(demand(slot), (item, { signal }) => {
          signals.push(signal);
          if (item === 'b') return second;
          signal.addEventListener('abort', () => second.complete());
          return NEVER;
        }),
      )
      .subscribe({ complete: () => expect.unreachable() });
    source.next('a');
    source.next('b');
    events.length = 0;
    subscription.unsubscribe();
    expect(events.sort()).toEqual(['RELEASED a', 'RELEASED b']);
    // It was over by the time its turn came: there was nothing to abort.
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    expectNothingLeft();
  });

  it('tears every inner down though one of the teardowns throws, and throws what they threw then', () => {
    const { admission, slot, source, expectNothingLeft } = scene(3);
    let torn = 0;
    const subscription = source
      .pipe(
        admission.admit(
          demand(slot),
          (item) =>
            new Observable<never>(() => () => {
              torn += 1;
              if (item !== 'c') throw new Error(`${item} cannot be torn down`);
            }),
        ),
      )
      .subscribe();
    for (const item of ['a', 'b', 'c', 'd']) source.next(item);
    let thrown: unknown;
    try {
      subscription.unsubscribe();
    } catch (error) {
      thrown = error;
    }
    expect(torn).toBe(3);
    expect((thrown as { errors: Error[] }).errors.map(({ message }) => message)).toEqual([
      'a cannot be torn down',
      'b cannot be torn down',
    ]);
    expectNothingLeft();
  });

  it('tears the inners down though the source cannot be left', () => {
    const { admission, slot, expectNothingLeft } = scene();
    const subscription = new Observable<string>((subscriber) => {
      subscriber.next('a');
      return () => {
        throw new Error('the source stays');
      };
    })
      .pipe(admission.admit(demand(slot), () => NEVER))
      .subscribe();
    expect(slot.inUse()).toBe(1);
    expect(() => subscription.unsubscribe()).toThrow('the source stays');
    expectNothingLeft();
  });

  it('asks for nothing when the demand function, or the job function, has unsubscribed', () => {
    for (const where of ['demand', 'job']) {
      const { admission, slot, source, events, expectNothingLeft } = scene();
      const subscription = source
        .pipe(
          admission.admit(
            () => {
              if (where === 'demand') subscription.unsubscribe();
              return demand(slot);
            },
            () => NEVER,
            {
              job: () => {
                if (where === 'job') subscription.unsubscribe();
              },
            },
          ),
        )
        .subscribe();
      source.next('a');
      expect(events).toEqual([]);
      expectNothingLeft();
    }
  });

  it('tells a consumer nothing more that unsubscribes in the event of its refusal', () => {
    const { admission, slot, source, hold, expectNothingLeft } = scene();
    const other = hold();
    const told: string[] = [];
    const onRefused = (): Observable<string> => (told.push('asked for a stand-in'), of('stand-in'));
    for (const options of [{ maxWait: 0 }, { maxWait: 0, onRefused }]) {
      const subscription = source
        .pipe(admission.admit(demand(slot), () => NEVER, options))
        .subscribe({ next: () => told.push('next'), error: () => told.push('error') });
      const handler = admission.events$.subscribe(({ type }) => {
        if (type === 'REJECTED') subscription.unsubscribe();
      });
      source.next('a');
      handler.unsubscribe();
    }
    expect(told).toEqual([]);
    other.unsubscribe();
    expectNothingLeft();
  });

  it('does not subscribe the source for a consumer that has had enough before it began', () => {
    const { admission, slot, source, expectNothingLeft } = scene();
    const enough = new Subscriber<unknown>();
    enough.unsubscribe();
    source.pipe(admission.admit(demand(slot), () => NEVER)).subscribe(enough);
    let pulled = 0;
    function* items(): Generator<number> {
      yield (pulled += 1);
    }
    admission.each(items(), demand(slot), () => NEVER).subscribe(enough);
    expect(pulled).toBe(0);
    expectNothingLeft();
  });

  it('takes the place in line with it, as a marble', () => {
    inVirtualTime(({ admit, gate, hot, cold, expectObservable, expectSubscriptions }) => {
      const slot = gate(1);
      const first = cold('----------x|');
      const ours = hot(' ab------|').pipe(admit(demand(slot), () => first));
      const other = cold('--y|');
      const theirs = hot('--c------|').pipe(admit(demand(slot), () => other));
      const unsub = '    ^----!    ';
      expectObservable(ours, unsub).toBe('------');
      expectObservable(theirs).toBe('-------y-|');
      expectSubscriptions(first.subscriptions).toBe('^----!');
      expectSubscriptions(other.subscriptions).toBe('-----^--!');
    });
  });
});
