/** What a provider's answer says about its limits. */
import { RateLimitInfo, parseIntOrNull, type RateLimitKind } from 'rx-admission';
import { describe, expect, it, vi } from 'vitest';

describe('RateLimitInfo', () => {
  it('header-01: rateLimited is the record of a limit that was hit and nothing more', () => {
    const info = RateLimitInfo.rateLimited('model-a');
    expect(info).toMatchObject({
      model: 'model-a',
      wasRateLimited: true,
      retryAfter: 60,
      tokensRemaining: 0,
      requestsRemaining: 0,
      tokensLimit: null,
      requestsLimit: null,
      tokensReset: null,
      type: 'UNKNOWN',
    });
    expect([info.tokensPerMinute, info.requestsPerMinute]).toEqual([0, 0]);
  });

  it('header-02: fromHeaders is a CAPACITY reading of an answer that met no limit', () => {
    const reset = new Date(7);
    const info = RateLimitInfo.fromHeaders('model-b', 1_000, 400, reset);
    expect(info).toMatchObject({
      wasRateLimited: false,
      type: 'CAPACITY',
      tokensLimit: 1_000,
      tokensRemaining: 400,
      retryAfter: null,
      requestsLimit: null,
      requestsRemaining: null,
    });
    expect(info.tokensReset).toBe(reset);
    expect([info.tokensPerMinute, info.requestsPerMinute]).toEqual([1_000, 0]);
  });

  it('header-03: the per-minute fields mirror the limits, a null kind is UNKNOWN, capturedAt is the construction', () => {
    const now = new Date('2026-11-30T12:00:00Z');
    vi.useFakeTimers({ now });
    try {
      const info = new RateLimitInfo({
        model: 'model-c',
        tokensLimit: 9_000,
        tokensRemaining: 100,
        tokensReset: null,
        requestsLimit: 50,
        requestsRemaining: 10,
        retryAfter: 3,
        wasRateLimited: true,
        type: null,
      });
      expect(info).toMatchObject({ tokensPerMinute: 9_000, requestsPerMinute: 50, type: 'UNKNOWN', retryAfter: 3 });
      expect(info).toMatchObject({ tokensRemaining: 100, requestsRemaining: 10, wasRateLimited: true });
      expect(info.capturedAt).toEqual(now);
    } finally {
      vi.useRealTimers();
    }
  });

  it('header-03: with both limits null both per-minute fields are 0', () => {
    const info = new RateLimitInfo({ model: 'm', tokensLimit: null, requestsLimit: null, wasRateLimited: false });
    expect([info.tokensPerMinute, info.requestsPerMinute]).toEqual([0, 0]);
  });

  it('header-03: the kinds are CAPACITY, ACCELERATION, UNKNOWN', () => {
    const kinds: RateLimitKind[] = ['CAPACITY', 'ACCELERATION', 'UNKNOWN'];
    expect(kinds.map((type) => new RateLimitInfo({ model: 'm', wasRateLimited: true, type }).type)).toEqual(kinds);
  });
});

describe('parseIntOrNull', () => {
  it.each([
    ['42', 42],
    [' 42 ', 42],
    [null, null],
    ['n/a', null],
    ['', null],
    ['4.5', null],
    ['42abc', null],
    ['-7', -7],
    ['+7', 7],
    ['99999999999', null],
    [undefined, null],
    ['2147483647', 2_147_483_647],
    ['2147483648', null],
    ['-2147483648', -2_147_483_648],
    ['-2147483649', null],
    ['0x10', null],
    ['1e3', null],
    ['--1', null],
    ['1 2', null],
  ])('header-04: reads %j as %j', (text, number) => {
    expect(parseIntOrNull(text)).toBe(number);
  });
});
