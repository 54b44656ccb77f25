/** Gates: permits out at once, resized and paused at will. */
import { CountingGate, DatabaseGate, HttpGate, ModelGate, RefusedError, createAdmission, demand } from 'rx-admission';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../conformance/virtual-clock.js';
import { Wakes, thrownBy } from './recorded-log.js';

const gate = (capacity: number): CountingGate => new CountingGate({ name: 'pair', capacity });

describe('CountingGate', () => {
  it.each([0, -1, 1.5, NaN, Infinity, 2 ** 53])('refuses a capacity of %s and says what one is', (capacity) => {
    expect(thrownBy(() => gate(capacity))).toEqual(
      new RangeError(`pair: capacity must be a positive whole number, not ${capacity}`),
    );
  });

  it.each([0, -1, 1.5, NaN, Infinity])('refuses an amount of %s where the demand is made', (amount) => {
    expect(thrownBy(() => demand([gate(2), amount]))).toEqual(
      new RangeError(`pair: an amount of permits must be a positive whole number, not ${amount}`),
    );
  });

  it('takes up to its capacity, the amounts together', () => {
    const pair = gate(3);
    expect(pair.tryTake([1, 1], [], 0)).toBe(true);
    expect(pair.tryTake([2], [], 0)).toBe(false);
    expect(pair.tryTake([1], [], 0)).toBe(true);
    expect(pair.inUse()).toBe(3);
  });

  it('refuses more than its capacity on the check and on the take, naming the numbers and the remedy', () => {
    const pair = gate(2);
    for (const ask of [() => pair.fits([2, 1], []), () => pair.tryTake([2, 1], [], 0)]) {
      const error = thrownBy(ask);
      expect(error).toBeInstanceOf(RefusedError);
      expect(error.message).toBe('pair: 3 permits can never fit 2; ask for fewer at once');
      expect(error).toMatchObject({ account: 'pair', reason: 'circuit_blocked', readable: true });
    }
    expect(pair.inUse()).toBe(0);
  });

  it('answers a clash with the reservation with a plain no', () => {
    expect(gate(2).fits([1], [2])).toBe(false);
    expect(gate(2).fits([1], [1])).toBe(true);
  });

  it('knows no instant at which a short amount fits, and names now when nothing is short', () => {
    const pair = gate(2);
    pair.tryTake([2], [], 0);
    expect(pair.earliestFit([1], [], 7)).toBeNull();
    pair.give([1], 8);
    expect(pair.earliestFit([1], [], 9)).toBe(9);
    expect(pair.earliestFit([1], [1], 9)).toBeNull();
  });

  it('never counts below none', () => {
    const pair = gate(2);
    pair.give([5], 0);
    expect(pair.inUse()).toBe(0);
    expect(pair.fits([2], [])).toBe(true);
  });

  it('account-06: a declined tryTake does not stamp lastActivity, a take and a give do', () => {
    const pair = gate(2);
    expect(pair.status().lastActivity).toBe(0);
    pair.tryTake([2], [], 2);
    pair.tryTake([1], [], 3);
    expect(pair.status().lastActivity).toBe(2);
    expect(() => pair.tryTake([3], [], 4)).toThrow(RefusedError);
    expect(pair.status().lastActivity).toBe(2);
    pair.give([1], 5);
    expect(pair.status().lastActivity).toBe(5);
  });

  it('starts its stamp at the instant it was made, where its clock is known', () => {
    expect(new CountingGate({ name: 'g', capacity: 1, scheduler: new VirtualClock(42) }).status().lastActivity).toBe(
      42,
    );
  });

  it('account-07: its status names permits, uses and the stamp, its summary contains "1/2"', () => {
    const pair = gate(2);
    pair.tryTake([1], [], 5);
    expect(pair.status()).toMatchObject({ maxConcurrent: 2, availablePermits: 1, activeCount: 1, lastActivity: 5 });
    expect(pair.status().summary()).toBe('1/2 permits in use');
  });
});

describe('resize', () => {
  it('wakes the line when it grows, tells of a shrink, and says nothing when nothing changed', () => {
    const pair = gate(2);
    const wakes = new Wakes(pair);
    const shrinks = new Wakes({ capacityChanges: pair.shrinks });
    pair.resize(3);
    expect([pair.capacity, wakes.take(), shrinks.take()]).toEqual([3, 1, 0]);
    pair.resize(3);
    expect([wakes.take(), shrinks.take()]).toEqual([0, 0]);
    pair.resize(1);
    expect([pair.capacity, wakes.take(), shrinks.take()]).toEqual([1, 0, 1]);
  });

  it('cuts no admitted work: new work waits until what is out fits', () => {
    const pair = gate(4);
    pair.tryTake([3], [], 0);
    pair.resize(2);
    expect(pair.inUse()).toBe(3);
    expect(pair.status()).toMatchObject({ maxConcurrent: 2, availablePermits: 0, overage: 1, activeCount: 3 });
    expect(pair.status().summary()).toBe('3/2 permits in use, 1 over');
    expect(pair.fits([1], [])).toBe(false);
    pair.give([2], 1);
    expect(pair.fits([1], [])).toBe(true);
  });

  it('refuses what is no capacity, and keeps the one it has', () => {
    const pair = gate(2);
    expect(() => {
      pair.resize(0);
    }).toThrow(new RangeError('pair: capacity must be a positive whole number, not 0'));
    expect(pair.capacity).toBe(2);
  });

  it('refuses in the same turn the parked who can never fit any more', () => {
    const pair = gate(3);
    const admission = createAdmission({ scheduler: new VirtualClock(0) });
    const outcomes: string[] = [];
    admission.defer(demand([pair, 2]), () => new Promise(() => undefined)).subscribe();
    for (const permits of [3, 2]) {
      admission
        .defer(demand([pair, permits]), () => [])
        .subscribe({
          error: (error: unknown) => outcomes.push(`${permits}: ${String(error)}`),
          complete: () => outcomes.push(`${permits}: done`),
        });
    }
    pair.resize(2);
    expect(outcomes).toEqual(['3: RefusedError: pair: 3 permits can never fit 2; ask for fewer at once']);
    expect(admission.queueSize).toBe(1);
  });
});

describe('pause and resume', () => {
  it('lets nothing start while paused, and wakes the line once at the resume', () => {
    const pair = gate(2);
    const wakes = new Wakes(pair);
    pair.pause();
    expect(pair.paused).toBe(true);
    expect(pair.fits([1], [])).toBe(false);
    expect(pair.tryTake([1], [], 0)).toBe(false);
    expect(pair.earliestFit([1], [], 0)).toBeNull();
    expect(wakes.take()).toBe(0);
    pair.resume();
    pair.resume();
    expect(pair.paused).toBe(false);
    expect(wakes.take()).toBe(1);
    expect(pair.fits([1], [])).toBe(true);
  });

  it('takes back what is out meanwhile, and still refuses what can never fit', () => {
    const pair = gate(2);
    pair.tryTake([2], [], 0);
    pair.pause();
    pair.give([2], 1);
    expect(pair.inUse()).toBe(0);
    expect(() => pair.fits([3], [])).toThrow(RefusedError);
  });
});

describe('the gates by name', () => {
  it('database-01: a database bound is a gate named db:counted of capacity 2, given back by release, the same object each time', () => {
    const bound = new DatabaseGate({ name: 'counted', capacity: 2 });
    expect(bound).toMatchObject({ name: 'db:counted', capacity: 2, replenishment: 'release', category: 'semaphore' });
    expect(bound.accountFor(1)).toBe(bound);
    expect(demand(bound).entries[0]?.key).toBe(bound);
  });

  it('names the HTTP pool http unless it is given a name', () => {
    expect(new HttpGate({ capacity: 1 }).name).toBe('http');
    expect(new HttpGate({ name: 'proxy', capacity: 1 }).name).toBe('proxy');
  });

  it('leaves a model gate the name of its model', () => {
    expect(new ModelGate({ name: 'gpt-5', capacity: 8 })).toMatchObject({ name: 'gpt-5', capacity: 8 });
  });
});
