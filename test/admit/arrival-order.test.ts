/** Promise 2: grants go in arrival order with the head protected; the output's order is the inner observables' own. */
import { demand } from 'rx-admission';
import { map } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { inVirtualTime } from './in-virtual-time.js';

describe('promise 2: arrival order, the head protected', () => {
  it('grants in arrival order and lets the inners order the output', () => {
    inVirtualTime(({ admit, gate, hot, cold, flush, expectObservable }) => {
      const granted: string[] = [];
      const lasting: Record<string, string> = { a: '------a|', b: '--b|', c: '-c|', d: 'd|' };
      const result = hot('(abcd)-----|').pipe(
        admit(demand(gate(2)), (item) => {
          granted.push(item);
          return cold(lasting[item] ?? '#');
        }),
      );
      // `a` is the first in and the last out: `c` gets the place of `b`, and `d` that of `c`.
      expectObservable(result).toBe('--b-cda----|');
      flush();
      expect(granted).toEqual(['a', 'b', 'c', 'd']);
    });
  });

  it('lets no later item pass a head that waits for more', () => {
    inVirtualTime(({ admit, gate, hot, cold, expectObservable, expectSubscriptions }) => {
      const slot = gate(2);
      const source = hot('ab--c----------|');
      const a = cold('    ------a|        ');
      const b = cold('           --b|     ');
      const c = cold('              c|    ');
      const aSubs = '     ^------!';
      // b needs both permits: one is free all the time, and c may not have it.
      const bSubs = '     -------^--!';
      const cSubs = '     ----------^!';
      const inners: Record<string, typeof a> = { a, b, c };
      const result = source.pipe(
        admit((item) => (item === 'b' ? demand([slot, 2]) : demand(slot)), (item) => inners[item] ?? cold('#')),
      );
      expectObservable(result).toBe('------a--bc----|');
      expectSubscriptions(a.subscriptions).toBe(aSubs);
      expectSubscriptions(b.subscriptions).toBe(bSubs);
      expectSubscriptions(c.subscriptions).toBe(cSubs);
    });
  });

  it('lets an item that asks for nothing of the head pass at once', () => {
    inVirtualTime(({ admit, gate, hot, cold, expectObservable }) => {
      const slot = gate(1, 'slot');
      const other = gate(1, 'other');
      const result = hot('abc------------|').pipe(
        admit((item) => (item === 'c' ? demand(other) : demand(slot)), (item) => cold('-----x|').pipe(map(() => item))),
      );
      expectObservable(result).toBe('-----a-c---b---|');
    });
  });

  it('keeps one line for everyone who subscribes, whichever operator they came through', () => {
    inVirtualTime(({ admit, gate, hot, cold, expectObservable }) => {
      const slot = gate(1);
      const first = admit(demand(slot), (item: string) => cold(`--${item}|`));
      const second = admit(demand(slot), (item: string) => cold(`-${item}-|`));
      expectObservable(hot('a--d---------|').pipe(first)).toBe('--a--------d-|');
      expectObservable(hot('-b-----------|').pipe(second)).toBe('----b--------|');
      expectObservable(hot('--c----------|').pipe(first)).toBe('--------c----|');
    });
  });

  it('lets in as many as one release makes room for, oldest first', () => {
    inVirtualTime(({ admit, gate, hot, cold, flush, expectObservable }) => {
      const slot = gate(3);
      const granted: string[] = [];
      const result = hot('abcd------------|').pipe(
        admit((item) => (item === 'a' ? demand([slot, 3]) : demand(slot)), (item) => {
          granted.push(item);
          return cold(`-----${item}|`);
        }),
      );
      expectObservable(result).toBe('-----a-----(bcd)|');
      flush();
      expect(granted).toEqual(['a', 'b', 'c', 'd']);
    });
  });
});
