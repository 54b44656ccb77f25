/** The fetch that admits, in front of OpenAI's own SDK and a real HTTP server: order, counts and outcomes. */
import OpenAI, { APIUserAbortError, RateLimitError } from 'openai';
import { CountingGate, RefusedError, TokenBucket, createAdmission, type Admission } from 'rx-admission';
import { admittedFetch, type AdmittedFetchOptions, type ChargePolicy } from 'rx-admission/llm';
import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../conformance/virtual-clock.js';
import { answerChat, endOfStream, refuse, startModelServer, streamOpened, USAGE, word, type Asked, type ModelServer } from './model-server.js';

const quiet = { warn: () => undefined, info: () => undefined };
const messages = [{ role: 'user' as const, content: 'Say hello to everybody who waits in line.' }];
const question = { model: 'gpt', messages, max_completion_tokens: 100 };

interface Scene {
  readonly server: ModelServer;
  readonly clock: VirtualClock;
  readonly admission: Admission;
  readonly gate: CountingGate;
  readonly bucket: TokenBucket;
  readonly client: OpenAI;
}

let running: ModelServer | null = null;

async function scene(
  serve: (asked: Asked, nth: number) => void | Promise<void>,
  { capacity = 1, retries = 0, ...options }: Partial<AdmittedFetchOptions> & { capacity?: number; retries?: number } = {},
): Promise<Scene> {
  const server = (running = await startModelServer(serve));
  // Time stands still, so that nothing refills while the test looks.
  const clock = new VirtualClock(0);
  const admission = createAdmission({ scheduler: clock });
  const gate = new CountingGate({ name: 'places', capacity });
  const bucket = new TokenBucket({ name: 'gpt', tokensPerMinute: 100_000, log: quiet });
  const fetch = admittedFetch(admission, { tokens: bucket, permits: [gate], log: quiet, ...options });
  const client = new OpenAI({ apiKey: 'none', baseURL: `${server.url}/v1`, maxRetries: retries, fetch });
  return { server, clock, admission, gate, bucket, client };
}

const spent = (bucket: TokenBucket): number => 100_000 - bucket.tokens();

/** Until what is asynchronous on both sides of the socket has settled. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2));
}

afterEach(async () => {
  await running?.close();
  running = null;
});

describe('admittedFetch', () => {
  it('lets no more calls in than there are places, and all of them in the end', async () => {
    const { server, client, gate, admission } = await scene(
      async (asked) => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        answerChat(asked);
      },
      { capacity: 3 },
    );
    const answers = await Promise.all(Array.from({ length: 12 }, () => client.chat.completions.create(question)));
    expect(answers.map(({ choices: [choice] }) => choice?.message.content)).toEqual(Array(12).fill('hello'));
    expect([server.peak, server.asked.length, gate.inUse(), admission.queueSize]).toEqual([3, 12, 0, 0]);
  });

  it('charges what was used, of an answer and of a stream that nobody asked for its usage', async () => {
    const asUsed: ChargePolicy = {
      name: 'as used',
      reserve: () => ({ tokens: 500, input: 500, output: 0 }),
      settle: ({ input, output }) => ({ tokens: input + output, input, output }),
      refused: (reserved) => reserved,
      clamps: [],
    };
    const serve = (asked: Asked): void => {
      if (asked.body.stream !== true) answerChat(asked);
      else streamOpened(asked).end(word('hel') + word('lo') + endOfStream(asked));
    };
    const { server, client, bucket, gate } = await scene(serve, { charge: asUsed });
    await client.chat.completions.create(question);
    expect(spent(bucket)).toBe(USAGE.total_tokens);
    const seen: unknown[] = [];
    for await (const { choices } of await client.chat.completions.create({ ...question, stream: true })) seen.push(choices.length);
    // The event that was asked for on the caller's behalf is not the caller's.
    expect([seen, gate.inUse()]).toEqual([[1, 1, 1], 0]);
    expect(spent(bucket)).toBe(2 * USAGE.total_tokens);
    expect(server.asked[1]?.body.stream_options).toEqual({ include_usage: true });
  });

  it('hands the bytes on as they come, and holds the grant until the last', async () => {
    let finish = (): void => undefined;
    const { client, gate } = await scene((asked) => {
      streamOpened(asked).write(word('first'));
      finish = () => {
        asked.answer.end(endOfStream(asked));
      };
    });
    const stream = await client.chat.completions.create({ ...question, stream: true, stream_options: { include_usage: true } });
    const chunks = stream[Symbol.asyncIterator]();
    expect((await chunks.next()).value).toMatchObject({ choices: [{ delta: { content: 'first' } }] });
    expect(gate.inUse()).toBe(1);
    finish();
    const rest: unknown[] = [];
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) rest.push(next.value.usage ?? null);
    expect([rest, gate.inUse()]).toEqual([[null, USAGE], 0]);
  });

  it('leaves the line when its signal aborts, and asks the server for nothing', async () => {
    const held: Asked[] = [];
    const { server, client, gate, admission, bucket } = await scene((asked) => void held.push(asked));
    const first = client.chat.completions.create(question);
    await until(() => held.length === 1);
    const before = spent(bucket);
    const controller = new AbortController();
    const second = client.chat.completions.create(question, { signal: controller.signal });
    await until(() => admission.queueSize === 1);
    controller.abort();
    await expect(second).rejects.toThrow(APIUserAbortError);
    expect([admission.queueSize, server.asked.length, spent(bucket)]).toEqual([0, 1, before]);
    held.forEach(answerChat);
    await first;
    expect(gate.inUse()).toBe(0);
  });

  it('gives the place back when a stream is left in its middle, by break or by abort', async () => {
    const { server, client, gate } = await scene((asked) => void streamOpened(asked).write(word('on and on')));
    for await (const _chunk of await client.chat.completions.create({ ...question, stream: true })) break;
    await until(() => gate.inUse() === 0);
    const controller = new AbortController();
    const stream = await client.chat.completions.create({ ...question, stream: true }, { signal: controller.signal });
    for await (const _chunk of stream) controller.abort();
    await until(() => gate.inUse() === 0);
    expect(server.asked).toHaveLength(2);
  });

  it('gives the place back when the server dies in the middle of an answer', async () => {
    const { client, gate, admission } = await scene((asked) => {
      streamOpened(asked).write(word('half'));
      setTimeout(() => asked.answer.destroy(), 5);
    });
    const read = async (): Promise<void> => {
      for await (const _chunk of await client.chat.completions.create({ ...question, stream: true }));
    };
    await expect(read()).rejects.toThrow();
    expect([gate.inUse(), admission.queueSize]).toEqual([0, 0]);
  });

  it('admits each attempt of a retry by itself, and what it learns slows the bucket and closes it', async () => {
    const { server, clock, admission, client, gate, bucket } = await scene(
      (asked, nth) => {
        if (nth > 1) answerChat(asked);
        else refuse(asked, 429, { message: 'slow down', type: 'tokens', code: 'rate_limit_exceeded' }, { 'retry-after-ms': '10' });
      },
      { retries: 1, random: () => 0.5 },
    );
    const answered = client.chat.completions.create(question);
    await until(() => admission.queueSize === 1);
    expect([server.asked.length, bucket.status().closedUntil]).toEqual([1, 11]);
    clock.advanceTo(1_000);
    await answered;
    expect([server.asked.length, server.peak, gate.inUse()]).toEqual([2, 1, 0]);
    // Half a step up for the 429; one success of three takes nothing off yet.
    expect(bucket.throttle).toBe(0.5);
  });

  it('answers a refusal as the provider would, once, with the numbers', async () => {
    const { server, client, bucket } = await scene(answerChat, { retries: 3 });
    bucket.setConfig({ tokensPerMinute: 20 });
    const refused = client.chat.completions.create(question);
    await expect(refused).rejects.toThrow(RateLimitError);
    await expect(refused).rejects.toMatchObject({ status: 429, code: 'admission_circuit_blocked', message: expect.stringContaining('exceed the budget of 20') as string });
    expect(server.asked).toEqual([]);
  });

  it.each<[string, object, Record<string, string>, number]>([
    ['a quota that is used up', { message: 'broke', type: 'insufficient_quota', code: 'insufficient_quota' }, {}, 1],
    ['a wait of an hour', { message: 'slow', code: 'rate_limit_exceeded' }, { 'retry-after': '3600' }, 1],
    ['a rate limit', { message: 'slow', code: 'rate_limit_exceeded' }, {}, 2],
  ])('has the SDK retry only what may succeed: %s', async (_what, error, headers, attempts) => {
    // Without a bucket, since time stands still here.
    const { server, client } = await scene((asked) => { refuse(asked, 429, error, headers); }, { retries: 1, tokens: undefined });
    await expect(client.chat.completions.create(question)).rejects.toThrow(RateLimitError);
    expect(server.asked).toHaveLength(attempts);
  });

  it('throws the refusal itself where that is wanted', async () => {
    const { admission, bucket, server } = await scene(answerChat);
    bucket.setConfig({ tokensPerMinute: 20 });
    const fetch = admittedFetch(admission, { tokens: bucket, onRefused: 'throw' });
    const body = JSON.stringify(question);
    await expect(fetch(`${server.url}/v1/chat/completions`, { method: 'POST', body })).rejects.toThrow(RefusedError);
  });

  it('cuts an answer that nobody reads, and says whose', async () => {
    const lines: string[] = [];
    const { client, gate } = await scene((asked) => void streamOpened(asked).write(word('unread')), {
      maxHold: 20,
      log: { ...quiet, warn: (line) => void lines.push(line) },
    });
    await client.chat.completions.create({ ...question, stream: true }).asResponse();
    await until(() => gate.inUse() === 0);
    expect(lines).toEqual([expect.stringMatching(/^gpt · chat\/completions: nobody read this answer for 20 ms/)]);
  });

  it('lets pass what asks no model for anything', async () => {
    const { server, client, gate } = await scene(({ answer }) => void answer.setHeader('content-type', 'application/json').end('{"object":"list","data":[]}'));
    // Nobody could be let in.
    expect(gate.tryTake([1], [], 0)).toBe(true);
    await client.models.list();
    await client.files.create({ file: new File(['{}'], 'batch.jsonl'), purpose: 'batch' });
    await client.batches.cancel('b1');
    expect(server.asked.map(({ path }) => path)).toEqual(['/v1/models', '/v1/files', '/v1/batches/b1/cancel']);
  });

  it.each<[unknown, unknown, RegExp]>([
    [undefined, { permits: [], token: 1 }, /^admittedFetch has no option "token"; it has tokens, input,/],
    [undefined, { permits: new CountingGate({ name: 'places', capacity: 1 }) }, /^permits of admittedFetch is a list of accounts/],
    [undefined, undefined, /^the options of admittedFetch are an object of tokens, .*, not left out/],
    [undefined, 'tokens', /not string/],
    [new CountingGate({ name: 'places', capacity: 1 }), { permits: [] }, /^admittedFetch needs an admission, made by createAdmission\(\)/],
  ])('names what was given in the wrong place: %#', (admission, options, message) => {
    const given = (admission ?? createAdmission()) as Admission;
    expect(() => admittedFetch(given, options as AdmittedFetchOptions)).toThrow(message);
  });

  it('needs an account, and says so', () => {
    expect(() => admittedFetch(createAdmission(), {})).toThrow(/names no account/);
    expect(() => admittedFetch(createAdmission(), { permits: [], maxHold: -1 })).toThrow(/maxHold/);
  });
});
