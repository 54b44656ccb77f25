/** What the end of a call tells its accounts: one signal for one jam, to the account it is about, and until when it closes. */
import {
  AbstractAccount,
  CountingGate,
  ElasticWindow,
  TokenBucket,
  createAdmission,
  demand,
  type Admission,
  type Demand,
  type UpstreamFailure,
} from 'rx-admission';
import { outcome, outcomeOf, type FeedbackOptions } from 'rx-admission/llm';
import { Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../conformance/virtual-clock.js';

const log = { warn: () => undefined, info: () => undefined };
const tooFast = (retryAfter?: number): object => ({ status: 429, headers: retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) } });
const overloaded = (retryAfter?: number): object => ({ ...tooFast(retryAfter), status: 529 });

/** A gate that adapts, with a name that nobody knows beforehand. */
class Adaptive extends AbstractAccount {
  override readonly category = 'adaptive';
  readonly capacity = 99;
  readonly heard: UpstreamFailure[] = [];
  inUse(): number {
    return 0;
  }
  fits(): boolean {
    return true;
  }
  tryTake(): boolean {
    return true;
  }
  give(): void {
    // Nothing is counted.
  }
  earliestFit(_mine: readonly number[], _ahead: readonly number[], at: number): number {
    return at;
  }
  override onRateLimitError(failure: UpstreamFailure): void {
    this.heard.push(failure);
  }
}

class Scene {
  readonly clock = new VirtualClock(0);
  readonly admission: Admission = createAdmission({ scheduler: this.clock });
  readonly bucket = new TokenBucket({ name: 'gpt', tokensPerMinute: 60_000, scheduler: this.clock, log });
  readonly window = new ElasticWindow({ name: 'window', maxRequests: 99, baseWindow: 1_000, scheduler: this.clock, log });
  readonly gate = new CountingGate({ name: 'places', capacity: 99 });
  readonly adaptive = new Adaptive('adaptive');
  readonly #outcome: ReturnType<typeof outcomeOf>;

  constructor(options: FeedbackOptions = { jitter: 0 }) {
    this.#outcome = outcomeOf(options);
  }

  /** A call that has begun, and ends when it is told how. */
  begin(asked: Demand): { ends(): void; fails(error: unknown): void } {
    const work = new Subject<never>();
    this.admission.defer(asked, () => work, { outcome: this.#outcome }).subscribe({ error: () => undefined });
    return {
      ends: () => {
        work.complete();
      },
      fails: (error) => {
        work.error(error);
      },
    };
  }

  get throttles(): number[] {
    return [this.bucket.throttle, this.window.throttle];
  }
}

describe('a failure', () => {
  it('that means too fast is one increment on the bucket, and nothing else', () => {
    const scene = new Scene();
    scene.begin(demand(scene.gate, scene.window, [scene.bucket, 10])).fails(tooFast());
    expect([scene.throttles, scene.bucket.statusIndicator()]).toEqual([[0.5, 0], 'throttle:1.5x']);
  });

  it('of an overload is three on the window, and none on the bucket', () => {
    const scene = new Scene();
    scene.begin(demand(scene.gate, [scene.bucket, 10], scene.window)).fails(overloaded());
    expect(scene.throttles).toEqual([0, 3]);
  });

  it('of an overload is told to any account that learns and is no bucket', () => {
    const scene = new Scene();
    scene.begin(demand(scene.gate, [scene.bucket, 10], scene.adaptive)).fails(overloaded());
    expect([scene.throttles, scene.adaptive.heard.map(({ weight }) => weight)]).toEqual([[0, 0], [3]]);
  });

  it('of an overload falls back on the bucket, and too fast on a window, where the call names no other', () => {
    const scene = new Scene();
    scene.begin(demand(scene.gate, [scene.bucket, 10])).fails(overloaded());
    scene.begin(demand(scene.gate, scene.window)).fails(tooFast());
    expect(scene.throttles).toEqual([1.5, 1]);
  });

  it.each<[string, unknown]>([
    ['a quota that is used up', { status: 429, error: { code: 'insufficient_quota' } }],
    ['a wait that is too long', tooFast(61)],
    ['a server error', { status: 500, headers: { 'retry-after': '5' } }],
    ['a bug', new TypeError('x is not a function')],
  ])('says nothing of any account: %s', (_what, error) => {
    const scene = new Scene();
    scene.begin(demand([scene.bucket, 10], scene.window)).fails(error);
    expect([scene.throttles, scene.bucket.statusIndicator()]).toEqual([[0, 0], null]);
  });

  it('of a call whose accounts learn nothing is nobody\'s', () => {
    const scene = new Scene();
    scene.begin(demand(scene.gate)).fails(tooFast(1));
    scene.begin(demand(scene.gate)).fails(overloaded(1));
    expect(scene.throttles).toEqual([0, 0]);
  });

  it('is classified as it is told', () => {
    const scene = new Scene({ classify: { longestWait: 3_000 }, jitter: 0 });
    scene.begin(demand([scene.bucket, 10])).fails(tooFast(5));
    expect(scene.throttles).toEqual([0, 0]);
    scene.begin(demand([scene.bucket, 10])).fails(tooFast(3));
    expect([scene.throttles, scene.bucket.status().closedUntil]).toEqual([[0.5, 0], 3_000]);
  });
});

describe('one jam', () => {
  it('is one signal, however many calls run into it', () => {
    const scene = new Scene();
    const calls = Array.from({ length: 50 }, () => scene.begin(demand([scene.bucket, 10])));
    scene.clock.advanceTo(100);
    for (const call of calls.slice(0, 40)) call.fails(tooFast());
    scene.clock.advanceTo(200);
    for (const call of calls.slice(40)) call.fails(tooFast());
    expect(scene.bucket.throttle).toBe(0.5);
    // One that began later met a jam of its own.
    scene.begin(demand([scene.bucket, 10])).fails(tooFast());
    expect(scene.bucket.throttle).toBe(1);
  });

  it('makes successes that began before it say nothing, and later ones count', () => {
    const scene = new Scene();
    const asked = demand([scene.bucket, 10]);
    const early = Array.from({ length: 9 }, () => scene.begin(asked));
    scene.clock.advanceTo(100);
    scene.begin(asked).fails(tooFast());
    for (const call of early) call.ends();
    expect(scene.bucket.throttle).toBe(0.5);
    for (let n = 0; n < 3; n += 1) scene.begin(asked).ends();
    expect(scene.bucket.throttle).toBe(0.3);
  });

  it('of one account leaves another to learn from the same call', () => {
    const scene = new Scene();
    const both = demand([scene.bucket, 10], scene.window);
    const early = Array.from({ length: 4 }, () => scene.begin(both));
    scene.window.recordPressure();
    scene.clock.advanceTo(100);
    scene.begin(both).fails(tooFast());
    for (const call of early.slice(0, 3)) call.ends();
    expect(scene.window.throttle).toBe(0.8);
    early[3]?.fails(overloaded());
    expect(scene.window.throttle).toBe(3.8);
  });

  it('lets the success of a call count whose accounts learn nothing', () => {
    const scene = new Scene();
    scene.begin(demand(scene.gate)).ends();
    expect(scene.gate.inUse()).toBe(0);
  });
});

describe('a Retry-After', () => {
  it('closes the bucket until then, and some more at random', () => {
    for (const [options, until] of [
      [{ jitter: 0 }, 20_500],
      [{ random: () => 0.5 }, 21_500],
      [{ random: () => 0.25, jitter: 1 }, 25_500],
    ] as const) {
      const scene = new Scene(options);
      const call = scene.begin(demand([scene.bucket, 10]));
      scene.clock.advanceTo(500);
      call.fails(tooFast(20));
      expect([scene.bucket.status().closedUntil, scene.bucket.statusIndicator()]).toEqual([until, 'blocked']);
    }
  });

  it('is drawn from the default window where nothing is given', () => {
    const scene = new Scene({});
    scene.begin(demand([scene.bucket, 10])).fails(tooFast(20));
    const until = scene.bucket.status().closedUntil ?? 0;
    expect(until).toBeGreaterThanOrEqual(20_000);
    expect(until).toBeLessThanOrEqual(22_000);
  });

  it('lets those who wait in at the pace of the refill, and not as a herd', () => {
    const scene = new Scene();
    const asked = demand([scene.bucket, 1_000]);
    scene.begin(asked).fails(tooFast(20));
    const began: number[] = [];
    for (let n = 0; n < 4; n += 1) scene.admission.defer(asked, () => [began.push(scene.clock.now())]).subscribe();
    scene.clock.advanceTo(60_000);
    // 1.5 times slower than nominal for the 429, until the first three successes.
    expect(began).toEqual([21_500, 23_000, 24_500, 25_800]);
  });

  it('is heard also from a late call of a jam that is known, and never shortened', () => {
    const scene = new Scene();
    const calls = [20, 30, 10].map((seconds) => [scene.begin(demand([scene.bucket, 10])), seconds] as const);
    scene.clock.advanceTo(100);
    for (const [call, seconds] of calls) call.fails(tooFast(seconds));
    expect([scene.bucket.throttle, scene.bucket.status().closedUntil]).toEqual([0.5, 30_100]);
  });

  it('of an overload closes whichever account of the call can, and presses the one it is about', () => {
    const scene = new Scene();
    scene.begin(demand([scene.bucket, 10], scene.window)).fails(overloaded(7));
    expect([scene.throttles, scene.bucket.status().closedUntil]).toEqual([[0, 3], 7_000]);
    const without = new Scene();
    without.begin(demand(without.window)).fails(overloaded(7));
    expect(without.throttles).toEqual([0, 3]);
  });
});

describe('outcomeOf', () => {
  it.each([-1, NaN, Infinity])('refuses a jitter of %s', (jitter) => {
    expect(() => outcomeOf({ jitter })).toThrow(new RangeError(`jitter must be a share of the wait from zero up, not ${jitter}`));
  });

  it('plugs into run as it is', async () => {
    const scene = new Scene();
    const failing = scene.admission.run(demand([scene.bucket, 10], scene.window), () => Promise.reject(tooFast() as Error), { outcome });
    await expect(failing).rejects.toMatchObject({ status: 429 });
    await scene.admission.run(demand([scene.bucket, 10]), () => 'well', { outcome });
    expect(scene.throttles).toEqual([0.5, 0]);
  });
});
