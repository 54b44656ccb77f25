/** Partitions: what is guaranteed is there, what is idle is lent and comes back, and no key waits behind another's backlog. */
import { CountingGate, createAdmission, demand, type Admission } from 'rx-admission';
import { partitioned, type Partition, type Partitioned } from 'rx-admission/bulkhead';
import { EMPTY } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { Job } from '../admit/job.js';

class Scene {
  readonly clock = new CountingScheduler();
  readonly admission: Admission = createAdmission({ scheduler: this.clock });

  constructor(readonly pool: Partitioned) {}

  ask(key: string, permits = 1, admission = this.admission): Job {
    return new Job(admission, demand([this.pool.of(key), permits]));
  }

  asks(key: string, times: number): Job[] {
    return Array.from({ length: times }, () => this.ask(key));
  }

  /** What each of the keys has out. */
  out(...keys: string[]): number[] {
    return keys.map((key) => this.pool.of(key).inUse());
  }
}

const states = (...jobs: Job[]): string[] => jobs.map(({ state }) => state);

describe('a share', () => {
  it('is there for its key, whoever else has a backlog', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 4, shares: { a: 1, b: 3 }, borrow: 'none' }));
    scene.asks('a', 50);
    expect(scene.out('a', 'b')).toEqual([1, 0]);
    expect(states(scene.ask('b', 3))).toEqual(['granted']);
  });

  it('is lent while it is idle, and its key gets every release once it asks', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 4, shares: { a: 1, b: 3 } }));
    const [first, second, third] = scene.asks('a', 50) as [Job, Job, Job];
    expect(scene.out('a', 'b')).toEqual([4, 0]);
    const jobs = scene.asks('b', 5);
    first.release();
    second.release();
    expect(scene.out('a', 'b')).toEqual([2, 2]);
    third.release();
    expect(scene.out('a', 'b')).toEqual([1, 3]);
    jobs[0]?.release();
    expect(scene.out('a', 'b')).toEqual([1, 3]);
  });

  it('is gathered for an ask of several permits, and nobody borrows of it meanwhile', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 4, shares: { a: 1, b: 3 } }));
    const [first, second, third] = scene.asks('a', 50) as [Job, Job, Job];
    const large = scene.ask('b', 3);
    first.release();
    second.release();
    expect(scene.out('a', 'b')).toEqual([2, 0]);
    expect(large.state).toBe('waiting');
    third.release();
    expect(large.state).toBe('granted');
    expect(scene.out('a', 'b')).toEqual([1, 3]);
  });

  it('is lent again once its key waits no more', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 4, shares: { a: 1, b: 3 } }));
    const [first, second] = scene.asks('a', 50) as [Job, Job];
    const large = scene.ask('b', 3);
    first.release();
    second.release();
    expect(scene.out('a')).toEqual([2]);
    large.unsubscribe();
    expect(scene.out('a')).toEqual([4]);
  });

  it('may not be passed by one ask, which nothing could promise an end of waiting', () => {
    const { pool, admission } = new Scene(partitioned({ name: 'calls', capacity: 4, shares: { a: 2 } }));
    const job = new Job(admission, demand([pool.of('a'), 3]));
    expect(String(job.refusal)).toContain('calls/a: 3 permits at once can never fit its 2; ask for fewer, or raise its share');
  });

  it('of none lives on what is idle', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 4, shares: { a: 0, b: 3 }, reserve: 1 }));
    expect(scene.pool.of('a').capacity).toBe(2);
    expect(states(scene.ask('a', 2), scene.ask('b', 2), scene.ask('a'))).toEqual(['granted', 'granted', 'waiting']);
  });
});

describe('borrowing', () => {
  it('stops at the number that may be borrowed', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 10, shares: { a: 2, b: 8 }, borrow: 3 }));
    scene.asks('a', 50);
    expect(scene.out('a')).toEqual([5]);
    expect(scene.pool.of('a').capacity).toBe(5);
  });

  it('leaves the reserve of every share alone, so that its key goes at once', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 10, shares: { a: 2, b: 5 }, reserve: 1 }));
    scene.asks('a', 50);
    expect(scene.out('a')).toEqual([8]);
    expect(states(scene.ask('b'), scene.ask('c'), scene.ask('b'))).toEqual(['granted', 'granted', 'waiting']);
  });

  it('is even among those who borrow', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 9, shares: { a: 1, b: 2, c: 6 } }));
    const hog = scene.asks('a', 50);
    scene.asks('b', 50);
    for (const job of hog.slice(0, 6)) job.release();
    expect(scene.out('a', 'b')).toEqual([4, 5]);
  });

  it('goes to nobody who has borrowed all it may', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 6, shares: { a: 2, b: 1 }, borrow: 1 }));
    scene.asks('b', 50);
    scene.asks('a', 50);
    expect(scene.out('a', 'b')).toEqual([3, 2]);
    expect(states(scene.ask('c'))).toEqual(['granted']);
  });

  it('keeps for who has borrowed less no more than he may borrow', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 7, shares: { a: 1, b: 3 }, borrow: 1 }));
    expect(states(scene.ask('b', 3), scene.ask('b', 3), scene.ask('a'))).toEqual(['granted', 'waiting', 'granted']);
    expect(states(scene.ask('a'), scene.ask('a'))).toEqual(['granted', 'waiting']);
  });

  it('keeps for who has borrowed less, and waits for several, all that he asks', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 6, shares: { a: 0, b: 0 }, maxPartitions: 0 }));
    const hog = scene.asks('a', 50);
    const large = scene.ask('b', 4);
    for (const job of hog.slice(0, 3)) job.release();
    expect(scene.out('a', 'b')).toEqual([3, 0]);
    hog[3]?.release();
    expect(large.state).toBe('granted');
    expect(scene.out('a', 'b')).toEqual([2, 4]);
  });

  it('is held up by no claim that waits for something else beyond what it claims', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 10, shares: { a: 1, b: 4 } }));
    const closed = new CountingGate({ name: 'closed', capacity: 1 });
    closed.pause();
    const hog = scene.asks('a', 50);
    // It finds its own partition short, and then waits for the gate only.
    new Job(scene.admission, demand(scene.pool.of('b'), closed));
    for (const job of hog.slice(0, 5)) job.release();
    expect(scene.out('a', 'b')).toEqual([9, 0]);
  });
});

describe('a pause', () => {
  it('starts nothing for the key from when it returns, and lends its share, until it is resumed', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 4, shares: { a: 2, b: 2 } }));
    const two = createAdmission({ scheduler: scene.clock });
    const hog = scene.asks('a', 4);
    const more = scene.ask('a', 1, two);
    const waiter = scene.ask('b', 2);
    hog[0]?.release();
    expect(states(more, waiter)).toEqual(['waiting', 'waiting']);
    const b = scene.pool.of('b');
    expect([b.paused, b.statusIndicator()]).toEqual([false, null]);
    b.pause();
    expect([b.paused, b.statusIndicator(), b.room([]), b.status().waiting]).toEqual([true, 'blocked', -Infinity, 1]);
    expect(states(more, waiter, scene.ask('b'))).toEqual(['granted', 'waiting', 'waiting']);
    for (const job of hog.slice(1)) job.release();
    expect(waiter.state).toBe('waiting');
    b.resume();
    b.resume();
    expect(waiter.state).toBe('granted');
  });
});

describe('the rest', () => {
  it('is shared evenly by the keys that have none of their own, one release at a time', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 6 }));
    const hog = scene.asks('hog', 1_000);
    scene.asks('b', 10);
    scene.asks('c', 10);
    for (const job of hog.slice(0, 4)) job.release();
    expect(scene.out('hog', 'b', 'c')).toEqual([2, 2, 2]);
  });

  it('is taken up to the same level when much comes free at once', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 3 }));
    scene.asks('hog', 1_000);
    scene.asks('b', 10);
    scene.asks('c', 1);
    scene.pool.resize(9);
    expect(scene.out('hog', 'b', 'c')).toEqual([4, 4, 1]);
  });

  it('serves who has as much in turn: who was served longest ago is next', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 2 }));
    const [holder] = scene.asks('a', 2);
    const order: string[] = [];
    for (const key of ['a', 'a', 'b', 'b', 'c', 'c']) {
      new Job(scene.admission, demand(scene.pool.of(key)), {}, () => (order.push(key), EMPTY));
    }
    holder?.release();
    expect(order).toEqual(['b', 'c', 'b', 'c', 'a', 'a']);
  });

  it('keeps what an ask of several permits needs from keys that have more', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 6 }));
    const hog = scene.asks('hog', 100);
    const large = scene.ask('b', 5);
    for (const job of hog.slice(0, 5)) job.release();
    expect(large.state).toBe('granted');
    expect(scene.out('hog', 'b')).toEqual([1, 5]);
  });
});

describe('resizing', () => {
  it('wakes all who may profit, and cuts nobody', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 4, shares: { a: 2 } }));
    const jobs = scene.asks('a', 10);
    scene.asks('b', 10);
    scene.pool.resize(8);
    expect(scene.out('a', 'b')).toEqual([4, 4]);
    scene.pool.resize(2);
    expect(scene.out('a', 'b')).toEqual([4, 4]);
    expect(scene.pool.status()).toMatchObject({ capacity: 2, inUse: 8, free: 0, overage: 6 });
    expect(scene.pool.status().summary()).toContain('8/2 permits in use, 6 over');
    for (const job of jobs.slice(0, 3)) job.release();
    expect(scene.out('a', 'b')).toEqual([1, 4]);
  });

  it('refuses in the same turn who asks for more than its share will ever be again', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 4, shares: { a: 4 } }));
    scene.ask('a', 2);
    const large = scene.ask('a', 4);
    const small = scene.ask('a', 3);
    scene.pool.resize(4, { a: 3 });
    expect(states(large, small)).toEqual(['refused', 'waiting']);
  });

  it('gives a key a share of its own, or takes it away, with all that it holds and waits for', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 4, shares: { a: 1 } }));
    const held = scene.asks('b', 4);
    const waiting = scene.ask('b');
    const of = (key: string): Partition => scene.pool.of(key);
    const [a, b] = [of('a'), of('b')];
    scene.pool.resize(4, { b: 3 });
    expect(of('a')).toBe(a);
    expect(of('b')).toBe(b);
    expect(b.status()).toMatchObject({ key: 'b', share: 3, inUse: 4, borrowed: 1, waiting: 1 });
    expect(a.status()).toMatchObject({ share: null });
    held[0]?.release();
    expect(states(waiting, scene.ask('a'))).toEqual(['granted', 'waiting']);
    scene.pool.resize(5, { c: 1, b: 3 });
    expect(scene.pool.of('c').status().share).toBe(1);
  });

  it('counts what a key holds already against the share that it gets', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 6, borrow: 'none' }));
    scene.asks('b', 4);
    scene.pool.resize(6, { b: 3 });
    expect(states(scene.ask('b'), scene.ask('a'), scene.ask('a'), scene.ask('a'))).toEqual(['waiting', 'granted', 'granted', 'waiting']);
  });

  it('lets those borrow who could not while a share was kept', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 6, shares: { a: 1, b: 4 }, reserve: 4 }));
    scene.asks('a', 10);
    expect(scene.out('a')).toEqual([1]);
    scene.pool.resize(6, { a: 1, b: 1 });
    expect(scene.out('a')).toEqual([1]);
    scene.pool.resize(3, { a: 1, b: 0 });
    expect(scene.out('a')).toEqual([1]);
    scene.pool.resize(3, { a: 2, b: 0 });
    expect(scene.out('a')).toEqual([2]);
  });
});

describe('bounds of keys', () => {
  it('refuses another key while as many as may be hold or wait, and takes it when one has left', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 2, shares: { own: 0 }, maxPartitions: 2 }));
    const holder = scene.ask('a');
    scene.ask('a');
    const waiter = scene.ask('b');
    const third = scene.ask('c');
    expect(states(holder, waiter, third)).toEqual(['granted', 'waiting', 'refused']);
    expect(third.refusal).toMatchObject({ reason: 'overflow', account: 'calls/c' });
    expect(String(third.refusal)).toContain('calls/c: 2 keys without a share are in use, and there may be no more at once; try again later');
    expect(() => scene.pool.of('c').room([])).toThrow('calls/c: 2 keys');
    expect(scene.ask('own').state).toBe('waiting');
    waiter.unsubscribe();
    expect(scene.ask('c').state).toBe('waiting');
  });

  it('bounds the line of each key by itself', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 1, maxWaiters: 2 }));
    expect(states(...scene.asks('hog', 4), scene.ask('b'))).toEqual(['granted', 'waiting', 'waiting', 'refused', 'waiting']);
  });

  it('names no instant for a key that may not be used now', () => {
    const { pool } = new Scene(partitioned({ name: 'calls', capacity: 3, maxPartitions: 0 }));
    expect(pool.of('c').earliestFit([1], [], 0)).toBeNull();
  });

  it('finds the cell of a key by its hash, the same one each time', () => {
    const pool = partitioned({ name: 'calls', capacity: 8, shares: { own: 2 }, cells: 4 });
    const cells = new Set(Array.from({ length: 200 }, (_, n) => pool.of(`tenant ${n}`)));
    expect([...cells].map(({ name }) => name).sort()).toEqual([0, 1, 2, 3].map((n) => `calls/cell ${n}`));
    expect(pool.of('tenant 7')).toBe(pool.of('tenant 7'));
    expect(pool.of('own').name).toBe('calls/own');
    expect(pool.status().partitions.map(({ key }) => key)).toEqual(['own', 'cell 0', 'cell 1', 'cell 2', 'cell 3']);
    pool.resize(9, { own: 3 });
    expect(pool.of('own').status().share).toBe(3);
  });
});

describe('two admissions that share a capacity', () => {
  it('let a waiter in when the other gives back on another partition', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 1 }));
    const two = createAdmission({ scheduler: scene.clock });
    const holder = scene.ask('a');
    const waiter = scene.ask('b', 1, two);
    holder.release();
    expect(waiter.state).toBe('granted');
  });

  it('yield to who waits in the other, and hear when it leaves', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 4, shares: { a: 1, b: 3 } }));
    const two = createAdmission({ scheduler: scene.clock });
    const hog = scene.asks('a', 10);
    const [large, more] = [scene.ask('b', 3, two), scene.ask('b', 3, two)];
    for (const job of hog.slice(0, 2)) job.release();
    expect(scene.out('a', 'b')).toEqual([2, 0]);
    large.unsubscribe();
    expect(scene.out('a')).toEqual([2]);
    more.unsubscribe();
    expect(scene.out('a')).toEqual([4]);
  });

  it('hear when the other stops', async () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 4, shares: { a: 1, b: 3 } }));
    const two = createAdmission({ scheduler: scene.clock });
    const hog = scene.asks('a', 10);
    scene.ask('b', 3, two);
    for (const job of hog.slice(0, 2)) job.release();
    two.stop();
    expect(scene.out('a')).toEqual([4]);
    await two.drain();
  });
});

describe('what moves the whole', () => {
  const KEYS = Array.from({ length: 200 }, (_, n) => `tenant ${String(n)}`);

  it.each<[string, (pool: Partitioned) => void]>([
    ['that shrinks', (pool) => { pool.resize(3); }],
    ['that grows', (pool) => { pool.resize(5); }],
    ['whose key is paused', (pool) => { pool.of('tenant 7').pause(); }],
    ['whose key is resumed', (pool) => { pool.of('tenant 0').resume(); }],
  ])('asks each who waits a few times, however many keys wait on a capacity %s', (_, move) => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 4, maxPartitions: KEYS.length }));
    scene.pool.of('tenant 0').pause();
    const waiting = KEYS.flatMap((key) => scene.asks(key, 2)).filter((job) => job.state === 'waiting');
    const partition = Object.getPrototypeOf(scene.pool.of('tenant 0')) as Partition;
    const asked = (['fits', 'room'] as const).map((question) => vi.spyOn(partition, question));
    move(scene.pool);
    const questions = asked.reduce((sum, { mock }) => sum + mock.calls.length, 0);
    for (const spy of asked) spy.mockRestore();
    expect(waiting).toHaveLength(396);
    expect(questions).toBeGreaterThan(0);
    expect(questions).toBeLessThanOrEqual(3 * waiting.length);
  });
});

describe('a status', () => {
  it('tells of each partition what it uses, borrows and leaves unused, who waits, and of the whole what is free', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 8, shares: { a: 2, b: 4 }, scheduler: undefined }));
    scene.clock.advanceTo(100);
    scene.asks('a', 9);
    scene.clock.advanceTo(350);
    scene.ask('b');
    const status = scene.pool.status(400);
    expect(status.partitions).toMatchObject([
      { key: 'a', share: 2, inUse: 8, waiting: 1, borrowedFor: 300, borrowed: 6, unused: 0 },
      { key: 'b', share: 4, inUse: 0, waiting: 1, borrowedFor: null, borrowed: 0, unused: 4 },
    ]);
    expect([status.free, status.overage, status.rest, status.inUse]).toEqual([0, 0, 2, 8]);
    expect(status.summary()).toBe(
      '8/8 permits in use; a: 8/2 permits in use, 6 borrowed for 300ms, 1 waiting; b: 0/4 permits in use, 1 waiting',
    );
    expect(scene.pool.inUse()).toBe(8);
  });

  it('shows a key of the rest while it is in use', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 2 }));
    expect(scene.pool.status().partitions).toEqual([]);
    const job = scene.ask('c', 2);
    const [shown] = scene.pool.status().partitions;
    expect(shown?.summary()).toBe('2 permits of the rest in use');
    expect([shown?.borrowed, shown?.unused, shown?.waiting]).toEqual([0, 0, 0]);
    job.release();
    expect(scene.pool.status().partitions).toEqual([]);
  });

  it('is read on the clock of the admission, and before any names it at the latest take', () => {
    const scene = new Scene(partitioned({ name: 'calls', capacity: 4, shares: { a: 1 } }));
    const account = scene.pool.of('a');
    account.tryTake([1], [], 50);
    account.tryTake([1], [], 70);
    expect(account.status().borrowedFor).toBe(0);
    scene.ask('a');
    scene.clock.advanceTo(100);
    expect(account.status().borrowedFor).toBe(30);
    account.give([5], 100);
    expect([account.inUse(), scene.pool.inUse()]).toEqual([0, 0]);
  });
});
