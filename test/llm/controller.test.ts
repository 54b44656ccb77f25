/** The whole loop in virtual time: a provider whose real limit is half, then double, of what was configured. */
import { TokenBucket, createAdmission, demand } from 'rx-admission';
import { followLimits, outcomeOf, readRateLimits, retryUpstream } from 'rx-admission/llm';
import { defer, repeat, tap } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../conformance/virtual-clock.js';
import { SimulatedProvider, type SimulatedAnswer, type SimulatedOptions } from './simulated-provider.js';

const MINUTE = 60_000;
const CONFIGURED = 60_000;
/** Callers who always want another answer: far more than either limit serves. */
const CALLERS = 250;
const log = { warn: () => undefined, info: () => undefined };

/** Park and Miller's generator, in the plain form. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

class Loop {
  readonly clock = new VirtualClock(0);
  readonly provider: SimulatedProvider;
  readonly bucket: TokenBucket;

  constructor(seed: number, headroom: number, options: Omit<SimulatedOptions, 'scheduler'>) {
    const { clock } = this;
    const random = seeded(seed);
    this.provider = new SimulatedProvider({ scheduler: clock, ...options });
    this.bucket = new TokenBucket({ name: 'gpt', tokensPerMinute: CONFIGURED, headroom, scheduler: clock, log });
    const admission = createAdmission({ scheduler: clock });
    const outcome = outcomeOf({ random, classify: { now: () => clock.now() } });
    const follow = (answer: unknown, sentAt: number): void => {
      followLimits(this.bucket, readRateLimits((answer as SimulatedAnswer).headers), { sentAt, most: { tokensPerMinute: Infinity } });
    };
    for (let caller = 0; caller < CALLERS; caller += 1) {
      defer(() => {
        const tokens = 100 + Math.floor(random() * 400);
        return admission.defer(
          demand([this.bucket, tokens]),
          ({ grantedAt }) => {
            const heard = (answer: unknown): void => {
              follow(answer, grantedAt);
            };
            return this.provider.call(tokens).pipe(tap({ next: heard, error: heard }));
          },
          { outcome },
        );
      })
        .pipe(retryUpstream({ scheduler: clock, random }), repeat())
        .subscribe();
    }
  }

  /** What the provider accepts per minute, as a share of its real limit, once `settling` minutes have passed; and its 429s. */
  run(minutes: number, settling: number): { share: number; refused: number; refusedOnTheWay: number } {
    const { provider, clock } = this;
    const before = provider.refused;
    clock.advanceTo(clock.now() + settling * MINUTE);
    const refusedOnTheWay = provider.refused - before;
    const accepted = provider.accepted;
    clock.advanceTo(clock.now() + (minutes - settling) * MINUTE);
    const perMinute = (provider.accepted - accepted) / (minutes - settling);
    return { share: perMinute / provider.limit, refused: provider.refused - before - refusedOnTheWay, refusedOnTheWay };
  }
}

interface Figures {
  readonly share: number;
  readonly refused: number;
  readonly refusedOnTheWay: number;
}

function told(what: string, figures: Figures): Figures {
  const { share, refused, refusedOnTheWay } = figures;
  console.log(`${what}: ${(share * 100).toFixed(1)} % of the real limit; ${String(refusedOnTheWay)} 429s on the way, ${String(refused)} from then on`);
  return figures;
}

describe.each([1, 2, 3])('a provider whose real limit is not what was configured, seed %i', (seed) => {
  it('is used to within a tenth below it where answers state it, and refuses nothing once it has', () => {
    const loop = new Loop(seed, 0.05, { tokensPerMinute: CONFIGURED / 2, headers: 'openai' });
    const phases = [CONFIGURED / 2, CONFIGURED * 2, CONFIGURED / 2].map((limit) => {
      loop.provider.limit = limit;
      return told(`stated, ${String(limit / CONFIGURED)} of what was configured`, loop.run(10, 1));
    });
    for (const { share, refused } of phases) {
      expect(share).toBeGreaterThan(0.9);
      expect(share).toBeLessThanOrEqual(1);
      expect(refused).toBe(0);
    }
    // The first burst is of what was configured, and sent before any answer: what the real limit has not is refused, at 300
    // tokens a call. Later only what was on its way when the limit changed can be.
    const excess = (CONFIGURED * 0.95 - CONFIGURED / 2) / 300;
    expect(phases[0]?.refusedOnTheWay).toBeLessThan(1.25 * excess);
    expect(phases[1]?.refusedOnTheWay).toBe(0);
    expect(phases[2]?.refusedOnTheWay).toBeLessThanOrEqual(5);
  });

  // Without a word about the limit there is only the throttle. It finds the limit from above, by a 429 for every nine calls
  // or so, as half a step up for a jam and a fifth down for three successes make it; and it never goes beyond what was
  // configured. So it uses all of a limit that is lower, and no more of a higher one than was configured.
  it.each(['none', 'retry-after'] as const)('is used by the throttle alone where answers state nothing (headers: %s)', (headers) => {
    const loop = new Loop(seed, 0.05, { tokensPerMinute: CONFIGURED / 2, headers });
    const half = told(`headers ${headers}, 0.5 of what was configured`, loop.run(20, 10));
    const calls = half.share * 10 * (CONFIGURED / 2 / 300);
    expect(half.share).toBeGreaterThan(0.95);
    expect(half.refused / (calls + half.refused)).toBeLessThan(0.15);
    expect(half.refusedOnTheWay).toBeLessThan(250);
    loop.provider.limit = CONFIGURED * 2;
    const double = told(`headers ${headers}, 2 of what was configured`, loop.run(20, 10));
    expect(double.share).toBeCloseTo(0.95 / 2, 2);
    expect(double.refused + double.refusedOnTheWay).toBe(0);
  });
});
