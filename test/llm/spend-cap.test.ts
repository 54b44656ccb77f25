/** A cap on money: who is refused, with which numbers, and what a call costs in the end. */
import fc from 'fast-check';
import { CountingGate, RefusedError, createAdmission } from 'rx-admission';
import { admittedFetch, spendCap, type Price } from 'rx-admission/llm';
import { VirtualTimeScheduler } from 'rxjs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { answerChat, refuse, startModelServer, USAGE, type Asked, type ModelServer } from './fetch/model-server.js';

const cents: Price = ({ input, output }) => (input + 2 * output) / 100;

describe('a cap', () => {
  it('refuses what might pass it, with the numbers, and what fits goes on', () => {
    const cap = spendCap({ limit: 10, price: cents });
    const first = cap.reserve(4);
    const second = cap.reserve(5);
    first.settle(4.5);
    expect(() => cap.reserve(0.6)).toThrow(
      new RefusedError('spend: this call may cost 0.6000 USD; of 10.0000 USD there are 4.5000 USD spent and 5.0000 USD set aside for calls in flight; ask for less, or raise the cap', { account: 'spend' }),
    );
    expect(cap.reserve(0.5).reserved).toBe(0.5);
    second.cancel();
    expect(cap.status()).toMatchObject({ spent: 4.5, inFlight: 0.5, available: 5, limit: 10, currency: 'USD' });
    expect(cap.status().summary()).toBe('spend: 4.5000 USD of 10.0000 USD spent, 0.5000 USD in flight');
  });

  it('settles once, also above what was set aside, and then refuses everyone', () => {
    const cap = spendCap({ limit: { amount: 1, currency: 'EUR' }, price: cents, name: 'team' });
    const call = cap.reserve({ amount: 1, currency: 'EUR' });
    call.settle(3);
    call.settle(100);
    call.cancel();
    expect(cap.status()).toMatchObject({ name: 'team', spent: 3, inFlight: 0, available: 0 });
    expect(() => cap.reserve(0.01)).toThrow(/of 1.0000 EUR there are 3.0000 EUR spent/);
    cap.setLimit(4);
    expect(cap.reserve(1).reserved).toBe(1);
  });

  it('does not mix currencies, and takes no amount that is none', () => {
    const cap = spendCap({ limit: 1, price: cents });
    const error = 'spend: what a call may cost is in EUR, and the cap in USD; convert it, or keep a cap of its own';
    expect(() => cap.reserve({ amount: 1, currency: 'EUR' })).toThrow(new TypeError(error));
    expect(() => spendCap({ limit: { amount: 1, currency: 'EUR' }, currency: 'USD', price: cents })).toThrow(TypeError);
    for (const bad of [-1, NaN, Infinity]) {
      expect(() => cap.reserve(bad)).toThrow(new RangeError(`spend: what a call may cost must be an amount from zero up, not ${String(bad)}`));
      expect(() => spendCap({ limit: bad, price: cents })).toThrow(RangeError);
    }
    expect(cap.status()).toMatchObject({ spent: 0, inFlight: 0 });
    expect(() => spendCap({ max: 1 } as never)).toThrow('spendCap has no option "max"; it has limit, price, currency, name');
    expect(() => spendCap({ price: cents } as never)).toThrow('spend: limit must be an amount from zero up, not undefined');
  });

  it('is passed by nobody who costs no more than was set aside, in whatever order calls come and go', () => {
    const step = fc.record({ cost: fc.integer({ min: 0, max: 40 }), share: fc.double({ min: 0, max: 1, noNaN: true }), ends: fc.nat(9) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const cap = spendCap({ limit: 1, price: cents });
        const open: { settle(actual: number): void; reserved: number; share: number }[] = [];
        for (const { cost, share, ends } of steps) {
          try {
            const spending = cap.reserve(cost / 100);
            open.push({ ...spending, share });
          } catch (error) {
            expect(error).toBeInstanceOf(RefusedError);
          }
          const [ending] = open.splice(ends % Math.max(1, open.length), 1);
          ending?.settle(ending.reserved * ending.share);
          const { spent, inFlight } = cap.status();
          expect(spent + inFlight).toBeLessThanOrEqual(1 + 1e-8);
        }
      }),
    );
  });
});

describe('a cap in front of calls', () => {
  let server: ModelServer | null = null;
  afterEach(async () => {
    await server?.close();
    server = null;
  });

  async function scene(serve: (asked: Asked) => void, limit: number, price = cents, lines: string[] = []) {
    const { url } = (server = await startModelServer(serve));
    const admission = createAdmission({ scheduler: new VirtualTimeScheduler() });
    const places = new CountingGate({ name: 'places', capacity: 1 });
    const cap = spendCap({ limit, price });
    const log = { info: () => undefined, warn: (line: string) => void lines.push(line) };
    const fetch = admittedFetch(admission, { permits: [places], spend: cap, log });
    const ask = async (signal?: AbortSignal): Promise<number> => {
      const body = JSON.stringify({ model: 'm', messages: [], max_tokens: 50 });
      const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body, ...(signal ? { signal } : {}) });
      await response.text();
      return response.status;
    };
    return { ask, cap, places, admission };
  }

  it('sets the most aside, counts those who wait, and settles with what was used', async () => {
    const { ask, cap, places } = await scene(answerChat, 2.5);
    expect(places.tryTake([1], [], 0)).toBe(true);
    const controller = new AbortController();
    // 50 tokens of answer at two cents, and a prompt of a quarter of its bytes.
    const [one, two] = [ask(), ask(controller.signal)];
    await vi.waitFor(() => {
      expect(cap.status().inFlight).toBeCloseTo(2.02, 5);
    });
    expect(await ask()).toBe(429);
    controller.abort();
    await expect(two).rejects.toThrow();
    expect(cap.status().inFlight).toBeCloseTo(1.01, 5);
    places.give([1], 0);
    expect(server?.asked).toHaveLength(0);
    await ask();
    expect(await one).toBe(200);
    const used = (USAGE.prompt_tokens + 2 * USAGE.completion_tokens) / 100;
    expect(cap.status().spent).toBeCloseTo(2 * used, 5);
    expect(cap.status().inFlight).toBe(0);
  });

  it('costs nothing where the provider refused, and all that was set aside where nobody knows', async () => {
    const { ask, cap } = await scene((asked) => {
      if (server?.asked.length === 1) refuse(asked, 429, { message: 'slow', code: 'rate_limit_exceeded' });
      else asked.answer.writeHead(200).end('no usage in it');
    }, 5);
    expect(await ask()).toBe(429);
    expect(cap.status()).toMatchObject({ spent: 0, inFlight: 0 });
    expect(await ask()).toBe(200);
    expect(cap.status().spent).toBeCloseTo(1.01, 5);
  });

  it('spends what was set aside where its price cannot be told', async () => {
    let asked = 0;
    const price: Price = (usage, model) => {
      asked += 1;
      return asked > 1 ? NaN : cents(usage, model);
    };
    const lines: string[] = [];
    const { ask, cap } = await scene(answerChat, 5, price, lines);
    expect(await ask()).toBe(200);
    expect(cap.status().spent).toBeCloseTo(1.01, 5);
    expect(lines).toEqual([expect.stringContaining('what a call did cost must be an amount from zero up, not NaN')]);
  });

  it('gives back what was set aside for a call that admission refused', async () => {
    const { ask, cap, admission } = await scene(answerChat, 5);
    admission.stop();
    expect(await ask()).toBe(429);
    expect(cap.status()).toMatchObject({ spent: 0, inFlight: 0 });
  });
});
