/** Every transition of every job on every account, in order: the facts that the scenarios state beside their lines. */
import {
  AbstractAccount,
  MemoryGate,
  RefusedError,
  TokenBucket,
  createAdmission,
  demand,
  type AdmissionEvent,
} from 'rx-admission';
import { describe, expect, it } from 'vitest';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { Job } from '../admit/job.js';
import { lineOf, scene } from './scene.js';

const silent = { warn: (): void => undefined, info: (): void => undefined };

const recorded = (from: ReturnType<typeof scene>): AdmissionEvent[] => {
  const events: AdmissionEvent[] = [];
  from.admission.events$.subscribe((event) => events.push(event));
  return events;
};

describe('events', () => {
  it('event-01: carry snapshot, account, category, capacity, inUse after the take, waiters, wait, reason, indicator, amount', () => {
    const scenario = scene();
    const events = recorded(scenario);
    scenario.ask('A');
    expect(events).toEqual([
      {
        type: 'GRANTED_IMMEDIATE',
        at: 0,
        account: 'slot',
        category: 'semaphore',
        capacity: 1,
        inUse: 1,
        waiters: 0,
        amount: 1,
        wait: 0,
        reason: null,
        indicator: null,
        job: 'A',
      },
    ]);
  });

  it('event-02: count who is still held on RELEASED, and exclude the job itself on GRANTED_FROM_HOLD', () => {
    const scenario = scene();
    const { ask, clock } = scenario;
    const events = recorded(scenario);
    const holder = ask('H');
    clock.advanceTo(1_000);
    ask('B');
    clock.advanceTo(3_000);
    holder.release();
    expect(events.map(({ type, job, waiters, inUse }) => [type, job, waiters, inUse])).toEqual([
      ['GRANTED_IMMEDIATE', 'H', 0, 1],
      ['HELD', 'B', 1, 1],
      ['RELEASED', 'H', 1, 0],
      // The snapshot is that of B, taken when B asked, though the release of H caused the grant.
      ['GRANTED_FROM_HOLD', 'B', 0, 1],
    ]);
  });

  it('event-03: HELD once per account and wait, however often the job is refused again', () => {
    const { admission, gate, clock, events } = scene();
    const [a, b] = [gate('a', 1), gate('b', 1)];
    const holdsA = new Job(admission, demand(a), { job: 'HA' });
    const holdsB = new Job(admission, demand(b), { job: 'HB' });
    new Job(admission, demand(a, b), { job: 'J' });
    const x = new Job(admission, demand(a), { job: 'X' });
    const z = new Job(admission, demand(b), { job: 'Z' });
    clock.advanceTo(100);
    holdsA.release();
    // `a` is free, and reserved for the head.
    expect([a.inUse(), x.state]).toEqual([0, 'waiting']);
    clock.advanceTo(150);
    holdsB.release();
    expect([x.state, z.state]).toEqual(['waiting', 'waiting']);
    expect(events.filter((line) => line.includes('HELD'))).toEqual([
      '0 HELD a J waiters=1 amount=1',
      '0 HELD b J waiters=1 amount=1',
      '0 HELD a X waiters=2 amount=1',
      '0 HELD b Z waiters=2 amount=1',
    ]);
  });

  it('event-07: on a grant the entries come first and memory last; a release says nothing of memory', () => {
    let heap = 0.96;
    const memory = new MemoryGate({ heap: () => heap, collect: false, log: silent });
    const { events, ask, clock } = scene(5, { memory });
    const job = ask('A');
    clock.advanceTo(500);
    heap = 0.5;
    clock.advanceTo(2_000);
    job.release();
    expect(events).toEqual([
      '0 HELD memory A waiters=1 amount=1',
      '2000 GRANTED_IMMEDIATE slot A waiters=0 amount=1',
      '2000 GRANTED_FROM_HOLD memory A waiters=0 amount=1 wait=2000',
      '2000 RELEASED slot A waiters=0 amount=1',
    ]);
  });

  it('event-08: the counts of HELD go 1, 2, 3 and those of GRANTED_FROM_HOLD 2, 1, 0', () => {
    const scenario = scene();
    const { ask } = scenario;
    const events = recorded(scenario);
    const holder = ask('H');
    const waiters = ['W0', 'W1', 'W2'].map((name) => ask(name));
    holder.release();
    for (const waiter of waiters) waiter.release();
    const counts = (type: string): number[] => events.filter((event) => event.type === type).map(({ waiters: count }) => count);
    expect([counts('HELD'), counts('GRANTED_FROM_HOLD')]).toEqual([
      [1, 2, 3],
      [2, 1, 0],
    ]);
  });

  it('event-11: no HELD precedes a refusal by an account that had not held the job, and its message is unchanged', () => {
    const refusal = new RefusedError('circuit is refusing everyone', { account: 'circuit' });
    class Circuit extends AbstractAccount {
      override readonly capacity = 1;
      inUse(): number {
        return 0;
      }
      fits(): boolean {
        throw refusal;
      }
      tryTake(): boolean {
        return false;
      }
      give(): void {
        expect.unreachable();
      }
      earliestFit(): null {
        return null;
      }
    }
    const { admission, events } = scene();
    const job = new Job(admission, demand(new Circuit('circuit')), { job: 'A' });
    expect(events).toEqual(['0 REJECTED circuit A waiters=0 amount=1 wait=0 reason=circuit_blocked']);
    expect(job.refusal).toBe(refusal);
  });

  it('event-15: shutdown rejects waiters in queue order, each once per account it was held on', () => {
    const { admission, gate, clock, events } = scene();
    const [a, b] = [gate('a', 1), gate('b', 1)];
    new Job(admission, demand(a, b), { job: 'H' });
    clock.advanceTo(10);
    new Job(admission, demand(a, b), { job: 'J' });
    clock.advanceTo(20);
    new Job(admission, demand(a), { job: 'K' });
    clock.advanceTo(100);
    events.length = 0;
    admission.stop();
    expect(events).toEqual([
      '100 REJECTED a J waiters=1 amount=1 wait=90 reason=shutdown',
      '100 REJECTED b J waiters=0 amount=1 wait=90 reason=shutdown',
      '100 REJECTED a K waiters=0 amount=1 wait=80 reason=shutdown',
    ]);
  });

  it('tell the amount asked, and what is in use after it, in the units of the account', () => {
    const scenario = scene(5);
    const { admission, slot, clock } = scenario;
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    const events = recorded(scenario);
    const job = new Job(admission, demand([slot, 3], [tokens, 100, 20.5]), { job: 'A' });
    job.grant.rollback();
    expect(events.map(({ type, account, category, amount, inUse, capacity }) => [type, account, category, amount, inUse, capacity])).toEqual([
      ['GRANTED_IMMEDIATE', 'slot', 'semaphore', 3, 3, 5],
      ['GRANTED_IMMEDIATE', 'tokens', 'token_bucket', 120.5, 120, 60_000],
      ['RELEASED', 'slot', 'semaphore', 3, 0, 5],
      ['RELEASED', 'tokens', 'token_bucket', 120.5, 0, 60_000],
    ]);
  });

  it('carry the indicator of the account', () => {
    const scenario = scene();
    const { admission, clock } = scenario;
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock, log: silent });
    tokens.record429();
    const events = recorded(scenario);
    new Job(admission, demand([tokens, 1]));
    expect(events.map(({ indicator }) => indicator)).toEqual(['throttle:1.5x']);
  });

  it('are built for nobody: without a listener an account is not even asked for its name', () => {
    const clock = new CountingScheduler();
    const admission = createAdmission({ scheduler: clock });
    let described = 0;
    class Shy extends AbstractAccount {
      get capacity(): number {
        described += 1;
        return 9;
      }
      inUse(): number {
        described += 1;
        return 0;
      }
      fits(): boolean {
        return true;
      }
      tryTake(): boolean {
        return true;
      }
      give(): void {
        // Nothing is held.
      }
      earliestFit(): null {
        return null;
      }
    }
    const shy = new Shy('shy');
    new Job(admission, demand(shy)).release();
    expect(described).toBe(0);
    const listening = admission.events$.subscribe();
    new Job(admission, demand(shy)).release();
    expect(described).toBe(4);
    listening.unsubscribe();
    new Job(admission, demand(shy)).release();
    expect(described).toBe(4);
  });

  it('are dropped where the account cannot be described; admission never hears of it', () => {
    class Speechless extends AbstractAccount {
      override readonly capacity = 1;
      inUse(): number {
        throw new Error('no idea');
      }
      fits(): boolean {
        return true;
      }
      tryTake(): boolean {
        return true;
      }
      give(): void {
        // Nothing is held.
      }
      earliestFit(): null {
        return null;
      }
    }
    const { admission, slot, events } = scene();
    const job = new Job(admission, demand(new Speechless('speechless'), slot), { job: 'A' });
    job.release();
    expect(events).toEqual(['0 GRANTED_IMMEDIATE slot A waiters=0 amount=1', '0 RELEASED slot A waiters=0 amount=1']);
  });

  it('of an account without category say custom, and of an account without indicator null', () => {
    const scenario = scene();
    const events = recorded(scenario);
    const bare = {
      name: 'bare',
      replenishment: 'release' as const,
      capacity: 1,
      capacityChanges: scenario.slot.capacityChanges,
      inUse: () => 0,
      fits: () => true,
      tryTake: () => true,
      give: () => undefined,
      earliestFit: () => null,
    };
    const job = new Job(scenario.admission, demand(bare));
    expect(events.map(({ category, indicator }) => [category, indicator])).toEqual([['custom', null]]);
    expect(scenario.admission.status().accounts).toEqual([
      { name: 'bare', category: 'custom', capacity: 1, inUse: 0, waiters: 0, queued: 0, queueAge: 0, indicator: null, status: null },
    ]);
    job.release();
  });

  it('come in the order of the transitions, RELEASED before the grants that it causes', () => {
    const { ask, events } = scene(2);
    const holder = ask('H', 2);
    ask('A');
    ask('B');
    events.length = 0;
    holder.release();
    expect(events).toEqual([
      '0 RELEASED slot H waiters=2 amount=2',
      '0 GRANTED_FROM_HOLD slot A waiters=1 amount=1 wait=0',
      '0 GRANTED_FROM_HOLD slot B waiters=0 amount=1 wait=0',
    ]);
  });

  it('of an empty demand are none', () => {
    const { admission, events } = scene();
    new Job(admission, demand()).release();
    expect(events).toEqual([]);
  });

  it('say GRANTED_IMMEDIATE and wall wait 0 for one who passes at once beside the head', () => {
    const { admission, gate, ask, events, clock } = scene();
    ask('H');
    ask('HEAD');
    clock.advanceTo(9);
    events.length = 0;
    const other = new Job(admission, demand(gate('other', 1)), { job: 'D' });
    expect(events).toEqual(['9 GRANTED_IMMEDIATE other D waiters=0 amount=1']);
    expect([other.grant.wallWait, [...other.grant.waitTimes]]).toEqual([0, []]);
  });

  it('mark on each account that is short, in order, not only on the first', () => {
    const { admission, gate, events } = scene();
    const [a, b, c] = [gate('a', 1), gate('b', 1), gate('c', 1)];
    new Job(admission, demand(a, c));
    events.length = 0;
    new Job(admission, demand(c, b, a), { job: 'J' });
    expect(events).toEqual(['0 HELD c J waiters=1 amount=1', '0 HELD a J waiters=1 amount=1']);
  });

  it('are multicast, and cost a late listener nothing of what was before', () => {
    const { admission, ask } = scene();
    ask('H');
    const late: string[] = [];
    admission.events$.subscribe((event) => late.push(lineOf(event)));
    ask('W');
    expect(late).toEqual(['0 HELD slot W waiters=1 amount=1']);
  });
});
