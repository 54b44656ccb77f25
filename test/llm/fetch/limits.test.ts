/** What the fetch that admits makes of stated limits and of waits, and of answers that no provider should send. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { CountingGate, TokenBucket, createAdmission } from 'rx-admission';
import { admittedFetch, charge, outcomeOf, type AdmittedFetchOptions, type ClassifiedFailure, type RateLimitsRead } from 'rx-admission/llm';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../conformance/virtual-clock.js';

const usage = { prompt_tokens: 40, completion_tokens: 10, total_tokens: 50 };
const json = { 'content-type': 'application/json' };
const stated = { 'x-ratelimit-limit-tokens': '200000', 'x-ratelimit-remaining-tokens': '5000' };
const answer = (headers: Record<string, string> = {}): Response => new Response(JSON.stringify({ usage }), { headers: { ...json, ...headers } });

function scene(options: Partial<AdmittedFetchOptions> & { readonly answers: () => Response }): {
  readonly clock: VirtualClock;
  readonly bucket: TokenBucket;
  readonly places: CountingGate;
  readonly lines: string[];
  readonly ask: (body?: object, path?: string) => Promise<Response>;
} {
  const { answers, ...rest } = options;
  const clock = new VirtualClock(0);
  const lines: string[] = [];
  const log = { warn: (line: string) => void lines.push(line), info: () => undefined };
  const bucket = new TokenBucket({ name: 'gpt', tokensPerMinute: 100_000, scheduler: clock, log });
  const places = new CountingGate({ name: 'places', capacity: 9 });
  const admission = createAdmission({ scheduler: clock });
  const fetch = admittedFetch(admission, { tokens: bucket, permits: [places], log, maxHold: Infinity, fetch: () => Promise.resolve(answers()), ...rest });
  const ask = (body: object = { model: 'gpt', messages: [] }, path = 'chat/completions'): Promise<Response> =>
    fetch(`http://provider.invalid/v1/${path}`, { method: 'POST', body: JSON.stringify(body) });
  return { clock, bucket, places, lines, ask };
}

describe('limits that answers state', () => {
  it.each<[string, AdmittedFetchOptions['follow'], number, number, number]>([
    ['up to what was configured', undefined, 100_000, 30_000, 5_000],
    ['wherever they go', true, 200_000, 30_000, 5_000],
    ['as far as is allowed', { most: { tokensPerMinute: 150_000 } }, 150_000, 30_000, 5_000],
    ['not at all', false, 100_000, 100_000, 100_000],
  ])('are followed %s', async (_how, follow, up, down, left) => {
    let headers: Record<string, string> = stated;
    const { bucket, ask } = scene({ follow, answers: () => answer(headers), charge: { ...charge.openai(), reserve: () => ({ tokens: 0, input: 0, output: 0 }), settle: () => ({ tokens: 0, input: 0, output: 0 }) } });
    await (await ask()).text();
    expect([bucket.limits.tokensPerMinute, bucket.tokens()]).toEqual([up, left]);
    headers = { 'x-ratelimit-limit-tokens': '30000' };
    await (await ask()).text();
    expect(bucket.limits.tokensPerMinute).toBe(down);
  });

  it('are followed in an answer of failure too', async () => {
    const { bucket, ask } = scene({ answers: () => new Response('{}', { status: 500, headers: { 'x-ratelimit-limit-tokens': '30000' } }) });
    await ask();
    expect(bucket.limits.tokensPerMinute).toBe(30_000);
  });

  it('are told to who asked for them, whose faults cost no answer', async () => {
    const heard: RateLimitsRead[] = [];
    const told = scene({ answers: () => answer(stated), onLimits: (read) => void heard.push(read) });
    await told.ask();
    expect(heard.map(({ provider, limits }) => [provider, limits.length])).toEqual([['openai', 1]]);
    const silent = scene({ answers: () => answer(), onLimits: (read) => void heard.push(read) });
    await silent.ask();
    expect(heard).toHaveLength(1);
    const broken = scene({ answers: () => answer(stated), onLimits: () => { throw new Error('ours'); } });
    expect((await (await broken.ask()).text()).length).toBeGreaterThan(0);
    expect([broken.lines, broken.places.inUse()]).toEqual([['gpt · chat/completions: its limits could not be told: Error: ours'], 0]);
  });

  it('are none where they are below what the answer serves', async () => {
    const { bucket, ask } = scene({ answers: () => answer({ 'x-ratelimit-limit-tokens': '1', 'x-ratelimit-remaining-tokens': '0' }) });
    for (let call = 0; call < 3; call += 1) expect((await ask()).status).toBe(200);
    expect(bucket.limits.tokensPerMinute).toBe(100_000);
  });

  it('and that fell below what every call asks for are forgotten after five minutes, and then followed anew', async () => {
    let stated = '1000';
    const { bucket, clock, ask } = scene({ answers: () => new Response('{}', { status: 429, headers: { 'x-ratelimit-limit-tokens': stated } }) });
    const isAdmittedAt = async (at: number): Promise<boolean> => {
      clock.advanceTo(at);
      const answered = ask();
      await new Promise((resolve) => setTimeout(resolve));
      // Where it waits: the bucket that was lowered has to fill up.
      clock.advanceTo(at + 30_000);
      return !(await answered).headers.has('x-rx-admission');
    };
    expect(await isAdmittedAt(0)).toBe(true);
    expect([await isAdmittedAt(1), await isAdmittedAt(299_999 - 30_000), bucket.limits.tokensPerMinute]).toEqual([false, false, 1_000]);
    stated = '50000';
    expect([await isAdmittedAt(300_000), bucket.limits.tokensPerMinute]).toEqual([true, 50_000]);
  });

  it('say nothing to an account of one’s own', async () => {
    const clock = new VirtualClock(0);
    const own = new TokenBucket({ name: 'own', tokensPerMinute: 100_000, scheduler: clock });
    const wrapped = {
      name: 'wrapped',
      replenishment: 'time' as const,
      capacity: 100_000,
      capacityChanges: own.capacityChanges,
      inUse: (at: number) => own.inUse(at),
      fits: (mine: readonly number[], ahead: readonly number[], at: number) => own.fits(mine, ahead, at),
      tryTake: (mine: readonly number[], ahead: readonly number[], at: number) => own.tryTake(mine, ahead, at),
      give: (amounts: readonly number[], at: number) => { own.give(amounts, at); },
      earliestFit: (mine: readonly number[], ahead: readonly number[], at: number) => own.earliestFit(mine, ahead, at),
      adjust: (delta: number, at: number) => { own.adjust(delta, at); },
    };
    const { ask } = scene({ answers: () => answer({ 'x-ratelimit-limit-tokens': '30000' }), tokens: wrapped });
    expect((await ask()).status).toBe(200);
    expect(own.limits.tokensPerMinute).toBe(100_000);
  });
});

describe('a Retry-After', () => {
  const tooFast = (): Response => new Response(JSON.stringify({ error: { code: 'rate_limit_exceeded' } }), { status: 429, headers: { ...json, 'retry-after': '20' } });

  it('closes the bucket, and what comes then waits for it', async () => {
    let answers = tooFast;
    const { clock, bucket, ask } = scene({ answers: () => answers(), jitter: 0 });
    clock.advanceTo(1_000);
    expect((await ask()).status).toBe(429);
    expect(bucket.status().closedUntil).toBe(21_000);
    answers = answer;
    let status = 0;
    const second = ask().then((response) => (status = response.status));
    await new Promise((resolve) => setImmediate(resolve));
    expect(status).toBe(0);
    clock.advanceTo(60_000);
    await second;
    expect(status).toBe(200);
  });

  it('is told on the admission’s clock where the outcome is one’s own', async () => {
    const seen: (number | null)[] = [];
    const own = (failure: ClassifiedFailure): 'ignored' => (seen.push(failure.retryAt), 'ignored');
    const { clock, bucket, ask } = scene({ answers: tooFast, outcome: own });
    clock.advanceTo(1_000);
    await ask();
    expect([seen, bucket.status().closedUntil]).toEqual([[21_000], null]);
  });

  it('refuses a jitter that is none', () => {
    expect(() => scene({ answers: answer, jitter: -1 })).toThrow(/jitter must be a share/);
    expect(() => outcomeOf({ jitter: -1 })).toThrow(/jitter must be a share/);
  });
});

describe('an answer', () => {
  it('of failure without a body is handed on without one', async () => {
    const { places, ask } = scene({ answers: () => new Response(null, { status: 503 }) });
    expect([(await ask()).body, places.inUse()]).toEqual([null, 0]);
  });

  it('that is larger than is worth keeping is handed on whole, and not read', async () => {
    const chunk = new Uint8Array(2 ** 20).fill(32);
    let left = 66;
    const body = (): ReadableStream<Uint8Array> =>
      new ReadableStream({
        pull: (controller) => {
          left -= 1;
          if (left < 0) controller.close();
          else controller.enqueue(chunk);
        },
      });
    const { bucket, places, ask } = scene({ answers: () => new Response(body(), { headers: json }) });
    const { body: handed } = await ask({ model: 'gpt', input: 'x', max_tokens: 100 }, 'embeddings');
    let size = 0;
    for await (const part of handed as unknown as AsyncIterable<Uint8Array>) size += part.length;
    expect([size / chunk.length, places.inUse()]).toEqual([66, 0]);
    expect(bucket.tokens()).toBeLessThan(100_000);
  });

  it('with events that only look like the one we asked for is handed on', async () => {
    const events = 'data: {"choices":[], oops\n\ndata: {"choices":[],"usage":null}\n\n';
    const { ask } = scene({ answers: () => new Response(events, { headers: { 'content-type': 'text/event-stream' } }) });
    expect(await (await ask({ model: 'gpt', stream: true, messages: [] })).text()).toBe(events);
  });

  it('that nobody keeps gives its place back once it is collected, and says so', async () => {
    setFlagsFromString('--expose-gc');
    const gc = runInNewContext('gc') as () => void;
    const endless = (): Response => new Response(new ReadableStream({ pull: () => new Promise(() => undefined) }), { headers: json });
    const { places, lines, ask } = scene({ answers: endless });
    await ask();
    while (places.inUse() > 0) {
      gc();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(lines).toEqual(['gpt · chat/completions: the answer was dropped without being read to its end']);
  });
});

describe('a call', () => {
  it('of a protocol that nobody knows is charged as OpenAI’s', async () => {
    const { bucket, ask } = scene({ answers: () => answer() });
    await (await ask({ model: 'own', max_tokens: 700 }, 'own/operation')).text();
    expect(bucket.tokens()).toBe(99_300);
  });

  it('asks a budget that its policy clamps for all there can be', async () => {
    const { bucket, ask } = scene({ answers: () => answer(), charge: charge.anthropic() });
    await ask({ model: 'claude', max_tokens: 900_000, messages: [] }, 'messages');
    expect(bucket.tokens()).toBe(0);
  });
});
