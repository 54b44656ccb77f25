/** What a window's constructor accepts, refuses and assumes. */
import { ElasticWindow, type ElasticWindowOptions } from 'rx-admission';
import { describe, expect, it } from 'vitest';
import { RecordedLog, thrownBy } from './recorded-log.js';

const valid: ElasticWindowOptions = {
  name: 'svc',
  maxRequests: 10,
  baseWindow: 1_000,
  initialCooldown: 100,
  maxCooldown: 1_000,
  failuresAtMaxToBlock: 3,
  successesPerDecrease: 3,
  probeTimeout: 1_000,
  maxThrottle: 9,
  log: new RecordedLog(),
};
const build = (options: Partial<ElasticWindowOptions>): ElasticWindow => new ElasticWindow({ ...valid, ...options });

const WHOLE = 'must be a positive whole number';
const POSITIVE = 'must be a positive number';
const NOT_NEGATIVE = 'must be zero or a positive number';

describe('the bounds of a window', () => {
  it.each([
    [{ maxRequests: 0 }, `maxRequests ${WHOLE}, not 0`],
    [{ maxRequests: 1.5 }, `maxRequests ${WHOLE}, not 1.5`],
    [{ baseWindow: 0 }, `baseWindow ${POSITIVE}, not 0`],
    [{ baseWindow: -1 }, `baseWindow ${POSITIVE}, not -1`],
    [{ baseWindow: NaN }, `baseWindow ${POSITIVE}, not NaN`],
    [{ baseWindow: Infinity }, `baseWindow ${POSITIVE}, not Infinity`],
    [{ initialCooldown: 0 }, `initialCooldown ${POSITIVE}, not 0`],
    [{ failuresAtMaxToBlock: 0 }, `failuresAtMaxToBlock ${WHOLE}, not 0`],
    [{ failuresAtMaxToBlock: 2.5 }, `failuresAtMaxToBlock ${WHOLE}, not 2.5`],
    [{ successesPerDecrease: 0 }, `successesPerDecrease ${WHOLE}, not 0`],
    [{ probeTimeout: 0 }, `probeTimeout ${POSITIVE}, not 0`],
    [{ maxThrottle: -1 }, `maxThrottle ${NOT_NEGATIVE}, not -1`],
    [{ maxCooldown: 500, initialCooldown: 1_000 }, 'maxCooldown must be at least initialCooldown (1000), not 500'],
    [{ maxCooldown: 0 }, `maxCooldown ${POSITIVE}, not 0`],
    [{ throttleIncrement: -1 }, `throttleIncrement ${NOT_NEGATIVE}, not -1`],
    [{ throttleDecrement: NaN }, `throttleDecrement ${NOT_NEGATIVE}, not NaN`],
    [{ recoveryMultiplier: -2 }, `recoveryMultiplier ${NOT_NEGATIVE}, not -2`],
    [{ recoveryInterval: Infinity }, `recoveryInterval ${NOT_NEGATIVE}, not Infinity`],
    [{ headroom: 1 }, 'headroom must be a share from 0 to below 1, not 1'],
  ])('window-31: %o is refused, and the error names the value', (options, message) => {
    expect(thrownBy(() => build(options))).toEqual(new RangeError(`svc: ${message}`));
  });

  it.each([{ maxThrottle: 0 }, { maxCooldown: 100 }, {}])('window-31: %o is accepted', (options) => {
    expect(build(options).circuit).toBe('HEALTHY');
  });
});

describe('the defaults of a window', () => {
  const svc = (): ElasticWindow => new ElasticWindow({ maxRequests: 10, baseWindow: 1_000, log: new RecordedLog() });
  const pressed = (times: number): ElasticWindow => {
    const made = svc();
    for (let n = 0; n < times; n += 1) made.recordPressure(0);
    return made;
  };
  const relaxed = (made: ElasticWindow, at: number, times: number): number => {
    for (let n = 0; n < times; n += 1) made.onSuccess(at);
    return made.throttle;
  };

  it('window-31: increment 1.0, maximum 9.0', () => {
    expect([1, 2, 9, 10].map((times) => pressed(times).throttle)).toEqual([1, 2, 9, 9]);
  });

  it('window-31: decrement 0.2 at every third success', () => {
    expect([2, 3, 5, 6].map((times) => relaxed(pressed(1), 1, times))).toEqual([1, 0.8, 0.8, 0.6]);
  });

  it('window-31: after 5 minutes without pressure 2.5 times the decrement at each success', () => {
    expect([299_999, 300_000].map((at) => relaxed(pressed(1), at, 1))).toEqual([1, 0.5]);
  });

  it('window-31: three failures at the maximum open it', () => {
    expect([10, 11].map((times) => pressed(times).circuit)).toEqual(['HEALTHY', 'BLOCKED']);
  });

  it('window-31: cooldowns from 30,000 to 3,600,000 ms', () => {
    const made = pressed(11);
    const cooldowns: number[] = [];
    for (let at = 0; cooldowns.length < 9;) {
      cooldowns.push(made.cooldownRemainingMs(at));
      at += made.cooldownRemainingMs(at);
      made.tryTake([1], [], at, {});
      made.recordPressure(at);
    }
    expect(cooldowns.slice(0, 3)).toEqual([30_000, 60_000, 120_000]);
    expect(cooldowns.slice(-2)).toEqual([3_600_000, 3_600_000]);
  });

  it('window-31: a greatest cooldown of at least the initial one', () => {
    const long = new ElasticWindow({
      ...valid,
      initialCooldown: 7_200_000,
      maxCooldown: undefined,
      probeTimeout: undefined,
    });
    expect(long.circuit).toBe('HEALTHY');
  });

  it('window-31: a probe timeout equal to the greatest cooldown', () => {
    const made = pressed(11);
    made.tryTake([1], [], 30_000, {});
    expect(() => made.fits([1], [], 30_000 + 3_599_999)).toThrow('half-open');
    expect(made.fits([1], [], 30_000 + 3_600_000)).toBe(true);
  });
});
