/** The registry of databases. */
import { CountingProvider, Databases, HoldingProvider, countingProvider, databases } from 'rx-admission/database';
import { afterEach, describe, expect, it, vi } from 'vitest';

const orders = (): CountingProvider => countingProvider({ name: 'orders', maxConcurrent: 2 });

describe('a counting provider', () => {
  it('is bound by one account, named after it (database-01)', () => {
    const counted = countingProvider({ name: 'counted', maxConcurrent: 2 });
    const { admission } = counted;
    expect(counted.name).toBe('counted');
    expect([admission.name, admission.capacity, admission.replenishment]).toEqual(['db:counted', 2, 'release']);
    expect(counted.admission).toBe(admission);
  });

  it('refuses a bound that is not a positive whole number', () => {
    for (const maxConcurrent of [0, -1, 1.5, NaN]) {
      expect(() => countingProvider({ name: 'counted', maxConcurrent })).toThrow(RangeError);
    }
  });
});

describe('the registry', () => {
  it('answers the very object, and forgets it when told (database-15)', () => {
    const registry = new Databases();
    const provider = orders();
    expect(registry.register(provider)).toBe(provider);
    expect(registry.get('orders')).toBe(provider);
    expect(registry.get('orders', CountingProvider)).toBe(provider);
    expect(registry.names).toEqual(['orders']);
    expect(registry.register(provider)).toBe(provider);
    expect(registry.names).toEqual(['orders']);
    registry.unregister(provider);
    expect(registry.names).toEqual([]);
    expect(() => registry.get('orders')).toThrow('registered are: none');
  });

  it('names what is registered on a miss, both types where they differ, and the name that is taken (database-16)', () => {
    const registry = new Databases();
    const first = registry.register(orders());
    registry.register(countingProvider({ name: 'accounts', maxConcurrent: 1 }));
    expect(() => registry.get('absent')).toThrow('no database "absent" is registered; registered are: accounts, orders');
    expect(() => registry.get('orders', HoldingProvider)).toThrow('is a CountingProvider, not a HoldingProvider');
    const second = orders();
    expect(() => registry.register(second)).toThrow('the database "orders" is registered already');
    expect(registry.get('orders')).toBe(first);
    registry.unregister(second);
    expect(registry.get('orders')).toBe(first);
  });
});

describe('the default database', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it('is one of as many permits as are configured, and none where none are (database-17)', () => {
    const registry = new Databases();
    expect(registry.registerDefault()).toBeNull();
    expect(registry.registerDefault({ name: 'named' })).toBeNull();
    expect(registry.names).toEqual([]);
    const named = registry.registerDefault({ name: 'registry-default', maxConcurrent: 7 });
    expect(named?.admission.capacity).toBe(7);
    expect(registry.get('registry-default', CountingProvider)).toBe(named);
    expect(registry.registerDefault({ maxConcurrent: 7 })?.name).toBe('default');
  });

  it('is read from the environment, under what the options say', () => {
    vi.stubEnv('RX_ADMISSION_DB_NAME', 'orders');
    vi.stubEnv('RX_ADMISSION_DB_MAX_CONCURRENT', '7');
    const registered = new Databases().registerDefault();
    expect([registered?.name, registered?.admission.capacity]).toEqual(['orders', 7]);
    const named = new Databases().registerDefault({ name: 'mine', maxConcurrent: 3 });
    expect([named?.name, named?.admission.capacity]).toEqual(['mine', 3]);
  });

  it('reads no bound from an empty variable, and refuses one that is no number', () => {
    expect(new Databases().registerDefault({ env: { RX_ADMISSION_DB_MAX_CONCURRENT: '' } })).toBeNull();
    for (const written of ['many', '0', '-2', '1.5']) {
      expect(() => new Databases().registerDefault({ env: { RX_ADMISSION_DB_MAX_CONCURRENT: written } })).toThrow(
        `RX_ADMISSION_DB_MAX_CONCURRENT must be a positive whole number, not "${written}"`,
      );
    }
  });

  it('is registered once in the registry of the application', () => {
    const registered = databases.registerDefault({ name: 'shared', maxConcurrent: 1 });
    expect(() => databases.registerDefault({ name: 'shared', maxConcurrent: 1 })).toThrow('registered already');
    if (registered) databases.unregister(registered);
    expect(databases.names).toEqual([]);
  });
});
