/**
 * How much headroom buys silence: our bucket and the provider's, with calls of jittered latency in between.
 *
 * Ours lets in at most (1 - h)(B + r L) in any stretch of length L. What the provider sees arrive in such a stretch was
 * let in during L + J, where J is the jitter, so that (1 - h)(B + r (L + J)) <= B + r L is enough. The worst is L = 0,
 * and with a minute's worth for B it asks for J <= h / (1 - h) minutes.
 */
import { TokenBucket } from 'rx-admission';
import { describe, expect, it } from 'vitest';
import { makeCalls, seeded } from '../../examples/provider/calls.js';
import { Quota } from '../../examples/provider/quota.js';
import { jitterCovered } from '../../examples/start/report.js';

const limits = { tokensPerMinute: 600_000, requestsPerMinute: 6_000, concurrency: Infinity };

/** The provider's refusals when each call is sent the moment our bucket lets it go, and arrives `latency` later. */
function refusals(headroom: number, calls: readonly { tokens: number }[], latency: (sentAt: number) => number): number {
  const bucket = new TokenBucket({ name: 'gpt-5', ...limits, headroom });
  let now = 0;
  const arrivals = calls.map(({ tokens }) => {
    now = bucket.earliestFit([tokens], [], now) ?? NaN;
    expect(bucket.tryTake([tokens], [], now)).toBe(true);
    return { tokens, at: now + latency(now) };
  });
  const quota = new Quota(limits);
  arrivals.sort((a, b) => a.at - b.at);
  return arrivals.filter(({ tokens, at }) => quota.arrive(tokens, at) !== null).length;
}

const seeds = Array.from({ length: 10 }, (_, seed) => seed);

/** The first calls open their connections, and take 50 ms more. */
const warmingUp = (seed: number): ((sentAt: number) => number) => {
  const random = seeded(seed);
  return (sentAt) => (sentAt === 0 ? 55 : 5) + random() * 100;
};

describe('the headroom of the demonstration', () => {
  it.each(seeds)('of none refuses calls that arrive faster than the first ones did (seed %d)', (seed) => {
    expect(refusals(0, makeCalls(400, seed), warmingUp(seed))).toBeGreaterThan(0);
  });

  it.each(seeds)('of a quarter of a percent covers the 150 ms of jitter on loopback (seed %d)', (seed) => {
    expect(jitterCovered(0.0025)).toBeGreaterThan(150);
    expect(refusals(0.0025, makeCalls(400, seed), warmingUp(seed))).toBe(0);
  });

  it.each(seeds)('of 5 %% covers latencies that differ by up to 3.1 s (seed %d)', (seed) => {
    const random = seeded(seed);
    expect(jitterCovered(0.05)).toBeCloseTo(3_158, 0);
    expect(refusals(0.05, makeCalls(400, seed), () => random() * jitterCovered(0.05))).toBe(0);
  });

  it('is no larger than the worst case needs', () => {
    const small = Array.from({ length: 8_000 }, () => ({ tokens: 50 }));
    const late = (jitter: number) => (sentAt: number) => (sentAt < jitter ? jitter - sentAt : 0);
    expect(refusals(0.05, small, late(jitterCovered(0.05)))).toBe(0);
    expect(refusals(0.05, small, late(jitterCovered(0.05) + 50))).toBeGreaterThan(0);
  });
});
