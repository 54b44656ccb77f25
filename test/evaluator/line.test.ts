/** The line against a plain list: the same waiters in the same order, whatever came and went, and snapshots that stay. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CountingGate, TokenBucket, demand, type Demand } from 'rx-admission';
import { Asking } from '../../src/evaluator/asking.js';
import { Line } from '../../src/evaluator/line.js';
import { newcomer, type Waiter } from '../../src/evaluator/waiter.js';

const gate = new CountingGate({ name: 'gate', capacity: 9 });
const bucket = new TokenBucket({ name: 'bucket', tokensPerMinute: 9 });
const shapes: readonly ((amount: number) => Demand)[] = [
  (amount) => demand([gate, amount]),
  (amount) => demand([bucket, amount]),
  (amount) => demand([gate, amount], [bucket, 1]),
  // Two amounts of one bucket do not compare: it has to be asked.
  (amount) => demand([bucket, amount, 1]),
];

const shaped = (shape: number, amount: number): Demand => shapes[shape]?.(amount) ?? demand(gate);

const waiterFor = (whole: Demand): Waiter => newcomer(new Asking(whole, 0, undefined));
const asks = (waiters: readonly Waiter[]): readonly Asking[] => waiters.map(({ ask }) => ask);

describe('Line', () => {
  it('keeps arrival order through every coming, going and marking', () => {
    const step = fc.record({ shape: fc.nat(3), amount: fc.integer({ min: 1, max: 9 }), go: fc.option(fc.nat(500)), mark: fc.nat(500) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
        const line = new Line();
        let model: Waiter[] = [];
        for (const { shape, amount, go, mark } of steps) {
          const waiter = waiterFor(shaped(shape, amount));
          line.append(waiter);
          model.push(waiter);
          const marked = model[mark % model.length];
          if (marked) {
            const replacement = { ...marked, marks: { account: gate, since: 1, earlier: null } };
            line.replace(replacement);
            model = model.map((other) => (other === marked ? replacement : other));
          }
          const gone = go === null ? undefined : model[go % model.length];
          if (gone) {
            line.remove(gone.ask);
            model = model.filter((other) => other !== gone);
          }
          expect(line.size).toBe(model.length);
          expect(line.head).toBe(model[0] ?? null);
        }
        expect(line.toArray()).toEqual(model);
        for (const waiter of model) expect(line.waiterOf(waiter.ask)).toBe(waiter);
      }),
      { numRuns: 60 },
    );
  });

  it('hands out a snapshot that nothing later changes', () => {
    const line = new Line();
    const first = Array.from({ length: 100 }, () => waiterFor(demand([gate, 2])));
    for (const waiter of first) line.append(waiter);
    const snapshot = line.snapshot();
    for (const { ask } of first.slice(10, 90)) line.remove(ask);
    line.append(waiterFor(demand([gate, 3])));
    expect(asks(snapshot())).toEqual(asks(first));
    expect(line.toArray()).toHaveLength(21);
  });

  it('stays small where few wait and many have gone by', () => {
    const line = new Line();
    const staying = waiterFor(demand(gate));
    line.append(staying);
    let last = waiterFor(demand(gate));
    line.append(last);
    for (let n = 0; n < 5_000; n += 1) {
      const next = waiterFor(demand(gate));
      line.append(next);
      line.remove(last.ask);
      last = next;
    }
    expect(asks(line.toArray())).toEqual(asks([staying, last]));
    expect(last.ask.slot).toBeLessThan(64);
  });

  it.each([
    [1, 31],
    [1, 32],
    [1, 33],
    [2, 1_024],
  ])('moves those who stay into fresh slots, also where they fill them: %s levels, %s stay', (levels, stay) => {
    const line = new Line();
    line.append(waiterFor(demand(gate)));
    // A level holds 32 times what the one below it does; it is full once that many have come.
    const come = Array.from({ length: 32 ** (levels + 1) }, () => waiterFor(demand(gate)));
    for (const waiter of come) line.append(waiter);
    const left = come.slice(stay);
    for (const { ask } of left) line.remove(ask);
    const last = waiterFor(demand(gate));
    line.append(last);
    expect(last.ask.slot).toBe(stay);
    const waiting = [line.head, ...come.slice(0, stay), last];
    expect(line.toArray()).toEqual(waiting);
    for (const waiter of waiting) {
      expect(line.head).toBe(waiter);
      if (waiter !== null) line.remove(waiter.ask);
    }
    expect(line.size).toBe(0);
  });

  it('forgets the groups of accounts that nobody waits for any more', () => {
    const line = new Line();
    line.append(waiterFor(demand(gate)));
    const others = Array.from({ length: 100 }, (_, n) => waiterFor(demand(new CountingGate({ name: `gate ${n}`, capacity: 1 }))));
    for (const waiter of others) line.append(waiter);
    expect(line.groups).toHaveLength(100);
    for (const { ask } of others) line.remove(ask);
    expect(line.groups.length).toBeLessThanOrEqual(32);
    const again = waiterFor(demand([gate, 2]));
    line.append(again);
    expect(line.toArray()).toHaveLength(2);
  });

  it('makes the one that arrived first the head, of whatever group', () => {
    const line = new Line();
    const waiters = [0, 3, 1, 2, 0].map((shape) => waiterFor(shaped(shape, 1)));
    for (const waiter of waiters) line.append(waiter);
    for (const waiter of waiters) {
      expect(line.head).toBe(waiter);
      line.remove(waiter.ask);
    }
    expect(line.head).toBeNull();
  });
});
