/** The runner is strict: what it does not understand, and what does not hold, fails and is named. */
import { describe, expect, it, vi } from 'vitest';
import { judge } from './run-scenario.js';

const base = {
  id: 'one-gate',
  title: 'a held job follows the release',
  given: { accounts: { slot: 'gate capacity 1', w: 'elastic window base 1000ms max 1' }, clock: 0, heap: 0.5 },
  steps: [
    { t: 0, arrive: 'H', need: { slot: 1 } },
    { t: 1, arrive: 'A', need: { slot: 1 } },
    { t: 5, release: 'H' },
    { t: 9, call: 'w.fits', mine: 1 },
  ],
  expect: {
    grantedAt: { H: 0, A: 5 } as Record<string, unknown>,
    stillParked: [] as unknown,
    checks: [
      { t: 3, after: 2, queueSize: 1, 'slot.inUse': 1 },
      { t: 9, after: 4, 'w.fits(1)': true },
      { job: 'A', wallWaitMs: 4, waitTimesMs: { slot: 4 } },
    ] as Record<string, unknown>[],
  },
};

type Base = typeof base;

function complaints(change: (scenario: Base) => object): string {
  const { verdict, complaints: lines } = judge({ value: change(structuredClone(base)) });
  return verdict === 'failed' ? lines.join('\n') : verdict;
}

const withStep = (step: object) => (scenario: Base) => ({ ...scenario, steps: [...scenario.steps, step] });
const withExpect = (more: object) => (scenario: Base) => ({ ...scenario, expect: { ...scenario.expect, ...more } });
const withCheck = (check: Record<string, unknown>) => (scenario: Base) => withExpect({ checks: [check] })(scenario);
const withGiven = (more: object) => (scenario: Base) => ({ ...scenario, given: { ...scenario.given, ...more } });

describe('a scenario that is understood and holds', () => {
  it('passes', () => {
    expect(complaints((scenario) => scenario)).toBe('passed');
  });

  it('is skipped, not passed, when it is manual', () => {
    expect(complaints((scenario) => ({ ...scenario, manual: true }))).toBe('skipped');
  });
});

describe('what is not understood fails with the key named', () => {
  it.each<[string, (scenario: Base) => object, string]>([
    ['a key of the scenario', (scenario) => ({ ...scenario, steqs: [] }), '"steqs"'],
    ['a key of a manual scenario', (scenario) => ({ ...scenario, manual: true, steqs: [] }), '"steqs"'],
    ['a key of given', withGiven({ heep: 1 }), '"heep"'],
    ['a kind of account', withGiven({ accounts: { slot: 'gate capacity one' } }), 'gate capacity one'],
    ['an option of a window', withGiven({ accounts: { w: 'elastic window base 1ms max 1 (cooldown 5ms)' } }), 'cooldown 5ms'],
    ['a mode of a double', withGiven({ accounts: { x: 'scripted double, mode shy' } }), '"shy"'],
    ['a step', withStep({ t: 9, jump: 'A' }), '"jump"'],
    ['a key of a step', withStep({ t: 9, release: 'A', twice: true }), '"twice"'],
    ['a step that does two things', withStep({ t: 9, release: 'A', wake: 'slot' }), 'both release and wake'],
    ['a step back in time', withStep({ t: 8, release: 'A' }), 'before 9'],
    ['a job that never arrived', withStep({ t: 9, release: 'B' }), '"B"'],
    ['a job that arrives twice', withStep({ t: 9, arrive: 'A', need: {} }), 'arrives twice'],
    ['a count that is not the range', withStep({ t: 9, arrive: 'J1..J3', need: {}, count: 2 }), '3 arrive'],
    ['an account that is not there', withStep({ t: 9, wake: 'slat' }), '"slat"'],
    ['a signal that an account cannot take', withStep({ t: 9, advisory: 'slot' }), 'a gate cannot do that'],
    ['a call that no account answers', withStep({ t: 9, call: 'slot.peek', mine: 1 }), 'slot.peek'],
    ['a key of expect', withExpect({ grantedAll: true }), '"grantedAll"'],
    ['events of an account that is not there', withExpect({ eventsOn_slat: [] }), 'eventsOn_slat'],
    ['a line that is no event', withExpect({ events: ['0 HELD slot'] }), '0 HELD slot'],
    ['a type of event', withExpect({ events: ['0 HOLD slot A waiters=1 amount=1'] }), '"HOLD"'],
    ['a key of a failure', withExpect({ failed: { A: { at: 1, kind: 'Refused', why: 'no' } } }), '"why"'],
    ['a check that asks nothing', withCheck({ t: 9, after: 4 }), 'asks nothing'],
    ['a check before its step', withCheck({ t: 8, after: 4, queueSize: 0 }), 'not between'],
    ['a check behind the next step', withCheck({ t: 6, after: 2, queueSize: 0 }), 'not between'],
    ['a check after more steps than there are', withCheck({ t: 9, after: 5, queueSize: 0 }), 'there are 4 steps'],
    ['an answer to a call that its step did not make', withCheck({ t: 9, after: 4, 'w.fits(2)': true }), 'w.fits(2)'],
    ['a property that nothing has', withCheck({ t: 9, after: 4, 'slot.tokens': 1 }), '"tokens"'],
    ['a bare property that memory does not have', withCheck({ t: 9, after: 4, queueLength: 0 }), '"queueLength"'],
  ])('%s', (_, change, named) => {
    const said = complaints(change);
    expect(said).toContain(named);
  });

  it('expectations that assert nothing', () => {
    expect(complaints((scenario) => ({ ...scenario, expect: { facts: ['all is well'] } }))).toContain('nothing that can be asserted');
  });
});

describe('what does not hold fails with both sides', () => {
  it.each<[string, (scenario: Base) => object, string]>([
    ['a grant a millisecond off', withExpect({ grantedAt: { H: 0, A: 6 } }), 'grantedAt A: expected 6, got 5'],
    ['a grant that is not named', withExpect({ grantedAt: { H: 0 } }), 'grantedAt A: expected nothing, got 5'],
    ['a grant that never came', withExpect({ grantedAt: { H: 0, A: 5, B: 1 } }), 'grantedAt B: expected 1, got nothing'],
    ['a job that does not wait', withExpect({ stillParked: ['A'] }), 'stillParked: expected ["A"], got []'],
    ['a count of jobs that wait', withExpect({ stillParked: { count: 1, first: 'A', last: 'A' } }), 'stillParked'],
    ['a failure that did not come', withExpect({ failed: { A: { at: 1, kind: 'Refused' } } }), 'got no failure'],
    ['a missing event', withExpect({ eventsOn_slot: [] }), 'expected no further event, got 0 GRANTED_IMMEDIATE slot H'],
    ['an event too many', withExpect({ eventsOn_memory: ['0 HELD memory A waiters=1 amount=1'] }), 'got no further event'],
    ['a number in a check', withCheck({ t: 3, after: 2, queueSize: 2 }), 'asked at 3 after step 2: queueSize: expected 2, got 1'],
    ['null where there is a number', withCheck({ t: 3, after: 2, queueSize: null }), 'expected null, got 1'],
    ['the answer of a call', withCheck({ t: 9, after: 4, 'w.fits(1)': 'Refused: no' }), 'got true'],
    ['a wait that is not named', withCheck({ job: 'A', waitTimesMs: {} }), 'got {"slot":4}'],
    ['a failure that nobody expects', withStep({ t: 9, arrive: 'B', need: { slot: 2 } }), 'failed B: expected nothing'],
    ['a hook that is still there', withCheck({ t: 3, after: 2, 'wake slot of slot': null }), 'wake slot of slot: expected null'],
  ])('%s', (_, change, named) => {
    const said = complaints(change);
    expect(said).toContain(named);
  });
});

describe('conventions', () => {
  it('fires deadlines at or before a step at their own instant, before the step', () => {
    const scenario = {
      id: 'deadlines',
      given: { accounts: { w: 'elastic window base 100ms max 1' } },
      steps: [
        { t: 0, arrive: 'A', need: { w: 1 } },
        { t: 1, arrive: 'B', need: { w: 1 } },
        { t: 2, arrive: 'D', need: { w: 1 } },
        { t: 200, unsubscribe: 'D' },
      ],
      expect: { grantedAt: { A: 0, B: 100, D: 200 }, stillParked: [] },
    };
    expect(judge({ value: scenario }).complaints).toEqual([]);
  });

  it('lets the clock run on to a check, past the last step', () => {
    const scenario = {
      id: 'later',
      given: { accounts: { w: 'elastic window base 100ms max 1' } },
      steps: [{ t: 0, arrive: 'J1..J3', need: { w: 1 }, count: 3 }],
      expect: {
        grantedAt: { J1: 0, J2: 100 },
        stillParked: ['J3'],
        checks: [
          { t: 0, after: 0, queueSize: 0 },
          { t: 100, after: 1, nextDeadline: 200 },
        ],
      },
    };
    expect(judge({ value: scenario }).complaints).toEqual([]);
  });

  it('counts the questions put to an account, its takes and its announcements', () => {
    const scenario = {
      id: 'counts',
      given: { accounts: { g: 'gate capacity 1', x: 'scripted double, mode short' } },
      steps: [
        { t: 0, arrive: 'O', need: {} },
        { t: 1, arrive: 'A', need: { x: 1 } },
        { t: 2, set: 'x', mode: 'fits', giveThrows: false },
        { t: 3, wake: 'x' },
        { t: 4, heap: 0.5, look: true },
      ],
      expect: {
        grantedAt: { O: 0, A: 3 },
        stillParked: [],
        checks: [
          { t: 0, after: 1, 'questions put to memory': 0, 'questions put to x': 0 },
          { t: 3, after: 4, 'x.takes': 1, 'x.wakes': 1, 'g.wakes': 0, 'questions put to g': 0 },
        ],
      },
    };
    expect(judge({ value: scenario }).complaints).toEqual([]);
  });

  it('expects the log to tell of a defect, once, and of nothing else', () => {
    const scenario = (steps: object[], failed: object) => ({
      id: 'defect',
      given: {
        accounts: { first: 'scripted double, mode fits, give throws', x: 'scripted double, mode takeFails' },
      },
      steps: [{ t: 0, arrive: 'A', need: { first: 1, x: 1 } }, ...steps],
      expect: { failed: { A: { at: 0, kind: 'Refused', reason: 'aborted', ...failed } } },
    });
    const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const late = { t: 1, arrive: 'B', need: {} };
    expect(judge({ value: scenario([], { detail: 'defect: first cannot give back' }) }).complaints).toEqual([]);
    expect(judge({ value: scenario([late], { detail: 'defect: first cannot give back' }) }).complaints[0]).toContain('failed B');
    expect(judge({ value: scenario([], { detail: 'cause: first cannot give back' }) }).complaints[0]).toContain('log of defects');
    expect(logged).not.toHaveBeenCalled();
    logged.mockRestore();
  });

  it('weighs backpressure, refunds bugs to nobody and takes a context that was cancelled before', () => {
    const scenario = {
      id: 'rest',
      given: { accounts: { m: 'token bucket rpm 60 tpm 6000 (full)', first: 'scripted double, mode fits, give throws' } },
      steps: [
        { t: 0, backpressure: 'm', increments: 3, times: 2 },
        { t: 0, abortContext: 'A' },
        { t: 1, arrive: 'A', need: { m: [100] } },
        { t: 1, arrive: 'B', need: { first: 1, m: '2 amounts of 50' } },
        { t: 2, release: 'B' },
        { t: 3, arrive: 'D', need: { m: 2 } },
        { t: 3, arrive: 'E', need: { m: [7000] } },
      ],
      expect: {
        grantedAt: { B: 1, D: 3 },
        stillParked: [],
        failed: {
          A: { at: 1, kind: 'Cancelled' },
          E: { at: 3, kind: 'Refused', reason: 'circuit_blocked', detail: 'm: 7000 tokens exceed 6000' },
        },
        checks: [{ t: 0, after: 1, throttle: 3, 'm.indicator': 'throttle:4.0x' }],
      },
    };
    expect(judge({ value: scenario }).complaints).toEqual([]);
  });
});
