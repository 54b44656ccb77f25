/** One trace with thousands of waiters: several shapes of demand behind a head that is stuck, then a cascade of releases. */
import type { Trace } from './trace.js';
import type { Amounts } from '../conformance/amounts.js';
import type { Step } from '../conformance/steps.js';

export function deepLine(waiters: number): Trace {
  const arrive = (t: number, prefix: string, count: number, need: Record<string, Amounts>): Step => {
    const jobs = Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`);
    return { t, kind: 'arrive', jobs, need: new Map(Object.entries(need)) };
  };
  const shapes: readonly Record<string, Amounts>[] = [
    { g: { units: 1 } },
    { g: { units: 2 }, m: { list: [100] } },
    { m: { list: [250, 50] } },
    { w: { units: 1 }, g: { units: 3 } },
  ];
  const each = Math.floor(waiters / shapes.length);
  const steps: Step[] = [
    arrive(0, 'H', 5, { g: { units: 2 }, stuck: { units: 1 } }),
    ...shapes.map((need, index) => arrive(index + 1, `S${index}x`, each, need)),
    ...['H1', 'H2', 'S0x1', 'S0x2'].map((job, index): Step => ({ t: 10 + index, kind: 'release', job })),
    { t: 20, kind: 'unsubscribe', job: 'H3' },
    { t: 21, kind: 'abortContext', job: `S2x${each}` },
    { t: 30, kind: '429', account: 'w', times: 2 },
    { t: 3000, kind: 'advance' },
    { t: 3000, kind: 'setConfig', account: 'm', requests: 600, tokens: 299 },
    { t: 3001, kind: 'release', job: 'S0x3' },
    { t: 4000, kind: 'stop', what: 'admission' },
  ];
  const askings = [4, 8, 11, 13, 14, 15].map((after) => ({
    after,
    t: steps[after - 1]?.t ?? 0,
    keys: ['queueSize', 'nextDeadline'],
  }));
  return {
    id: `deep-line-${waiters}`,
    given: {
      accounts: new Map([
        ['g', { kind: 'gate', capacity: 8 }],
        ['stuck', { kind: 'gate', capacity: 1 }],
        ['m', { kind: 'bucket', requests: 600, tokens: 6000 }],
        ['w', { kind: 'window', baseWindow: 1000, maxRequests: 3 }],
      ]),
      clock: 0,
      heap: 0.5,
      firstLooks: [],
      heldOnMemory: null,
    },
    steps,
    askings,
    moves: [],
  };
}
