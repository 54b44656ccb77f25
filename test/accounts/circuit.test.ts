/** The circuit of a window: when it opens, for how long, and whose the probe is. */
import { describe, expect, it } from 'vitest';
import {
  circuitAt,
  claimed,
  failed,
  healthy,
  ownsProbe,
  succeeded,
  turnedAway,
  withdrawn,
  type Circuit,
  type CircuitRule,
} from '../../src/accounts/circuit.js';

const rule: CircuitRule = { failuresAtMaxToBlock: 3, initialCooldown: 100, maxCooldown: 350, probeTimeout: 1_000 };
const receipt = {};

const failures = (count: number, from: Circuit = healthy, at = 0): Circuit => {
  let circuit = from;
  for (let n = 0; n < count; n += 1) circuit = failed(circuit, true, at, rule);
  return circuit;
};
const open = failures(3);
const probing = claimed(open, 2, 100, receipt);

describe('a closed circuit', () => {
  it('lets everyone through', () => {
    expect(turnedAway(healthy, true, 0)).toBeNull();
    expect(claimed(healthy, 1, 0, receipt)).toBe(healthy);
  });

  it('opens at the third failure at the maximum, for the initial cooldown', () => {
    expect(failures(2).name).toBe('HEALTHY');
    expect(failures(3, healthy, 7)).toEqual({ name: 'BLOCKED', until: 107, cooldown: 100 });
  });

  it('counts no failure below the maximum, and forgets them all at a success', () => {
    expect(failed(healthy, false, 0, rule)).toBe(healthy);
    expect(failures(2, succeeded(failures(2))).name).toBe('HEALTHY');
    expect(failures(1, failed(failures(2), false, 0, rule)).name).toBe('BLOCKED');
  });
});

describe('an open circuit', () => {
  it('turns everyone away while the cooldown runs, and says until when', () => {
    expect(turnedAway(open, false, 99)).toEqual({ why: 'cooldown', until: 100 });
    expect(turnedAway(open, true, 99)).toEqual({ why: 'cooldown', until: 100 });
  });

  it('lets the head through from then on, and turns away who stands behind a reservation', () => {
    expect(turnedAway(open, false, 100)).toBeNull();
    expect(turnedAway(open, true, 100)).toEqual({ why: 'probe', until: null });
  });

  it('learns nothing from late answers of older calls', () => {
    expect(failures(5, open, 50)).toBe(open);
    expect(succeeded(open)).toBe(open);
  });

  it('has no probe to withdraw or to own', () => {
    expect(withdrawn(open)).toBe(open);
    expect(ownsProbe(open, undefined)).toBe(false);
  });
});

describe('a circuit with a probe out', () => {
  it('turns everyone away, the head too', () => {
    expect(probing).toEqual({ name: 'PROBING', until: 100, cooldown: 100, since: 100, receipt, slots: 2 });
    expect(turnedAway(probing, false, 500)).toEqual({ why: 'probe', until: null });
  });

  it('closes at a success', () => {
    expect(succeeded(probing)).toBe(healthy);
  });

  it('re-opens at a failure for twice as long, up to the greatest cooldown', () => {
    const again = failed(probing, false, 500, rule);
    expect(again).toEqual({ name: 'BLOCKED', until: 700, cooldown: 200 });
    const third = failed(claimed(again, 1, 700, receipt), true, 800, rule);
    expect(third).toEqual({ name: 'BLOCKED', until: 1_150, cooldown: 350 });
  });

  it('re-opens for the initial cooldown at least', () => {
    const short: Circuit = { ...(probing as Extract<Circuit, { name: 'PROBING' }>), cooldown: 1 };
    expect(failed(short, true, 500, rule)).toMatchObject({ cooldown: 100 });
  });

  it('is the one that its receipt claims, or any that shows none', () => {
    expect([receipt, {}, undefined].map((shown) => ownsProbe(probing, shown))).toEqual([true, false, true]);
  });

  it('goes back to where it was when the probe is withdrawn', () => {
    expect(withdrawn(probing)).toEqual({ name: 'BLOCKED', until: 100, cooldown: 100 });
  });

  it('gives a silent probe up once the timeout is over', () => {
    expect(circuitAt(probing, 1_099, rule)).toBe(probing);
    expect(circuitAt(probing, 1_100, rule)).toEqual({ name: 'BLOCKED', until: 100, cooldown: 100 });
  });
});
