/** What an admission shows of itself: the immutable queue state, and who waits for what and until when. */
import { CountingGate, MemoryGate, TokenBucket, demand, type Account, type AdmissionStatus, type Demand, type QueueState } from 'rx-admission';
import { NEVER } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { Job } from '../admit/job.js';
import { scene } from './scene.js';

const silent = { warn: (): void => undefined, info: (): void => undefined };

describe('state$', () => {
  it('replays the present state, then each that follows, in order', () => {
    const { admission, ask } = scene();
    const first = ask('H');
    const sizes: number[] = [];
    admission.state$.subscribe(({ queueSize }) => sizes.push(queueSize));
    const [a] = [ask('A'), ask('B')];
    first.release();
    a.release();
    expect(sizes).toEqual([0, 1, 2, 1, 0]);
  });

  it('never changes a state that it has shown', () => {
    const { admission, ask, clock, slot } = scene(2);
    const states: QueueState[] = [];
    const copies: unknown[] = [];
    const copy = ({ phase, queueSize, nextDeadline, line }: QueueState): unknown => ({
      phase,
      queueSize,
      nextDeadline,
      line: line.map(({ job, demand: asked, askedAt }) => ({ job, asked, askedAt })),
    });
    admission.state$.subscribe((state) => {
      states.push(state);
      copies.push(copy(state));
    });
    // Shown, and looked at only later.
    const unread: QueueState[] = [];
    admission.state$.subscribe((state) => unread.push(state));
    const holder = ask('H', 2);
    const jobs = ['A', 'B', 'C', 'D'].map((name, n) => (clock.advanceTo(n), ask(name, 1 + (n % 2))));
    jobs[1]?.unsubscribe();
    holder.release();
    jobs[0]?.release();
    admission.stop();
    expect(states.length).toBeGreaterThan(6);
    expect(states.map(copy)).toEqual(copies);
    expect(unread.map(copy)).toEqual(copies);
    expect(slot.inUse()).toBeGreaterThan(0);
  });

  it('shows the phase, the line in arrival order, and the instant the evaluator sleeps to', () => {
    const { admission, clock, ask } = scene();
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    new Job(admission, demand([tokens, 60_000]));
    clock.advanceTo(5);
    new Job(admission, demand([tokens, 500]), { job: 'A' });
    clock.advanceTo(6);
    ask('S');
    ask('B');
    let last: QueueState | undefined;
    admission.state$.subscribe((state) => (last = state));
    expect(last).toMatchObject({ phase: 'open', queueSize: 2, nextDeadline: 500 });
    expect(last?.line.map(({ job, askedAt }) => [job, askedAt])).toEqual([
      ['A', 5],
      ['B', 6],
    ]);
    expect(last?.line[0]?.demand.entries[0]?.account).toBe(tokens);
    expect([admission.nextDeadline, admission.queueSize, admission.now()]).toEqual([500, 2, 6]);
    admission.stop();
    expect(last).toMatchObject({ phase: 'closed', queueSize: 0, nextDeadline: null, line: [] });
  });

  it('p-queue#28, #40: is there for a listener who comes when nothing has ever happened', () => {
    const { admission } = scene();
    const seen: unknown[] = [];
    admission.state$.subscribe(({ phase, queueSize }) => seen.push([phase, queueSize]));
    expect(seen).toEqual([['open', 0]]);
  });
});

describe('status', () => {
  it('shows for each waiter its place, what it is short of, and the earliest instant it could go', () => {
    const { admission, clock, slot, gate } = scene();
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    const free = gate('free', 9);
    new Job(admission, demand(slot, [tokens, 60_000]), { job: 'H' });
    clock.advanceTo(10);
    new Job(admission, demand(free, [tokens, 1_000]), { job: 'A' });
    clock.advanceTo(20);
    new Job(admission, demand(free, [tokens, 500]), { job: 'B' });
    new Job(admission, demand(slot, free, [tokens, 1]), { job: 'C' });
    clock.advanceTo(30);
    expect(admission.status().waiters).toMatchObject([
      { place: 1, job: 'A', waited: 20, shortOf: ['tokens'], earliest: 1_000 },
      // Behind the amounts that are kept for the head.
      { place: 2, job: 'B', waited: 10, shortOf: ['tokens'], earliest: 1_500 },
      // Nobody knows when the slot comes back: only an event helps.
      { place: 3, job: 'C', waited: 10, shortOf: ['slot', 'tokens'], earliest: null },
    ]);
    expect(admission.status()).toMatchObject({ at: 30, phase: 'open', queueSize: 3, nextDeadline: 1_000 });
  });

  it('names who holds what is given back at an end, and nobody for what the clock brings', () => {
    const { admission, clock, slot, gate } = scene(2);
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    const pool = gate('pool', 1);
    new Job(admission, demand(slot, [tokens, 60_000]), { job: 'H' });
    new Job(admission, demand(slot, pool), { job: 'I' });
    new Job(admission, demand(slot), { job: 'A' });
    new Job(admission, demand(pool, slot), { job: 'B' });
    new Job(admission, demand([tokens, 1]), { job: 'C' });
    expect(admission.status().waiters.map(({ heldBy }) => heldBy)).toEqual([['H', 'I'], ['I', 'H'], []]);
  });

  it('says of each waiter in one line who waits for what, and until when or who holds it', () => {
    const { admission, clock, slot, gate } = scene(1);
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    const pool = gate('pool', 4);
    const paused = gate('paused', 1);
    paused.pause();
    const ask = (job: unknown, needs: Demand): Job => new Job(admission, needs, { job });
    ask({ name: 'report' }, demand(slot, [tokens, 60_000]));
    for (const id of [1, 2, 3]) ask({ id }, demand(pool));
    const lines = (): string[] => admission.status().waiters.map((waiter) => waiter.summary());
    ask('head', demand([pool, 2]));
    ask({ name: 'small' }, demand(pool));
    ask({}, demand(slot));
    ask('a\nlong item, which is the label of its own ask', demand([tokens, 500]));
    ask(7, demand(paused));
    ask(Symbol('both'), demand(slot, [tokens, 1_500]));
    clock.advanceTo(100);
    expect(lines()).toEqual([
      'head waits for pool until one is given back, held by 3 jobs',
      'small waits for pool behind the head until one is given back, held by 3 jobs',
      'a job waits for slot until one is given back, held by report',
      'a long item, which is the label of its… waits for tokens, 400ms more at least',
      '7 waits for paused until something changes',
      'Symbol(both) waits for slot and tokens until one is given back, held by report',
    ]);
    ask('later', demand([tokens, 30_000]));
    expect(lines().at(-1)).toBe('later waits for tokens, 29.9s more at least');
  });

  it('says so where a holder has no name, and where time has brought it already', () => {
    const { admission, slot, clock } = scene(1);
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    for (const job of [{}, ['no name']]) new Job(admission, demand(slot), { job });
    for (const job of ['first', 'second']) new Job(admission, demand([tokens, 60_000]), { job });
    // The clock has gone on, and no timer has run yet.
    clock.frame = 60_000;
    expect(admission.status().waiters.map((waiter) => waiter.summary())).toEqual([
      'a job waits for slot until one is given back, held by 1 job',
      'second waits for its turn',
    ]);
  });

  it('is a few lines as a whole: of the first ten that wait, and of every account', () => {
    const { admission, slot } = scene(1);
    const plain: Account = {
      name: 'plain',
      replenishment: 'release',
      capacity: 7,
      capacityChanges: NEVER,
      inUse: () => 2,
      fits: () => true,
      tryTake: () => true,
      give: () => undefined,
      earliestFit: () => null,
    };
    const own = demand(slot, plain);
    for (const job of ['first', 'second']) new Job(admission, own, { job });
    expect(admission.status().summary()).toBe(
      ['1 running, 1 waiting', '1. second waits for slot until one is given back, held by first', 'slot: 1/1 permits in use', 'plain: 2 of 7 in use'].join('\n'),
    );
    for (let n = 0; n < 12; n += 1) new Job(admission, own, { job: n });
    const lines = admission.status().summary().split('\n');
    expect(lines[0]).toBe('1 running, 13 waiting');
    expect(lines.slice(10, 12)).toEqual(['10. 8 waits for slot until one is given back, held by first', 'and 3 more']);
    admission.stop();
    expect(admission.status().summary().split('\n')[0]).toBe('1 running, 0 waiting, closed');
  });

  it('tells who is kept by nothing but what the head has reserved', () => {
    const { admission, ask } = scene(3);
    ask('H', 2);
    ask('HEAD', 2);
    ask('SMALL', 1);
    ask('BIG', 3);
    expect(admission.status().waiters.map(({ job, shortOf, behindHead }) => [job, shortOf, behindHead])).toEqual([
      ['HEAD', ['slot'], false],
      ['SMALL', ['slot'], true],
      ['BIG', ['slot'], false],
    ]);
  });

  it('shows every held grant with its accounts and its age', () => {
    const { admission, clock, slot, gate } = scene(2);
    new Job(admission, demand(slot), { job: 'A' });
    clock.advanceTo(5);
    const b = new Job(admission, demand(gate('other', 1), slot), { job: 'B' });
    clock.advanceTo(12);
    expect(admission.status().grants).toEqual([
      { job: 'A', accounts: ['slot'], age: 12 },
      { job: 'B', accounts: ['other', 'slot'], age: 7 },
    ]);
    b.release();
    expect(admission.status().grants).toEqual([{ job: 'A', accounts: ['slot'], age: 12 }]);
  });

  it('shows every account that a waiter or a grant names, with its own status', () => {
    const { admission, clock, slot, ask } = scene(1);
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, requestsPerMinute: 60, scheduler: clock, log: silent });
    expect(admission.status().accounts).toEqual([]);
    tokens.record429();
    const a = new Job(admission, demand(slot, [tokens, 100]), { job: 'A' });
    ask('B');
    const [ofSlot, ofTokens] = admission.status().accounts;
    expect(ofSlot).toMatchObject({ name: 'slot', category: 'semaphore', capacity: 1, inUse: 1, waiters: 1, indicator: null });
    expect(ofSlot?.status).toMatchObject({ maxConcurrent: 1, availablePermits: 0 });
    expect(ofTokens).toMatchObject({ name: 'tokens', category: 'token_bucket', inUse: 100, waiters: 0, indicator: 'throttle:1.5x' });
    expect(ofTokens?.status?.summary()).toContain('59900');
    a.release();
    expect(admission.status().accounts.map(({ name }) => name)).toEqual(['slot']);
  });

  it('shows the heap gate always, and who waits for it', () => {
    const memory = new MemoryGate({ heap: () => 0.97, collect: false, log: silent });
    const { admission, ask } = scene(1, { memory });
    expect(admission.status().accounts).toMatchObject([{ name: 'memory', category: 'memory', waiters: 0 }]);
    ask('A');
    ask('B');
    expect(admission.status().accounts).toMatchObject([
      { name: 'memory', waiters: 2, indicator: 'blocked' },
      { name: 'slot', waiters: 0 },
    ]);
    expect(admission.status().waiters).toMatchObject([
      { place: 1, job: 'A', shortOf: ['memory'], earliest: 2_000 },
      { place: 2, job: 'B', shortOf: ['memory'], earliest: 2_000 },
    ]);
  });

  it('hides nobody because one account cannot describe itself', () => {
    let heap = (): number => 0.5;
    const memory = new MemoryGate({ heap: () => heap(), collect: false, log: silent });
    const { admission, ask } = scene(1, { memory });
    ask('A');
    heap = () => {
      throw new Error('no heap today');
    };
    expect(admission.status().accounts).toMatchObject([
      { name: 'memory', indicator: null, status: null },
      { name: 'slot', inUse: 1, status: { maxConcurrent: 1 } },
    ]);
  });

  it('shows a waiter whom an account turns away just now: short of it, and no instant known', () => {
    const { admission, ask, slot } = scene();
    let broken = false;
    class Odd extends CountingGate {
      override fits(mine: readonly number[], ahead: readonly number[]): boolean {
        if (broken) throw new Error('not now');
        return super.fits(mine, ahead);
      }
    }
    const odd = new Odd({ name: 'odd', capacity: 1 });
    new Job(admission, demand(odd));
    new Job(admission, demand(slot, odd), { job: 'A' });
    ask('B');
    broken = true;
    expect(admission.status().waiters).toMatchObject([
      { job: 'A', shortOf: ['odd'], earliest: null },
      { job: 'B', shortOf: ['slot'], behindHead: true },
    ]);
  });

  it('costs nothing: it moves no number and marks nobody', () => {
    const { admission, ask, events, slot, clock } = scene();
    ask('H');
    ask('W');
    const before = [events.length, slot.status().lastActivity, admission.nextDeadline, clock.pending];
    clock.advanceTo(50);
    for (let n = 0; n < 3; n += 1) admission.status();
    expect([events.length, slot.status().lastActivity, admission.nextDeadline, clock.pending]).toEqual(before);
  });

  it('is there as a stream: now, and after every change', () => {
    const { admission, ask, clock } = scene();
    const seen: string[] = [];
    admission.status$.subscribe(({ grants, waiters, at }: AdmissionStatus) =>
      seen.push(`${at}: ${grants.map(({ job }) => String(job)).join()} | ${waiters.map(({ job }) => String(job)).join()}`),
    );
    const h = ask('H');
    clock.advanceTo(3);
    const w = ask('W');
    h.release();
    w.unsubscribe();
    expect([...new Set(seen)]).toEqual(['0:  | ', '0: H | ', '3: H | W', '3: W | ', '3:  | ']);
  });
});
