/** The stamps of a sliding log, against a plain array. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Stamps } from '../../src/accounts/stamps.js';

const stampsOf = (...instants: number[]): Stamps => {
  const stamps = new Stamps();
  for (const instant of instants) stamps.add(1, instant);
  return stamps;
};

describe('Stamps', () => {
  it('counts those after an instant: one of exactly that age has left', () => {
    const stamps = stampsOf(10, 20, 20, 30);
    expect([9, 10, 19, 20, 30].map((instant) => stamps.liveAfter(instant))).toEqual([4, 3, 3, 1, 0]);
  });

  it('drops none by counting', () => {
    const stamps = stampsOf(10, 20);
    stamps.liveAfter(1e9);
    expect(stamps.liveAfter(0)).toBe(2);
  });

  it('knows the k-th oldest, and infinity beyond the last', () => {
    const stamps = stampsOf(10, 20, 30);
    stamps.forgetUpTo(10);
    expect([1, 2, 3].map((k) => stamps.oldest(k))).toEqual([20, 30, Infinity]);
  });

  it('drops the newest, below those that are kept', () => {
    const stamps = stampsOf(10, 20, 30, 40);
    stamps.drop(1, 0);
    expect([1, 2, 3, 4].map((k) => stamps.oldest(k))).toEqual([10, 20, 30, Infinity]);
    stamps.drop(1, 1);
    expect([1, 2, 3].map((k) => stamps.oldest(k))).toEqual([10, 30, Infinity]);
    stamps.drop(9, 1);
    expect([1, 2].map((k) => stamps.oldest(k))).toEqual([30, Infinity]);
    stamps.drop(9, 5);
    expect(stamps.liveAfter(0)).toBe(1);
  });

  it('never drops what has left already', () => {
    const stamps = stampsOf(10, 20);
    stamps.forgetUpTo(10);
    stamps.drop(5, 0);
    stamps.add(1, 25);
    expect(stamps.liveAfter(0)).toBe(1);
  });

  it('answers as a plain array does, through thousands of stamps', () => {
    const step = fc.oneof(
      fc.record({ verb: fc.constant('add' as const), count: fc.integer({ min: 1, max: 40 }), wait: fc.nat(30) }),
      fc.record({ verb: fc.constant('forget' as const), count: fc.nat(60), wait: fc.nat(30) }),
      fc.record({ verb: fc.constant('drop' as const), count: fc.nat(6), wait: fc.nat(4) }),
    );
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 200 }), (steps) => {
        const stamps = new Stamps();
        let model: number[] = [];
        let at = 0;
        for (const { verb, count, wait } of steps) {
          at += wait;
          if (verb === 'add') {
            stamps.add(count, at);
            model.push(...Array<number>(count).fill(at));
          } else if (verb === 'forget') {
            stamps.forgetUpTo(at - count);
            model = model.filter((instant) => instant > at - count);
          } else {
            stamps.drop(count, wait);
            model.splice(Math.max(0, model.length - wait - count), Math.max(0, Math.min(count, model.length - wait)));
          }
          const live = model.filter((instant) => instant > at - 20).length;
          const answers = [stamps.liveAfter(at - 20), stamps.oldest(1), stamps.oldest(3)].join();
          const wanted = [live, model[0] ?? Infinity, model[2] ?? Infinity].join();
          if (answers !== wanted) throw new Error(`${answers} instead of ${wanted}`);
        }
      }),
    );
  });
});
