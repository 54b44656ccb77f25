/** The limit algorithms by themselves: pure functions of what they know and what they are told. */
import { aimd, gradient2, vegas, type Limit, type LimitSample, type LimitState } from 'rx-admission/bulkhead';
import { describe, expect, it } from 'vitest';

const dropped: LimitSample = { kind: 'dropped', inFlight: 10 };
const latency = (ms: number, isAppLimited = false): LimitSample => ({ kind: 'latency', latency: ms, count: 10, inFlight: 10, isAppLimited });

/** The states that follow each other. */
function told(limit: Limit, start: number, samples: readonly LimitSample[]): LimitState[] {
  const states = [limit.start(start)];
  for (const sample of samples) states.push(limit.next(states.at(-1)!, sample));
  return states;
}
const limits = (states: readonly LimitState[]): number[] => states.map((state) => Number(state.limit.toFixed(3)));
const holds = (states: readonly LimitState[]): (number | undefined)[] => states.map((state) => state.hold);
/** A first window, and a probe that finds no queue. */
const settled = (ms: number): LimitSample[] => [ms, ms, ms].map((each) => latency(each));

describe('aimd', () => {
  it('adds a permit for a window that went well, and keeps nine tenths under pressure', () => {
    expect(limits(told(aimd(), 20, [latency(100), latency(9_000), dropped]))).toEqual([20, 21, 22, 19.8]);
  });

  it('comes down by a permit at least', () => {
    expect(limits(told(aimd(), 4, [dropped, dropped]))).toEqual([4, 3, 2]);
  });

  it('takes slowness for pressure where it is told how slow', () => {
    const limit = aimd({ maxLatency: 200, backoff: 0.5, increase: 2 });
    expect(limits(told(limit, 20, [latency(200), latency(201)]))).toEqual([20, 22, 11]);
  });

  it('learns nothing from a window without demand, unless it was slow', () => {
    expect(limits(told(aimd({ maxLatency: 200 }), 20, [latency(100, true), latency(300, true)]))).toEqual([20, 20, 18]);
  });
});

describe('vegas', () => {
  it('measures without load first, by halves, until half the load makes no difference', () => {
    const states = told(vegas(), 80, [400, 200, 100, 98, 200].map((ms) => latency(ms)));
    expect(holds(states)).toEqual([undefined, 40, 20, 10, undefined, undefined]);
    // 98 ms without load: half of 80 are no queue, so 39 and alpha remain, but never less than half.
    expect(limits(states)).toEqual([80, 80, 80, 80, 80, 42.2]);
  });

  it('cannot halve a single permit', () => {
    expect(holds(told(vegas(), 2, [latency(100), latency(50), latency(20)]))).toEqual([undefined, 1, undefined, undefined]);
  });

  it.each([
    ['up by beta while nothing queues', 100, 26],
    ['up by a step while fewer than alpha queue', 110, 21],
    ['nowhere between alpha and beta', 125, 20],
    ['down by a step above beta', 150, 19],
    ['straight to what is served and alpha, far above', 300, 10],
  ])('goes %s', (_title, ms, after) => {
    expect(told(vegas(), 20, [...settled(100), latency(ms)]).at(-1)?.limit).toBe(after);
  });

  it('takes steps and queues that grow with the decades of the limit', () => {
    expect(told(vegas(), 200, [...settled(100), latency(100)]).at(-1)?.limit).toBe(212);
    expect(told(vegas(), 200, [...settled(100), dropped]).at(-1)?.limit).toBe(198);
  });

  it('takes the queues that it is given', () => {
    const at = (options: object, ms: number): number | undefined => told(vegas(options), 100, [...settled(100), latency(ms)]).at(-1)?.limit;
    expect(at({ alpha: 10 }, 100)).toBe(120);
    expect(at({ alpha: 10, beta: 12 }, 100)).toBe(112);
    expect(at({ beta: 15 }, 111.2)).toBe(100);
  });

  it('learns of a faster server at once, and of a slower one by a probe', () => {
    const limit = vegas({ probeEvery: 3 });
    const faster = told(limit, 20, [...settled(100), latency(50)]);
    expect(faster.at(-1)?.limit).toBe(26);
    const slower = told(limit, 20, [...settled(100), ...[130, 130, 130, 130, 130, 130].map((ms) => latency(ms))]);
    expect(holds(slower.slice(4))).toEqual([undefined, undefined, 10, 5, undefined, undefined]);
    expect(slower.at(-1)?.limit).toBe(26);
  });

  it('probes once and no more where it is told so', () => {
    const states = told(vegas({ probeEvery: Infinity }), 20, [...settled(100), ...Array.from({ length: 200 }, () => latency(125))]);
    expect(holds(states).filter((hold) => hold !== undefined)).toEqual([10, 5]);
  });

  it('gives a probe up under pressure and without demand, and begins it anew with the next window', () => {
    for (const interruption of [dropped, latency(90, true)]) {
      expect(holds(told(vegas(), 20, [latency(100), interruption, latency(100)])).slice(1)).toEqual([10, undefined, expect.any(Number)]);
    }
  });

  it('finds the least latency in a window without demand, and moves nothing', () => {
    const states = told(vegas(), 20, [...settled(100), latency(80, true), latency(100)]);
    // 80 ms of 100 are no waiting: 4 of 20 queue, which is between alpha and beta.
    expect(limits(states.slice(-2))).toEqual([20, 20]);
  });
});

describe('gradient2', () => {
  it('adds its queue size while the latency is within its tolerance', () => {
    expect(limits(told(gradient2(), 20, [...settled(100), latency(150)])).at(-1)).toBe(20.8);
  });

  it('comes down with the gradient, and by half of a limit at most, both smoothed', () => {
    const at = (ms: number): number | undefined => limits(told(gradient2({ tolerance: 1 }), 100, [...settled(100), latency(ms)])).at(-1);
    // The long average follows by 2 of 601 parts.
    expect(at(125)).toBe(96.813);
    expect(at(1_000)).toBe(90.8);
  });

  it('takes pressure for the lowest gradient', () => {
    expect(limits(told(gradient2(), 100, [dropped]))).toEqual([100, 90]);
    expect(limits(told(gradient2({ smoothing: 0.5 }), 100, [dropped]))).toEqual([100, 75]);
  });

  it('forgets a long average that is far above what it measures', () => {
    const slowThenFast = [...settled(1_000), ...Array.from({ length: 30 }, () => latency(100)), latency(190)];
    const limit = gradient2({ tolerance: 1, probeEvery: Infinity });
    // Down to about twice what is measured in a few windows: 190 ms are no queue for it.
    expect(limits(told(limit, 20, slowThenFast)).at(-1)).toBeGreaterThan(20 + 30 * 0.8);
    expect(limits(told(limit, 20, [...slowThenFast, latency(500)])).at(-1)).toBeLessThan(limits(told(limit, 20, slowThenFast)).at(-1)!);
  });

  it('averages what it measures without demand, and moves nothing', () => {
    const states = told(gradient2({ tolerance: 1, longWindow: 1 }), 20, [...settled(100), latency(300, true), latency(300)]);
    expect(limits(states.slice(-3))).toEqual([20, 20, 20.8]);
  });

  it('measures without load first, and again after so many windows', () => {
    const states = told(gradient2({ probeEvery: 2 }), 20, [...settled(100), ...[100, 100, 100, 100].map((ms) => latency(ms))]);
    expect(holds(states)).toEqual([undefined, 10, 5, undefined, undefined, 10.4, 5.2, undefined]);
  });
});

describe('options of limits', () => {
  it.each([
    [() => aimd({ backoff: 1 }), 'aimd: backoff must be a number between 0 and 1, not 1'],
    [() => aimd({ increase: 0 }), 'aimd: increase must be a number above 0, not 0'],
    [() => aimd({ maxLatency: NaN }), 'aimd: maxLatency must be a number above 0, not NaN'],
    [() => vegas({ alpha: 0 }), 'vegas: alpha must be a number above 0, not 0'],
    [() => vegas({ alpha: 4, beta: 4 }), 'vegas: beta must be a number above 4, not 4'],
    [() => vegas({ probeEvery: 1 }), 'vegas: probeEvery must be a number above 1, not 1'],
    [() => gradient2({ tolerance: 0.9 }), 'gradient2: tolerance must be a number from 1 up, not 0.9'],
    [() => gradient2({ smoothing: '0.2' as unknown as number }), 'gradient2: smoothing must be a number between 0 and 1, not "0.2"'],
  ])('are refused out of bounds: %#', (make, message) => {
    expect(make).toThrow(RangeError);
    expect(make).toThrow(message);
  });
});
