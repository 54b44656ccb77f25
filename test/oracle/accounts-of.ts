/** Random accounts for a trace: small numbers, so that limits are met all the time. */
import type { Random } from './random.js';
import type { AccountSpec, Mode } from '../conformance/given.js';

export type Theme = 'mixed' | 'line' | 'deep' | 'memory' | 'bucket' | 'window' | 'doubles' | 'calls';

export const MODES: readonly Mode[] = [
  'fits',
  'short',
  'takeFails',
  'refuse',
  'broken',
  'takeBroken',
  'deadlineBroken',
];

/** How many of a kind there are at most. */
const MOST: Readonly<Record<Theme, { gates: number; buckets: number; windows: number; doubles: number }>> = {
  mixed: { gates: 3, buckets: 2, windows: 1, doubles: 2 },
  deep: { gates: 2, buckets: 1, windows: 1, doubles: 1 },
  line: { gates: 3, buckets: 1, windows: 0, doubles: 0 },
  memory: { gates: 2, buckets: 1, windows: 1, doubles: 1 },
  bucket: { gates: 1, buckets: 3, windows: 0, doubles: 1 },
  window: { gates: 1, buckets: 0, windows: 2, doubles: 1 },
  doubles: { gates: 2, buckets: 1, windows: 1, doubles: 3 },
  calls: { gates: 2, buckets: 2, windows: 1, doubles: 1 },
};

export function randomAccounts(random: Random, theme: Theme): ReadonlyMap<string, AccountSpec> {
  const most = MOST[theme];
  const accounts = new Map<string, AccountSpec>();
  for (let n = random.whole(most.gates > 1 ? 1 : 0, most.gates), i = 0; i < n; i += 1) {
    accounts.set(`g${i}`, {
      kind: 'gate',
      capacity: random.of(theme === 'deep' ? [5, 20, 100] : [1, 1, 2, 2, 3, 5, 8, 20]),
    });
  }
  for (let n = random.whole(theme === 'bucket' ? 1 : 0, most.buckets), i = 0; i < n; i += 1)
    accounts.set(`m${i}`, bucket(random));
  for (let n = random.whole(theme === 'window' ? 1 : 0, most.windows), i = 0; i < n; i += 1) {
    accounts.set(i === 0 ? 'w' : `w${i}`, window(random));
  }
  for (let n = random.whole(theme === 'doubles' ? 1 : 0, most.doubles), i = 0; i < n; i += 1) {
    accounts.set(['x', 'y', 'z'][i] ?? `d${i}`, double(random, theme));
  }
  if (accounts.size === 0) accounts.set('g0', { kind: 'gate', capacity: 2 });
  return accounts;
}

function bucket(random: Random): AccountSpec {
  const tokens = random.of([600, 1000, 6000, 6000, 30_000, 60_000, 7777, 61_003, 1_000_000, 15_000_000]);
  return { kind: 'bucket', requests: random.of([2, 6, 7, 60, 600, 6000, 60_000]), tokens };
}

function window(random: Random): AccountSpec {
  const spec = {
    kind: 'window' as const,
    baseWindow: random.of([50, 100, 333, 500, 1000, 60_000]),
    maxRequests: random.whole(1, 5),
  };
  if (random.chance(0.2)) return spec;
  const initialCooldown = random.of([20, 100, 500]);
  const maxCooldown = initialCooldown * random.of([1, 2, 10]);
  if (random.chance(0.2)) return { ...spec, initialCooldown, maxCooldown };
  return { ...spec, initialCooldown, maxCooldown, probeTimeout: random.of([50, 200, 5000]) };
}

function double(random: Random, theme: Theme): AccountSpec {
  const mode = random.chance(0.75) ? random.of(['fits', 'short', 'takeFails'] as const) : random.of(MODES);
  return { kind: 'double', mode, giveThrows: random.chance(theme === 'doubles' ? 0.1 : 0.01) };
}
