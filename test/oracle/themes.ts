/** What a random trace is about: how often each kind of step comes. */
import type { Theme } from './accounts-of.js';
import type { Action } from '../conformance/steps.js';

export type Kind = Action['kind'] | 'burst' | 'flood' | 'cancelledBefore';
export type Weights = Partial<Record<Kind, number>>;

const USUAL: Weights = {
  arrive: 30,
  burst: 2,
  release: 14,
  rollback: 5,
  unsubscribe: 3,
  abortContext: 3,
  cancelledBefore: 0.3,
  heap: 3,
  '429': 7,
  success: 4,
  advisory: 1,
  backpressure: 1,
  setConfig: 3,
  set: 3,
  wake: 6,
  call: 2,
  stop: 0.3,
  advance: 5,
};

export const BY_THEME: Readonly<Record<Theme, Weights>> = {
  mixed: USUAL,
  line: { ...USUAL, arrive: 40, burst: 4, release: 25, unsubscribe: 6, abortContext: 6, heap: 0.5, call: 0.5 },
  // So many that the line is more than a few waiters wide, and half of them leave in any order.
  deep: {
    ...USUAL,
    arrive: 20,
    flood: 5,
    burst: 3,
    release: 30,
    unsubscribe: 22,
    abortContext: 8,
    heap: 0.3,
    set: 1,
    wake: 3,
    call: 0.5,
    stop: 0.1,
  },
  memory: { ...USUAL, heap: 22, release: 16, call: 6, advance: 8, wake: 4 },
  bucket: { ...USUAL, setConfig: 8, '429': 8, success: 8, backpressure: 3, rollback: 8 },
  window: { ...USUAL, '429': 16, success: 10, advisory: 3, rollback: 9, advance: 8 },
  doubles: { ...USUAL, set: 14, wake: 12 },
  calls: { ...USUAL, call: 40 },
};

export const THEMES: readonly Theme[] = [
  'mixed',
  'mixed',
  'line',
  'deep',
  'memory',
  'memory',
  'bucket',
  'window',
  'window',
  'doubles',
  'calls',
];

export const HEAPS = [
  0.3, 0.5, 0.7, 0.79, 0.8, 0.81, 0.82, 0.85, 0.88, 0.89, 0.899, 0.9, 0.901, 0.92, 0.94, 0.949, 0.95, 0.96, 0.99,
];
