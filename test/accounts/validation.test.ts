/** Numbers are checked where they are handed over, and the error names the value and the remedy. */
import { describe, expect, it } from 'vitest';
import { TokenBucket, demand } from 'rx-admission';
import { nonNegative, positive, positiveInteger, share, withHeadroom } from '../../src/accounts/validation.js';

describe('the checks of numbers', () => {
  it('answer what they were given', () => {
    expect([positive('x', 0.5), positiveInteger('x', 3), nonNegative('x', 0), share('x', 0.99)]).toEqual([
      0.5, 3, 0, 0.99,
    ]);
  });

  it.each([0, -1, NaN, Infinity, -Infinity])('positive refuses %s', (value) => {
    expect(() => positive('x', value)).toThrow(new RangeError(`x must be a positive number, not ${value}`));
  });

  it.each([0, -1, 1.5, NaN, Infinity, 2 ** 53])('positiveInteger refuses %s', (value) => {
    expect(() => positiveInteger('x', value)).toThrow(
      new RangeError(`x must be a positive whole number, not ${value}`),
    );
  });

  it.each([-1e-9, NaN, Infinity])('nonNegative refuses %s', (value) => {
    expect(() => nonNegative('x', value)).toThrow(new RangeError(`x must be zero or a positive number, not ${value}`));
  });

  it.each([-0.1, 1, 1.1, NaN, Infinity])('share refuses %s', (value) => {
    expect(() => share('x', value)).toThrow(new RangeError(`x must be a share from 0 to below 1, not ${value}`));
  });
});

describe('a number in disguise', () => {
  const disguised = ['40', null, true, [3], 5n, { valueOf: () => 3 }] as unknown as number[];

  it.each(disguised)('is refused: %s', (value) => {
    for (const check of [positive, positiveInteger, nonNegative, share]) expect(() => check('x', value)).toThrow(RangeError);
  });

  it('is no amount of tokens: a text would be compared as forty and counted as one', () => {
    const bucket = new TokenBucket({ name: 'gpt', tokensPerMinute: 100 });
    expect(() => demand([bucket, '40' as unknown as number])).toThrow(
      new RangeError('gpt: an amount of tokens must be zero or a positive number, not "40"'),
    );
  });
});

describe('a check', () => {
  it('asks whose value it is only where it has to say so', () => {
    let asked = 0;
    const owner = {
      get name() {
        asked += 1;
        return 'pool';
      },
    };
    expect([positive('x', 1, owner), positiveInteger('x', 1, owner), nonNegative('x', 1, owner), share('x', 0, owner), asked]).toEqual([
      1, 1, 1, 0, 0,
    ]);
    expect(() => positive('x', 0, owner)).toThrow(new RangeError('pool: x must be a positive number, not 0'));
  });
});

describe('withHeadroom', () => {
  it('leaves the limit as it is without any', () => {
    expect(withHeadroom(0.25, 0)).toBe(0.25);
  });

  it.each([
    [1_000, 0.07, 930],
    [200_000, 0.05, 190_000],
    [1_000, 0.1, 900],
    [10, 0.3, 7],
    [100, 0.29, 71],
    [10, 0.25, 7],
  ])('%s less a share of %s is %s whole units', (limit, headroom, left) => {
    expect(withHeadroom(limit, headroom)).toBe(left);
  });

  it('never takes the last unit, and never adds to a limit below one', () => {
    expect(withHeadroom(1, 0.9)).toBe(1);
    expect(withHeadroom(0.5, 0.9)).toBe(0.5);
  });
});
