/** The status records and what they say in one line. */
import { ElasticWindowStatus, MemoryStatus, SemaphoreStatus, TokenBucketStatus } from 'rx-admission';
import { describe, expect, it } from 'vitest';

describe('SemaphoreStatus', () => {
  it('counts as active what is not available, and what is over', () => {
    expect(new SemaphoreStatus(5, 2, 0).activeCount).toBe(3);
    expect(new SemaphoreStatus(5, 0, 0, 2).activeCount).toBe(7);
  });

  it('names its numbers', () => {
    expect(new SemaphoreStatus(5, 2, 0).summary()).toBe('3/5 permits in use');
    expect(new SemaphoreStatus(5, 0, 0, 2).summary()).toBe('7/5 permits in use, 2 over');
  });
});

describe('TokenBucketStatus', () => {
  it('has capacity for n with a request slot and n tokens', () => {
    expect(new TokenBucketStatus(10, 1, 1_000, 400, 0).hasCapacity(400)).toBe(true);
    expect(new TokenBucketStatus(10, 1, 1_000, 400, 0).hasCapacity(401)).toBe(false);
    expect(new TokenBucketStatus(10, 0, 1_000, 400, 0).hasCapacity(1)).toBe(false);
  });

  it('names its numbers', () => {
    expect(new TokenBucketStatus(10, 1, 1_000, 400, 0).summary()).toBe('400/1000 tokens, 1/10 requests available');
  });
});

describe('ElasticWindowStatus', () => {
  it('names its numbers and its circuit', () => {
    expect(new ElasticWindowStatus(10, 4, 1.5, 2_500, 'HEALTHY').summary()).toBe(
      '4/10 requests available per 2500ms, throttle 1.5, HEALTHY',
    );
  });
});

describe('MemoryStatus', () => {
  it('status-05: names heap, floor, zone, line, delay and penalty', () => {
    expect(new MemoryStatus(0, 1, 0.5, 0.4, 'DRAINING', 3, 120, 8).summary()).toBe(
      'heap 50.0%, floor 40.0%, zone DRAINING, 3 in the line of memory, 120ms to the next release, penalty x8',
    );
  });

  it('rounds a penalty that is no whole number', () => {
    expect(new MemoryStatus(0, 1, 0.5, 0.4, 'GREEN', 0, 0, 2.297396709994).summary()).toContain('penalty x2.3');
  });
});
