/** Promise 1: an item waits holding nothing, and its project runs only once the whole demand is granted and debited. */
import { TokenBucket, demand, type Grant } from 'rx-admission';
import { describe, expect, it } from 'vitest';
import { inVirtualTime } from './in-virtual-time.js';

describe('promise 1: an item waits holding nothing', () => {
  it('starts the inner of each item as its permit comes free', () => {
    inVirtualTime(({ admit, gate, hot, cold, expectObservable, expectSubscriptions }) => {
      const slot = gate(1);
      const source = hot('  -a-b-c------------|');
      const sourceSubs = '  ^-----------------!';
      const a = cold('       x---y|            ');
      const aSubs = '       -^----!            ';
      const b = cold('            x--y|        ');
      const bSubs = '       ------^---!        ';
      const c = cold('                y|       ');
      const cSubs = '       ----------^!       ';
      const expected = '    -x---yx--yy-------|';
      const inners: Record<string, typeof a> = { a, b, c };

      const result = source.pipe(admit(demand(slot), (item) => inners[item] ?? cold('#')));

      expectObservable(result).toBe(expected);
      expectSubscriptions(source.subscriptions).toBe(sourceSubs);
      expectSubscriptions(a.subscriptions).toBe(aSubs);
      expectSubscriptions(b.subscriptions).toBe(bSubs);
      expectSubscriptions(c.subscriptions).toBe(cSubs);
    });
  });

  it('takes nothing of what is free while another account is short', () => {
    inVirtualTime(({ admit, gate, hot, cold, at, flush, expectObservable }) => {
      const free = gate(3, 'free');
      const short = gate(1, 'short');
      const source = hot('ab----------|');
      const inner = cold('----x|');
      const result = source.pipe(admit((item) => (item === 'a' ? demand(short) : demand([free, 2], short)), () => inner));

      expectObservable(result).toBe('----x----x--|');
      const seen: unknown[] = [];
      for (const frame of [3, 6]) {
        at(frame, () => seen.push([frame, free.inUse(), short.inUse()]));
      }
      flush();
      expect(seen).toEqual([
        [3, 0, 1],
        [6, 2, 1],
      ]);
    });
  });

  it('runs project with everything debited already', () => {
    inVirtualTime(({ admit, gate, scheduler, hot, cold, flush, expectObservable }) => {
      const slot = gate(2);
      const tokens = new TokenBucket({ name: 'model', tokensPerMinute: 60_000, scheduler });
      const debited: unknown[] = [];
      const result = hot('ab--|').pipe(
        admit(demand([slot, 2], [tokens, 500, 300]), (item, grant: Grant) => {
          debited.push([item, slot.inUse(), tokens.tokens(), grant.demand.entries.length, grant.settled]);
          return cold('--x|');
        }),
      );
      expectObservable(result).toBe('--x--x|');
      flush();
      // Three ms bring three tokens back.
      expect(debited).toEqual([
        ['a', 2, 59_200, 2, false],
        ['b', 2, 58_403, 2, false],
      ]);
    });
  });

  it('never runs project for an item that did not get its turn', () => {
    inVirtualTime(({ admit, gate, hot, cold, flush, expectObservable }) => {
      const started: string[] = [];
      const result = hot('abc---|').pipe(
        admit(demand(gate(1)), (item) => {
          started.push(item);
          return cold('-----------x|');
        }),
      );
      expectObservable(result, '^----!').toBe('------');
      flush();
      expect(started).toEqual(['a']);
    });
  });

  it('passes an empty demand at once, line or no line', () => {
    inVirtualTime(({ admit, gate, hot, cold, expectObservable }) => {
      const slot = gate(1);
      const result = hot('abo---------|').pipe(
        admit((item) => (item === 'o' ? demand() : demand(slot)), (item) => cold('----x|', { x: item })),
      );
      expectObservable(result).toBe('----a-o--b--|');
    });
  });

  it('asks the demand function with the item and its index, and the project too', () => {
    inVirtualTime(({ admit, gate, hot, cold, flush, expectObservable }) => {
      const slot = gate(9);
      const asked: unknown[] = [];
      const result = hot('a-b-|').pipe(
        admit(
          (item, index) => {
            asked.push([item, index]);
            return demand([slot, index + 1]);
          },
          (item, grant, index) => cold('x|', { x: [item, index, grant.demand.entries[0]?.amounts] }),
        ),
      );
      expectObservable(result).toBe('x-y-|', { x: ['a', 0, [1]], y: ['b', 1, [2]] });
      flush();
      expect(asked).toEqual([
        ['a', 0],
        ['b', 1],
      ]);
    });
  });
});
