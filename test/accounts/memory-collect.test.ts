/** The collection that a latched gate asks for: when nothing else would lower the reading, and no more often than needed. */
import { CountingGate, MemoryGate, createAdmission, demand, type Admission } from 'rx-admission';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../conformance/virtual-clock.js';
import { RecordedLog } from './recorded-log.js';

/** A heap that falls only when it is collected, as V8's does while nothing allocates. */
class Garbage {
  readonly clock = new VirtualClock(0);
  readonly log = new RecordedLog();
  readonly collections: number[] = [];
  readonly memory: MemoryGate;
  readonly admission: Admission;
  readonly db = new CountingGate({ name: 'db', capacity: 9 });
  readonly granted: string[] = [];

  constructor(
    public ratio: number,
    /** What the heap reads after a collection. */
    public leaves: number,
    collect: 'sync' | 'async' | 'fails' | 'rejects' | false = 'sync',
  ) {
    const ran = (): void => {
      this.collections.push(this.clock.now());
      this.ratio = this.leaves;
    };
    const ways = {
      sync: ran,
      async: () => Promise.resolve().then(ran),
      fails: () => {
        ran();
        throw new Error('no inspector');
      },
      rejects: () => Promise.reject(new Error('no gc')),
    };
    this.memory = new MemoryGate({ heap: () => this.ratio, collect: collect && ways[collect], log: this.log });
    this.admission = createAdmission({ memory: this.memory, scheduler: this.clock });
  }

  ask(job: string): void {
    this.admission
      .defer(demand(this.db), () => [job])
      .subscribe((name) => this.granted.push(`${this.clock.now()} ${name}`));
  }
}

describe('a latched gate with nothing in flight', () => {
  it('asks for a collection at its first re-check, and opens in the same look', () => {
    const heap = new Garbage(0.96, 0.3);
    heap.ask('a');
    heap.clock.advanceTo(1_999);
    expect(heap.collections).toEqual([]);
    heap.clock.advanceTo(2_000);
    expect([heap.collections, heap.granted]).toEqual([[2_000], ['2000 a']]);
    expect(heap.memory.latched).toBe(false);
  });

  it('asks no more often than twice a minute, however many ask', () => {
    const heap = new Garbage(0.96, 0.97);
    heap.ask('a');
    for (let at = 500; at <= 95_000; at += 500) {
      heap.clock.advanceTo(at);
      if (at % 1_500 === 0) heap.ask(String(at));
    }
    // Each ask restarts the two seconds, so the first look two seconds after the latch is the ask at 3,000.
    expect(heap.collections).toEqual([3_000, 33_000, 63_000, 93_000]);
    expect(heap.granted).toEqual([]);
  });

  it('keeps its two collections a minute apart from one latch to the next', () => {
    const heap = new Garbage(0.96, 0.3);
    heap.ask('a');
    heap.clock.advanceTo(5_000);
    heap.ratio = 0.99;
    heap.ask('b');
    heap.clock.advanceTo(60_000);
    expect(heap.collections).toEqual([2_000, 33_000]);
    expect(heap.granted).toEqual(['2000 a', '33000 b']);
  });

  it('waits for nothing: a collection that takes its time is looked at as it ends', async () => {
    const heap = new Garbage(0.96, 0.3, 'async');
    heap.ask('a');
    heap.clock.advanceTo(2_000);
    expect([heap.collections, heap.granted]).toEqual([[], []]);
    heap.clock.advanceTo(2_300);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    expect([heap.collections, heap.granted]).toEqual([[2_300], ['2300 a']]);
  });

  it.each([
    ['fails', 'Error: no inspector'],
    ['rejects', 'Error: no gc'],
  ] as const)('logs a collection that %s, and stays as it was', async (how, message) => {
    const heap = new Garbage(0.96, 0.97, how);
    heap.ask('a');
    heap.clock.advanceTo(4_000);
    await Promise.resolve();
    expect(heap.log.lines.slice(1)).toEqual([`warn: memory: the collection that was asked for failed: ${message}`]);
    expect([heap.granted, heap.admission.queueSize]).toEqual([[], 1]);
  });

  it('asks for none where it was told not to, and then stays shut for as long as the heap reads high', () => {
    const heap = new Garbage(0.96, 0.3, false);
    heap.ask('a');
    heap.clock.advanceTo(24 * 3_600_000);
    expect([heap.granted, heap.memory.latched, heap.admission.queueSize]).toEqual([[], true, 1]);
    heap.ratio = 0.3;
    heap.clock.advanceTo(24 * 3_600_000 + 2_000);
    expect(heap.granted).toHaveLength(1);
  });

  it('asks for none where the heap is somebody else’s reading', () => {
    const clock = new VirtualClock(0);
    const memory = new MemoryGate({ heap: () => 0.97, log: new RecordedLog() });
    for (let at = 0; at < 100_000; at += 2_000) memory.fits([], [], at);
    expect([memory.latched, clock.actions]).toEqual([true, []]);
  });
});

describe('a latched gate with a job in flight', () => {
  it('asks for none, since the job may free what it holds; then for one as soon as the last has ended', () => {
    const heap = new Garbage(0.5, 0.3);
    const [one, two] = [heap.admission.tryAcquire(demand(heap.db)), heap.admission.tryAcquire(demand(heap.db))];
    heap.ratio = 0.96;
    heap.ask('a');
    heap.clock.advanceTo(120_000);
    one?.release();
    heap.clock.advanceTo(240_000);
    expect(heap.collections).toEqual([]);
    two?.rollback();
    expect([heap.collections, heap.granted]).toEqual([[240_000], ['240000 a']]);
  });
});
