/** Every kind of partition passes the contract of an account, and answers bad input with an error that says what to do. */
import { accountContract, type AccountContractCase } from 'rx-admission/testing';
import { describe, expect, it } from 'vitest';
import { partitioned, priorities } from 'rx-admission/bulkhead';

function contractOf(name: string, cases: readonly AccountContractCase[]): void {
  describe(name, () => {
    for (const { title, run } of cases) it(title, run);
  });
}

const invalid = [0, -1, 1.5, NaN, 'one'];

contractOf(
  'a partition with a share',
  accountContract({
    make: () => partitioned({ name: 'calls', capacity: 12, shares: { a: 6, b: 3 } }).of('a'),
    amounts: [1, 2],
    impossible: 7,
    invalid,
  }),
);
contractOf(
  'a partition that may not borrow',
  accountContract({ make: () => partitioned({ name: 'calls', capacity: 12, shares: { a: 9 }, borrow: 'none' }).of('a'), amounts: [1, 3], invalid }),
);
contractOf(
  'a partition beside a reserve',
  accountContract({
    make: () => partitioned({ name: 'calls', capacity: 12, shares: { a: 6, b: 3 }, reserve: 2 }).of('a'),
    amounts: [1, 3],
    impossible: 7,
    invalid,
  }),
);
contractOf(
  'a key that lives on the rest',
  accountContract({
    make: () => partitioned({ name: 'calls', capacity: 12, shares: { a: 3 } }).of('b'),
    amounts: [1, 3],
    impossible: 10,
    invalid,
  }),
);
contractOf(
  'a cell',
  accountContract(() => partitioned({ name: 'calls', capacity: 9, cells: 4 }).of('b')),
);
contractOf(
  'a class of a low priority',
  accountContract(() => priorities({ name: 'calls', capacity: 9, classes: ['high', 'low'], ageing: 100 }).of('low')),
);

describe('the contract of a partition that is resized', () => {
  const resized = (less: [number, Record<string, number>?], more: [number, Record<string, number>?]): AccountContractCase[] => {
    const pools = new WeakMap<object, ReturnType<typeof partitioned>>();
    return accountContract({
      make: () => {
        const pool = partitioned({ name: 'calls', capacity: 12, shares: { a: 4, b: 3 } });
        const account = pool.of('a');
        pools.set(account, pool);
        return account;
      },
      amounts: [1, 2],
      impossible: 5,
      less: (account) => pools.get(account)?.resize(...less),
      more: (account) => pools.get(account)?.resize(...more),
    });
  };
  const changes: [string, [number, Record<string, number>?], [number, Record<string, number>?]][] = [
    ['whole', [11], [13]],
    ['own share', [12, { a: 3, b: 3 }], [12, { a: 5, b: 3 }]],
    ["other's share", [11, { a: 4, b: 2 }], [11, { a: 4, b: 1 }]],
  ];
  for (const [what, less, more] of changes) {
    for (const { title, run } of resized(less, more)) it(`${title} (${what})`, run);
  }
});

describe('bad input', () => {
  const good = { name: 'calls', capacity: 10 };
  it.each([
    [{ name: '' }, 'a partitioned capacity is called by a text, such as "tenant-a", not ""'],
    [{ capacity: 0 }, 'calls: capacity must be a positive whole number, not 0'],
    [{ capacity: '10' }, 'calls: capacity must be a positive whole number, not "10"'],
    [{ shares: { a: -1 } }, 'calls: the share of a must be zero or a positive whole number, not -1'],
    [{ shares: { '': 1 } }, 'calls: a share is called by a text, such as "tenant-a", not ""'],
    [{ shares: { a: 6, b: 5 } }, 'calls: the shares come to 11 permits, and the capacity is 10; lower some, or raise it'],
    [{ borrow: -1 }, 'calls: borrow must be zero or a positive whole number, not -1'],
    [{ borrow: 'some' }, `calls: borrow must be 'idle', 'none' or a number of permits, not "some"`],
    [{ reserve: 0.5 }, 'calls: reserve must be zero or a positive whole number, not 0.5'],
    [{ maxPartitions: NaN }, 'calls: maxPartitions must be zero or a positive whole number, not NaN'],
    [{ cells: 0 }, 'calls: cells must be a positive whole number, not 0'],
    [{ cells: 4, maxPartitions: 4 }, 'calls: cells are as many as they are, and bound the keys already; leave maxPartitions out'],
  ])('of %o is a RangeError', (bad, message) => {
    expect(() => partitioned({ ...good, ...(bad as object) })).toThrow(new RangeError(message));
  });

  it.each([
    [{ ageing: 0 }, 'calls: ageing must be ms above zero, or Infinity for none, not 0'],
    [{ classes: [] }, 'calls: name each class once, the first first, not []'],
    [{ classes: ['a', 'a'] }, 'calls: name each class once, the first first, not [a, a]'],
    [{ atLeast: { c: 1 } }, 'calls: atLeast names "c", which is none of a, b'],
    [{ atLeast: { a: 10 } }, 'calls: every permit is guaranteed, and a class that has none would never be served; leave some over'],
  ])('of priorities, %o, is a RangeError', (bad, message) => {
    expect(() => priorities({ ...good, classes: ['a', 'b'], ageing: 10, ...(bad as object) })).toThrow(new RangeError(message));
  });

  it('is a key that is no text', () => {
    expect(() => partitioned(good).of(7 as unknown as string)).toThrow(
      new RangeError('calls: a key is called by a text, such as "tenant-a", not 7'),
    );
  });

  it('changes nothing when a resize is refused', () => {
    const pool = partitioned({ ...good, shares: { a: 4 }, cells: 2 });
    expect(() => pool.resize(3)).toThrow('the shares come to 4 permits, and the capacity is 3');
    expect(() => pool.resize(0)).toThrow('capacity must be a positive whole number, not 0');
    expect(() => pool.resize(9, { b: 1 })).toThrow('with cells the keys that have a share stay as they are (a)');
    expect(() => partitioned({ ...good, cells: 2 }).resize(9, { b: 1 })).toThrow('stay as they are (none)');
    expect(pool.capacity).toBe(10);
    expect(pool.of('a').status().share).toBe(4);
  });
});
