/** The whole loop through the fetch that admits: callers who ask again at once, and a provider half and twice as large as thought. */
import { TokenBucket, createAdmission } from 'rx-admission';
import { admittedFetch, type Fetch } from 'rx-admission/llm';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../conformance/virtual-clock.js';
import { SimulatedProvider } from '../simulated-provider.js';

const MINUTE = 60_000;
const CONFIGURED = 60_000;
const CALLERS = 250;
const log = { warn: () => undefined, info: () => undefined };

/** Virtual time that lets promises settle at each instant at which something happens. */
class PromisingClock extends VirtualClock {
  async settleTo(end: number): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const next = this.actions[0]?.delay ?? Infinity;
      if (next > end) break;
      this.advanceTo(next);
    }
    this.advanceTo(end);
  }
}

/** The provider as a fetch: what it reserves is the call's `max_tokens`. */
const served = (provider: SimulatedProvider): Fetch => (_input, init) =>
  new Promise((resolve) => {
    const { max_tokens: tokens } = JSON.parse(init?.body as string) as { max_tokens: number };
    const answer = (status: number, headers: Readonly<Record<string, string>>, body: object): void => {
      resolve(new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } }));
    };
    provider.call(tokens).subscribe({
      next: ({ headers }) => { answer(200, headers, { usage: { prompt_tokens: 20, completion_tokens: 50 } }); },
      error: (refusal: unknown) => {
        const { status, headers, message } = refusal as { status: number; headers: Record<string, string>; message: string };
        answer(status, headers, { error: { type: 'tokens', code: 'rate_limit_exceeded', message } });
      },
    });
  });

describe('admittedFetch, under more calls than are served', () => {
  it('uses what the provider really allows to within a tenth, and is refused nothing but of the first burst', async () => {
    const clock = new PromisingClock(0);
    const provider = new SimulatedProvider({ tokensPerMinute: CONFIGURED / 2, scheduler: clock, headers: 'openai' });
    const gpt = new TokenBucket({ name: 'gpt', tokensPerMinute: CONFIGURED, headroom: 0.05, scheduler: clock, log });
    const admission = createAdmission({ scheduler: clock });
    const fetch = admittedFetch(admission, { tokens: gpt, follow: true, maxHold: Infinity, fetch: served(provider), random: () => 0.5, log });
    const statuses = new Set<number>();
    let isOver = false;
    let asked = 0;
    const caller = async (): Promise<void> => {
      while (!isOver) {
        asked += 1;
        const body = JSON.stringify({ model: 'gpt', messages: [], max_tokens: 100 + ((asked * 37) % 400) });
        const response = await fetch('http://provider.invalid/v1/chat/completions', { method: 'POST', body });
        await response.text();
        statuses.add(response.status);
      }
    };
    const callers = Array.from({ length: CALLERS }, caller);
    for (const limit of [CONFIGURED / 2, CONFIGURED * 2]) {
      provider.limit = limit;
      const before = provider.refused;
      await clock.settleTo(clock.now() + MINUTE);
      const [refusedOnTheWay, refused, accepted] = [provider.refused - before, provider.refused, provider.accepted];
      await clock.settleTo(clock.now() + 3 * MINUTE);
      const share = (provider.accepted - accepted) / 3 / limit;
      console.log(`fetch, ${String(limit / CONFIGURED)} of what was configured: ${(share * 100).toFixed(1)} % of the real limit; ${String(refusedOnTheWay)} 429s on the way, ${String(provider.refused - refused)} from then on`);
      expect(share).toBeGreaterThan(0.9);
      expect(share).toBeLessThanOrEqual(1);
      expect(provider.refused).toBe(refused);
      // The first burst is of what was configured, before any answer; at 300 tokens a call.
      expect(refusedOnTheWay).toBeLessThan(limit < CONFIGURED ? (1.25 * CONFIGURED * 0.45) / 300 : 1);
    }
    expect(statuses).toEqual(new Set([200, 429]));
    isOver = true;
    admission.stop();
    await clock.settleTo(clock.now() + MINUTE);
    await Promise.all(callers);
    expect([admission.status().grants, admission.queueSize]).toEqual([[], 0]);
  });
});
