/** The registry: one instance per class, one bucket and one gate per model. */
import {
  AbstractAccount,
  Accounts,
  CountingGate,
  ElasticWindow,
  RateLimitInfo,
  RefusedError,
  demand,
  parseIntOrNull,
  type ModelSpec,
} from 'rx-admission';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../conformance/virtual-clock.js';
import { RecordedLog, Wakes, thrownBy } from './recorded-log.js';

class SearchRateLimiter extends ElasticWindow {
  constructor() {
    super({ maxRequests: 10, baseWindow: 1_000 });
  }
}
class Pool extends CountingGate {}

describe('Accounts.of', () => {
  it('builds one instance of a class', () => {
    const accounts = new Accounts();
    const search = accounts.of(SearchRateLimiter);
    expect(search).toBeInstanceOf(SearchRateLimiter);
    expect(accounts.of(SearchRateLimiter)).toBe(search);
    expect(new Accounts().of(SearchRateLimiter)).not.toBe(search);
  });

  it('factory-02: refuses a class whose constructor needs an argument, naming it and why, and again when asked again', () => {
    class Sized extends CountingGate {
      constructor(capacity: number) {
        super({ name: 'sized', capacity });
      }
    }
    const accounts = new Accounts();
    for (let n = 0; n < 2; n += 1) {
      // @ts-expect-error the type refuses it too
      const error = thrownBy(() => accounts.of(Sized));
      expect(error).toBeInstanceOf(RefusedError);
      expect(error).toMatchObject({ reason: 'aborted', readable: false });
      expect(error.message).toBe('the account class Sized cannot be built: it has no constructor without arguments');
      expect(error.cause).toEqual(new TypeError('Sized declares 1 constructor parameter(s)'));
    }
  });

  it('factory-03: refuses a class whose constructor throws with the constructor’s own message, and keeps nothing', () => {
    const boom = new Error('boom');
    let broken = true;
    class Moody extends SearchRateLimiter {
      constructor() {
        super();
        if (broken) throw boom;
      }
    }
    const accounts = new Accounts();
    const error = thrownBy(() => accounts.of(Moody));
    expect(error).toBeInstanceOf(RefusedError);
    expect(error.message).toBe('the account class Moody cannot be built: boom');
    expect(error.cause).toBe(boom);
    broken = false;
    expect(accounts.of(Moody)).toBeInstanceOf(Moody);
  });

  it('names what a constructor threw that is no error', () => {
    const no: unknown = 'no';
    class Rude extends SearchRateLimiter {
      constructor() {
        super();
        throw no;
      }
    }
    expect(thrownBy(() => new Accounts().of(Rude)).message).toBe('the account class Rude cannot be built: no');
  });

  it('refuses a class that inherits a constructor which needs options', () => {
    const error = thrownBy(() => new Accounts().of(Pool as unknown as new () => Pool));
    expect(error.message).toContain('the account class Pool cannot be built:');
    expect(error.cause).toBeInstanceOf(TypeError);
  });

  it('builds any account of one’s own', () => {
    class Licences extends AbstractAccount {
      readonly capacity = 1;
      constructor() {
        super('licences');
      }
      inUse(): number {
        return 0;
      }
      fits(): boolean {
        return true;
      }
      tryTake(): boolean {
        return true;
      }
      give(): void {
        // Nothing is counted.
      }
      earliestFit(): null {
        return null;
      }
    }
    expect(new Accounts().of(Licences).name).toBe('licences');
  });
});

describe('Accounts.bucket', () => {
  it('factory-04: seeds a bucket from tpm and rpm; a model that publishes no rpm gets a thousandth of its tokens', () => {
    const accounts = new Accounts();
    const seeded = [
      { id: 'published', requestsPerMinute: 7, tokensPerMinute: 90_000 },
      { id: 'unpublished', requestsPerMinute: 0, tokensPerMinute: 120_000 },
      { id: 'neg', requestsPerMinute: -1, tokensPerMinute: 5_000 },
      { id: 'silent', tokensPerMinute: 5_500 },
    ].map((spec) => [accounts.bucket(spec).name, accounts.bucket(spec).capacity, accounts.status(spec).maxRequests]);
    expect(seeded).toEqual([
      ['published', 90_000, 7],
      ['unpublished', 120_000, 120],
      ['neg', 5_000, 5],
      ['silent', 5_500, 5],
    ]);
  });

  it('factory-05: gives a tpm below one thousand one request per minute at least, so a demand fits', () => {
    const tiny = new Accounts().bucket({ id: 'tiny', requestsPerMinute: 0, tokensPerMinute: 900 });
    expect(tiny.status(0).maxRequests).toBe(1);
    expect(tiny.fits([100], [], 0)).toBe(true);
  });

  it('is one per id, whatever else a later spec says; variants of one model keep separate buckets', () => {
    const accounts = new Accounts();
    const bucket = accounts.bucket({ id: 'a', tokensPerMinute: 1_000 });
    expect(accounts.bucket({ id: 'a', tokensPerMinute: 5_000 })).toBe(bucket);
    expect(bucket.capacity).toBe(1_000);
    expect(accounts.bucket({ id: 'a-eu', tokensPerMinute: 1_000 })).not.toBe(bucket);
  });

  it('refuses a model that publishes no tokens', () => {
    expect(() => new Accounts().bucket({ id: 'mute' })).toThrow(
      new RangeError('mute: tokensPerMinute must be a positive number, not 0'),
    );
  });

  it('passes scheduler, headroom and log on to every bucket', () => {
    const log = new RecordedLog();
    const scheduler = new VirtualClock(500);
    const accounts = new Accounts({ headroom: 0.5, log, scheduler });
    const bucket = accounts.bucket({ id: 'a', tokensPerMinute: 1_000, requestsPerMinute: 10 });
    expect([bucket.capacity, bucket.status().instant]).toEqual([500, 500]);
    accounts.updateLimits({ id: 'fresh' }, { tokensPerMinute: 4_000, requestsPerMinute: 8 });
    expect(accounts.status({ id: 'fresh' })).toMatchObject({ maxTokens: 2_000, maxRequests: 4 });
    expect(accounts.gate({ id: 'a', maxConcurrent: 3 }).status().lastActivity).toBe(500);
  });
});

describe('Accounts.gate', () => {
  it('is one per model that declares max_concurrent, of that capacity, named after it', () => {
    const accounts = new Accounts();
    const gate = accounts.gate({ id: 'local', maxConcurrent: 4 });
    expect(gate).toMatchObject({ name: 'local', capacity: 4, category: 'semaphore' });
    expect(accounts.gate({ id: 'local' })).toBe(gate);
  });

  it('factory-08: is refused to a model that declares none: its account is the bucket, with the reserved amount on it', () => {
    const accounts = new Accounts();
    const spec: ModelSpec = { id: 'jev-windowed', tokensPerMinute: 15_000_000, requestsPerMinute: 1_200 };
    expect(() => accounts.gate(spec)).toThrow(
      new RangeError('jev-windowed declares no maxConcurrent, so it has no gate: its account is its bucket'),
    );
    const { entries } = demand([accounts.bucket(spec), 40]);
    expect(entries).toEqual([{ account: accounts.bucket(spec), key: accounts.bucket(spec), amounts: [40] }]);
  });

  it('refuses a bound that is none', () => {
    expect(() => new Accounts().gate({ id: 'x', maxConcurrent: 0 })).toThrow(
      'x: capacity must be a positive whole number',
    );
  });
});

describe('Accounts.updateLimits', () => {
  it('factory-10: creates the bucket when there is none, seeded by what was reported', () => {
    const accounts = new Accounts();
    const fresh: ModelSpec = { id: 'fresh', requestsPerMinute: 10, tokensPerMinute: 1_000 };
    accounts.updateLimits(fresh, { requestsPerMinute: 20, tokensPerMinute: 2_000 });
    expect(accounts.bucket(fresh).capacity).toBe(2_000);
    expect(accounts.status(fresh).maxRequests).toBe(20);
  });

  it('factory-10: ignores a pair in which either number is not positive', () => {
    const accounts = new Accounts();
    const headers: ModelSpec = { id: 'headers', requestsPerMinute: 10, tokensPerMinute: 1_000 };
    accounts.updateLimits(headers, { requestsPerMinute: 0, tokensPerMinute: 9_000 });
    const bucket = accounts.bucket(headers);
    accounts.updateLimits(headers, { requestsPerMinute: 10, tokensPerMinute: 0 });
    accounts.updateLimits(headers, { requestsPerMinute: -1, tokensPerMinute: 9_000 });
    accounts.updateLimits(headers, { requestsPerMinute: NaN, tokensPerMinute: 9_000 });
    expect([bucket.capacity, accounts.status(headers).maxRequests]).toEqual([1_000, 10]);
  });

  it('applies reported ceilings in place, keeps what was learned, and takes a reading of headers as it is', () => {
    const accounts = new Accounts();
    const spec: ModelSpec = { id: 'm', requestsPerMinute: 10, tokensPerMinute: 1_000 };
    const bucket = accounts.bucket(spec);
    bucket.record429(0);
    const wakes = new Wakes(bucket);
    accounts.updateLimits(
      spec,
      new RateLimitInfo({ model: 'm', tokensLimit: parseIntOrNull('2000'), requestsLimit: 20, wasRateLimited: false }),
    );
    expect(accounts.bucket(spec)).toBe(bucket);
    expect([bucket.capacity, bucket.throttle, wakes.take()]).toEqual([2_000, 0.5, 1]);
    accounts.updateLimits(spec, RateLimitInfo.fromHeaders('m', 3_000, 1, null));
    expect(bucket.capacity).toBe(2_000);
  });
});

describe('the registry', () => {
  it('factory-11: is the facade of the same bucket, its limits and its status', () => {
    const accounts = new Accounts();
    const spec: ModelSpec = { id: 'm', requestsPerMinute: 10, tokensPerMinute: 1_000 };
    const bucket = accounts.bucket(spec);
    expect(accounts.status(spec).maxTokens).toBe(1_000);
    accounts.updateLimits(spec, { requestsPerMinute: 20, tokensPerMinute: 2_000 });
    expect(accounts.bucket(spec)).toBe(bucket);
    expect([bucket.capacity, accounts.status(spec).maxTokens]).toEqual([2_000, 2_000]);
  });

  it('factory-11: after clear everything is new, classes, buckets and gates alike', () => {
    const accounts = new Accounts();
    const spec: ModelSpec = { id: 'm', tokensPerMinute: 1_000, maxConcurrent: 2 };
    const before = [accounts.of(SearchRateLimiter), accounts.bucket(spec), accounts.gate(spec)];
    accounts.clear();
    const after = [accounts.of(SearchRateLimiter), accounts.bucket(spec), accounts.gate(spec)];
    for (const [index, account] of after.entries()) expect(account).not.toBe(before[index]);
  });
});
