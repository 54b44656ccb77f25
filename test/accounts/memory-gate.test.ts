/** The gate of the heap: what it reads, when it shuts and opens, and what it says about it. */
import { BehaviorSubject, Subject, defer, throwError } from 'rxjs';
import { CountingGate, MemoryGate, createAdmission, demand, type MemoryGateOptions } from 'rx-admission';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../conformance/virtual-clock.js';
import { RecordedLog, Wakes } from './recorded-log.js';

/** A gate whose heap reads what the test says. */
class Heap {
  reads = 0;
  readonly log = new RecordedLog();
  readonly gate: MemoryGate;

  constructor(
    public ratio: number,
    options: MemoryGateOptions = {},
  ) {
    this.gate = new MemoryGate({
      heap: () => {
        this.reads += 1;
        return this.ratio;
      },
      log: this.log,
      ...options,
    });
  }

  look(ratio: number, at: number): boolean {
    this.ratio = ratio;
    return this.gate.fits([], [], at);
  }
}

const held = (gate: MemoryGate, count: number): void => {
  gate.observeHeld(() => count);
};

describe('the latch', () => {
  it('memory-24: exactly two log lines, warn as it sets and info as it clears, each with the summary of that moment', () => {
    const heap = new Heap(0.5);
    for (const [at, ratio] of [0.96, 0.93, 0.97, 0.89, 0.8].entries()) heap.look(ratio, at);
    expect(heap.log.lines).toEqual([
      'warn: memory: latch set: heap 96.0%, floor 96.0%, zone CRITICAL, 0 in the line of memory, 0ms to the next release, penalty x1',
      'info: memory: latch cleared: heap 89.0%, floor 89.0%, zone GREEN, 0 in the line of memory, 0ms to the next release, penalty x1',
    ]);
  });

  it('memory-24: the summary is that of the look which moved the latch, whatever the next one would read', () => {
    const ratios = [0.96, 0.5];
    const log = new RecordedLog();
    new MemoryGate({ heap: () => ratios.shift() ?? 0.1, log }).fits([], [], 0);
    expect(log.lines[0]).toContain('latch set: heap 96.0%');
  });

  it('memory-24: names DRAINING where memory has a line as it clears', () => {
    const heap = new Heap(0.5);
    held(heap.gate, 3);
    heap.look(0.96, 0);
    heap.look(0.85, 1);
    expect(heap.log.lines[1]).toContain('zone DRAINING, 3 in the line of memory');
  });

  it('moves at a question and at a take, not at a status, an indicator or a deadline', () => {
    const heap = new Heap(0.99);
    expect(heap.gate.latched).toBe(false);
    heap.gate.status(0);
    heap.gate.statusIndicator(0);
    heap.gate.earliestFit([], [], 0);
    expect([heap.gate.latched, heap.reads]).toEqual([false, 3]);
    expect(heap.gate.tryTake([], [], 0)).toBe(false);
    expect(heap.gate.latched).toBe(true);
  });

  it('is looked at again two seconds on, and its indicator is blocked', () => {
    const heap = new Heap(0.5);
    heap.look(0.95, 7);
    const { reads } = heap;
    expect([heap.gate.earliestFit([], [], 7), heap.gate.statusIndicator(7)]).toEqual([2_007, 'blocked']);
    expect(heap.reads).toBe(reads);
    expect(heap.gate.status(7)).toMatchObject({ zone: 'CRITICAL', usageRatio: 0.95, pacingDelayMs: 0 });
  });
});

describe('the pace', () => {
  it('names the end of the delay or the re-check, whichever is sooner, past instants included', () => {
    const heap = new Heap(0.85);
    heap.gate.tryTake([], [], 0);
    held(heap.gate, 2);
    expect(heap.gate.earliestFit([], [], 100)).toBe(1_111);
    expect(heap.gate.earliestFit([], [], 5_000)).toBe(1_111);
    heap.ratio = 0.9;
    expect(heap.gate.earliestFit([], [], 100)).toBe(2_100);
    expect(heap.gate.fits([], [], 8_887)).toBe(false);
    expect(heap.gate.fits([], [], 8_888)).toBe(true);
  });

  it('is told by the status in whole ms and by the indicator, until it is over', () => {
    const heap = new Heap(0.85);
    heap.gate.tryTake([], [], 0.5);
    held(heap.gate, 2);
    expect(heap.gate.status(100)).toMatchObject({
      zone: 'DRAINING',
      heldOnMemory: 2,
      pacingDelayMs: 1_012,
      growthPenalty: 1,
    });
    expect(heap.gate.statusIndicator(100)).toBe('pace:1012ms');
    expect([heap.gate.statusIndicator(1_112), heap.gate.status(1_112).pacingDelayMs]).toEqual([null, 0]);
  });

  it('ends at a completion, which wakes the line', () => {
    const heap = new Heap(0.85);
    const wakes = new Wakes(heap.gate);
    heap.gate.tryTake([], [], 0);
    held(heap.gate, 2);
    expect(heap.gate.fits([], [], 1)).toBe(false);
    heap.gate.give([], 2);
    expect([heap.gate.fits([], [], 2), heap.gate.earliestFit([], [], 2), wakes.take()]).toEqual([true, null, 1]);
    expect(heap.gate.status(2).pacingDelayMs).toBe(0);
    expect(heap.gate.tryTake([], [], 2)).toBe(true);
    expect(heap.gate.tryTake([], [], 3)).toBe(false);
  });

  it('never spaces a lone arrival below the latch', () => {
    const heap = new Heap(0.949);
    for (const at of [0, 1, 2]) expect(heap.gate.tryTake([], [], at)).toBe(true);
    expect(heap.gate.earliestFit([], [], 3)).toBeNull();
  });

  it('adds up the lines of everyone who supplies one, until the last has left', () => {
    const { gate } = new Heap(0.5);
    const [one, two] = [gate.observeHeld(() => 2), gate.observeHeld(() => 3)] as (() => void)[];
    expect(gate.status(0).heldOnMemory).toBe(5);
    one?.();
    expect(gate.status(0)).toMatchObject({ heldOnMemory: 3, zone: 'DRAINING' });
    two?.();
    expect(gate.status(0)).toMatchObject({ heldOnMemory: 0, zone: 'GREEN' });
  });
});

describe('a stopped gate', () => {
  it('memory-25: runs the wake once, says yes to everyone without looking, and a second stop does nothing', () => {
    const heap = new Heap(0.99);
    heap.look(0.99, 0);
    held(heap.gate, 10);
    const wakes = new Wakes(heap.gate);
    const { reads } = heap;
    expect(heap.gate.isStopping).toBe(false);
    heap.gate.stop();
    heap.gate.stop();
    expect([wakes.take(), heap.gate.isStopping]).toEqual([1, true]);
    expect([heap.gate.fits([], [], 0), heap.gate.tryTake([], [], 0)]).toEqual([true, true]);
    expect([heap.gate.earliestFit([], [], 7), heap.gate.statusIndicator(7), heap.reads]).toEqual([7, null, reads]);
  });

  it('memory-25: three jobs parked under the latch are all granted in the turn in which it is stopped', () => {
    const clock = new VirtualClock(0);
    const { gate } = new Heap(0.97);
    const admission = createAdmission({ memory: gate, scheduler: clock });
    const db = new CountingGate({ name: 'db', capacity: 9 });
    const granted: number[] = [];
    for (const job of [1, 2, 3]) admission.defer(demand(db), () => [job]).subscribe((n) => granted.push(n));
    expect(admission.queueSize).toBe(3);
    gate.stop();
    expect([granted, admission.queueSize, clock.now()]).toEqual([[1, 2, 3], 0, 0]);
  });
});

describe('the readings', () => {
  it('may be bytes: capacity and use are those of the last look', () => {
    const gate = new MemoryGate({ heap: () => ({ used: 96, max: 100 }), log: new RecordedLog() });
    expect([gate.capacity, gate.inUse()]).toEqual([1, 0]);
    expect(gate.fits([], [], 0)).toBe(false);
    expect([gate.capacity, gate.inUse()]).toEqual([100, 96]);
    expect(gate.status(0)).toMatchObject({ heapUsedBytes: 96, heapMaxBytes: 100, usageRatio: 0.96, floorRatio: 0.96 });
  });

  it.each([NaN, -0.1])('of %s are refused, and the error says what a reading is', (ratio) => {
    const { gate } = new Heap(ratio);
    expect(() => gate.fits([], [], 0)).toThrow(
      new RangeError(`memory: a heap reading must be a share from 0 up, not ${ratio}`),
    );
  });

  it('that are broken cost a waiter its wait, and nobody the admission', () => {
    const clock = new VirtualClock(0);
    const heap = new Heap(NaN);
    const admission = createAdmission({ memory: heap.gate, scheduler: clock });
    const db = new CountingGate({ name: 'db', capacity: 1 });
    const outcomes: unknown[] = [];
    const ask = (): void => {
      admission
        .defer(demand(db), () => ['granted'])
        .subscribe({
          next: (value) => outcomes.push(value),
          error: (error: unknown) => outcomes.push((error as Error).message),
        });
    };
    ask();
    heap.ratio = 0.5;
    ask();
    expect(outcomes).toEqual([
      'the account "memory" failed while it was asked: memory: a heap reading must be a share from 0 up, not NaN',
      'granted',
    ]);
  });

  it('that are pushed cause a pass each; before the first nothing is known against anyone', () => {
    const readings = new Subject<number>();
    const clock = new VirtualClock(0);
    const gate = new MemoryGate({ heap: readings, log: new RecordedLog() });
    const admission = createAdmission({ memory: gate, scheduler: clock });
    const db = new CountingGate({ name: 'db', capacity: 9 });
    const granted: string[] = [];
    const ask = (job: string): void => {
      admission.defer(demand(db), () => [job]).subscribe((name) => granted.push(name));
    };
    ask('first');
    readings.next(0.96);
    ask('second');
    expect(granted).toEqual(['first']);
    readings.next(0.5);
    expect([granted, clock.now()]).toEqual([['first', 'second'], 0]);
    admission.stop();
    expect(readings.observed).toBe(false);
  });

  it('that are pushed are one subscription, however many admissions share the gate', () => {
    const readings = new BehaviorSubject(0.5);
    let subscriptions = 0;
    const gate = new MemoryGate({
      heap: defer(() => {
        subscriptions += 1;
        return readings;
      }),
      log: new RecordedLog(),
    });
    const scheduler = new VirtualClock(0);
    const admissions = [createAdmission({ memory: gate, scheduler }), createAdmission({ memory: gate, scheduler })];
    expect([subscriptions, readings.observed]).toEqual([1, true]);
    for (const admission of admissions) admission.stop();
    expect(readings.observed).toBe(false);
  });

  it('that end in an error say so at every look', () => {
    const gate = new MemoryGate({ heap: throwError(() => new Error('the gauge is gone')), log: new RecordedLog() });
    const admission = createAdmission({ memory: gate, scheduler: new VirtualClock(0) });
    expect(() => gate.fits([], [], 0)).toThrow('the gauge is gone');
    const db = new CountingGate({ name: 'db', capacity: 1 });
    expect(() => admission.tryAcquire(demand(db))).toThrow(
      'the account "memory" failed while it was asked: the gauge is gone',
    );
  });
});

describe('its clock', () => {
  it('serves the verbs that name no instant, the latest instant named before one is bound', () => {
    const heap = new Heap(0.85);
    heap.gate.tryTake([], [], 500);
    held(heap.gate, 1);
    expect([heap.gate.status().pacingDelayMs, heap.gate.statusIndicator()]).toEqual([1_111, 'pace:1111ms']);
    const scheduler = new VirtualClock(1_000);
    const bound = new Heap(0.85, { scheduler });
    bound.gate.tryTake([], [], 1_000);
    held(bound.gate, 1);
    scheduler.advanceTo(1_100);
    expect([bound.gate.status().pacingDelayMs, bound.gate.statusIndicator()]).toEqual([1_011, 'pace:1011ms']);
  });
});
