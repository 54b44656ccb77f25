/** Every way in which a call ends; after all of them nobody holds a permit, waits, or listens to a signal. */
import { getEventListeners } from 'node:events';
import { CountingGate, ElasticWindow, TokenBucket, createAdmission, demand, type Admission } from 'rx-admission';
import { admittedFetch, type AdmittedFetchOptions, type Fetch } from 'rx-admission/llm';
import { VirtualTimeScheduler } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { answerChat, endOfStream, refuse, startModelServer, streamOpened, word, type Asked, type ModelServer } from './model-server.js';

interface Scene {
  readonly admission: Admission;
  readonly controller: AbortController;
  readonly lines: string[];
  /** Asks for a chat: the text of its answer, or what went wrong. */
  ask(options?: Partial<AdmittedFetchOptions>, body?: object): Promise<string>;
  /** As far as the response, whose body nobody has read. */
  opened(options?: Partial<AdmittedFetchOptions>): Promise<Response>;
}

let server: ModelServer;
let serve: (asked: Asked) => void;
let places: CountingGate;
let window: ElasticWindow;
let bucket: TokenBucket;
let scene: Scene;

beforeEach(async () => {
  server = await startModelServer((asked) => {
    serve(asked);
  });
  serve = answerChat;
  const lines: string[] = [];
  const log = { warn: (line: string) => void lines.push(line), info: () => undefined };
  places = new CountingGate({ name: 'places', capacity: 2 });
  window = new ElasticWindow({ name: 'window', maxRequests: 1_000, baseWindow: 1_000, log });
  bucket = new TokenBucket({ name: 'm', tokensPerMinute: 1_000_000, log });
  const admission = createAdmission({ scheduler: new VirtualTimeScheduler() });
  const controller = new AbortController();
  const opened: Scene['opened'] = (options = {}) => {
    const fetch: Fetch = admittedFetch(admission, { tokens: bucket, permits: [places, window], log, ...options });
    const body = JSON.stringify({ model: 'm', stream: true, messages: [] });
    return fetch(`${server.url}/v1/chat/completions`, { method: 'POST', body, signal: controller.signal });
  };
  const ask: Scene['ask'] = async (options) => {
    try {
      const response = await opened(options);
      return `${String(response.status)} ${await response.text()}`;
    } catch (error) {
      return String(error);
    }
  };
  scene = { admission, controller, lines, ask, opened };
});

afterEach(async () => {
  await server.close();
  // Whatever the ending was.
  await vi.waitFor(() => {
    expect([places.inUse(), scene.admission.queueSize]).toEqual([0, 0]);
  });
  const { grants } = scene.admission.status();
  expect([grants, getEventListeners(scene.controller.signal, 'abort').length]).toEqual([[], 0]);
});

const abortSoon = (): void => void setTimeout(() => { scene.controller.abort(new Error('not wanted')); }, 5);

describe('an answer', () => {
  it.each<[string, (asked: Asked) => void, RegExp]>([
    ['with a body', answerChat, /^200 .*hello/],
    ['that streams', (asked) => void streamOpened(asked).end(word('hello') + endOfStream(asked)), /^200 .*hello/],
    ['without a body', ({ answer }) => void answer.writeHead(204).end(), /^204 $/],
    ['without a type', ({ answer }) => void answer.writeHead(200).end('bytes'), /^200 bytes$/],
    ['that is no JSON, and says so', ({ answer }) => void answer.setHeader('content-type', 'application/json').end('<html>'), /^200 <html>$/],
    ['that is sound', ({ answer }) => void answer.setHeader('content-type', 'audio/mpeg').end('sound'), /^200 sound$/],
    ['whose stream ends in the middle of an event', (asked) => void streamOpened(asked).end('data: {"cho'), /^200 data: \{"cho$/],
  ])('%s is handed on as it came', async (_what, served, seen) => {
    serve = served;
    expect((await scene.ask()).replace(/\s+/g, ' ')).toMatch(seen);
  });

  it('that nobody takes at once is read as it is asked for', async () => {
    serve = (asked) => {
      streamOpened(asked).write('data: {"choices":[{"delta":{"content":"split ');
      setTimeout(() => asked.answer.end(`in two"}}]}\n\n${endOfStream(asked)}`), 10);
    };
    expect(await scene.ask()).toContain('split in two');
  });
});

describe('a failure', () => {
  const overloaded = { type: 'overloaded_error', message: 'Overloaded' };

  it.each<[string, (asked: Asked) => void, 'bucket' | 'window' | 'nobody']>([
    ['429', (asked) => { refuse(asked, 429, { type: 'tokens', code: 'rate_limit_exceeded', message: 'slow' }); }, 'bucket'],
    ['429 that means never', (asked) => { refuse(asked, 429, { type: 'insufficient_quota', code: 'insufficient_quota', message: 'broke' }); }, 'nobody'],
    ['529', (asked) => { refuse(asked, 529, overloaded); }, 'window'],
    ['500', (asked) => { refuse(asked, 500, { message: 'oops' }); }, 'nobody'],
    ['an error without a body', ({ answer }) => void answer.writeHead(503).end(), 'nobody'],
    ['an error inside a stream', (asked) => void streamOpened(asked).end(`event: error\ndata: ${JSON.stringify({ type: 'error', error: overloaded })}\n\n`), 'window'],
  ])('of %s teaches the account that it is about', async (_what, served, about) => {
    serve = served;
    await scene.ask();
    await vi.waitFor(() => {
      expect(places.inUse()).toBe(0);
    });
    expect([bucket.throttle > 0, window.throttle > 0]).toEqual([about === 'bucket', about === 'window']);
  });

  it.each<[string, (asked: Asked) => void]>([
    ['before it answers', ({ answer }) => void answer.destroy()],
    ['in the middle of a stream', (asked) => void streamOpened(asked).write(word('half'), () => setTimeout(() => asked.answer.destroy(), 5))],
    ['in the middle of an error', ({ answer }) => void answer.writeHead(500, { 'content-length': '99' }).write('{"er', () => setTimeout(() => answer.destroy(), 5))],
  ])('of a server that dies %s is the caller’s to see', async (_when, served) => {
    serve = served;
    expect(await scene.ask()).toMatch(/^TypeError/);
  });

  it('of what was plugged in costs no answer, and is told', async () => {
    const charge = { name: 'broken', reserve: () => ({ tokens: 1, input: 1, output: 0 }), settle: () => { throw new Error('of the policy'); }, refused: () => ({ tokens: 1, input: 1, output: 0 }), clamps: [] };
    expect(await scene.ask({ charge })).toContain('200');
    expect(scene.lines).toEqual([expect.stringContaining('could not be settled: Error: of the policy')]);
    const fails = (): never => { throw new Error('of ours'); };
    expect(await scene.ask({ demand: fails })).toBe('Error: of ours');
    expect(await scene.ask({ job: fails })).toBe('Error: of ours');
    expect(await scene.ask({ tokens: fails })).toBe('Error: of ours');
  });
});

describe('a call that is left', () => {
  it('before it is made asks for nothing', async () => {
    scene.controller.abort(new Error('not wanted'));
    expect(await scene.ask()).toBe('Error: not wanted');
    expect(server.asked).toEqual([]);
  });

  it('in line asks for nothing', async () => {
    expect(places.tryTake([2], [], 0)).toBe(true);
    abortSoon();
    expect(await scene.ask()).toBe('Error: not wanted');
    expect(server.asked).toEqual([]);
    places.give([2], 0);
  });

  it.each<[string, (asked: Asked) => void]>([
    ['before it is answered', () => undefined],
    ['in the middle of its stream', (asked) => void streamOpened(asked).write(word('on and on'))],
    ['in the middle of an error', ({ answer }) => void answer.writeHead(500, { 'content-length': '99' }).write('{"er')],
  ])('%s says nothing about the provider', async (_when, served) => {
    serve = served;
    abortSoon();
    expect(await scene.ask()).toBe('Error: not wanted');
    expect([bucket.throttle, window.throttle]).toEqual([0, 0]);
  });

  it('by a reader that cancels gives the permits back', async () => {
    serve = (asked) => void streamOpened(asked).write(word('on and on'));
    const { body } = await scene.opened();
    const reader = body?.getReader();
    await reader?.read();
    await reader?.cancel();
    expect(places.inUse()).toBe(0);
  });

  it('between two reads gives the permits back at once', async () => {
    serve = (asked) => void streamOpened(asked).write(word('on and on'));
    const { body } = await scene.opened();
    await body?.getReader().read();
    expect(places.inUse()).toBe(1);
    scene.controller.abort(new Error('not wanted'));
    await vi.waitFor(() => {
      expect(places.inUse()).toBe(0);
    });
  });

  it('unread is cut, and whoever comes to read it later is told why', async () => {
    serve = (asked) => void streamOpened(asked).write(word('unread'));
    const response = await scene.opened({ maxHold: 20 });
    await vi.waitFor(() => {
      expect(places.inUse()).toBe(0);
    });
    await expect(response.text()).rejects.toThrow(/nobody read this answer for 20 ms/);
    expect(scene.lines).toEqual([expect.stringContaining('nobody read this answer for 20 ms')]);
  });

  it('is never cut while somebody waits for its next chunk, nor where nothing is too long', async () => {
    for (const maxHold of [20, Infinity]) {
      serve = (asked) => void streamOpened(asked).write(word('slow'), () => setTimeout(() => asked.answer.end(endOfStream(asked)), 90));
      expect(await scene.ask({ maxHold })).toContain('slow');
    }
    expect(scene.lines).toEqual([]);
  });
});

describe('an answer that is none', () => {
  const answering = (answer: () => unknown): Fetch => () => Promise.resolve(answer() as Response);

  it.each<[string, () => unknown]>([
    ['whose body somebody has read', () => {
      const read = new Response('{}');
      void read.text();
      return read;
    }],
    ['whose body is locked', () => {
      const locked = new Response('{}', { status: 500 });
      locked.body?.getReader();
      return locked;
    }],
    ['that is nothing at all', () => undefined],
  ])('costs no permit: %s', async (_what, answer) => {
    expect(await scene.ask({ fetch: answering(answer) })).toMatch(/^TypeError/);
    expect(places.inUse()).toBe(0);
  });

  it('costs no permit: whose end cannot be read', async () => {
    const text = new ReadableStream({
      start: (controller) => {
        controller.enqueue('{}');
        controller.close();
      },
    });
    const response = { ok: true, status: 200, statusText: '', headers: new Headers({ 'content-type': 'application/json' }), body: text };
    const reader = (await scene.opened({ fetch: answering(() => response) })).body?.getReader();
    await reader?.read();
    await expect(reader?.read()).rejects.toThrow(TypeError);
    expect(places.inUse()).toBe(0);
  });

  it('costs no permit: whose chunks are no bytes', async () => {
    const cancelled: unknown[] = [];
    const odd = new ReadableStream({
      start: (controller) => { controller.enqueue(null); },
      cancel: (reason) => void cancelled.push(reason),
    });
    const response = { ok: true, status: 200, statusText: '', headers: new Headers({ 'content-type': 'application/json' }), body: odd };
    expect(await scene.ask({ fetch: answering(() => response) })).toMatch(/^TypeError/);
    expect([places.inUse(), cancelled.length]).toEqual([0, 1]);
  });
});

describe('a refusal', () => {
  it('asks for nothing: impossible, out of time, stopped, and one that is thrown', async () => {
    bucket.setConfig({ tokensPerMinute: 10 });
    expect(await scene.ask()).toMatch(/^429 .*exceed the budget of 10/);
    expect(await scene.ask({ onRefused: 'throw' })).toMatch(/^RefusedError/);
    bucket.setConfig({ tokensPerMinute: 1_000_000 });
    expect(places.tryTake([2], [], 0)).toBe(true);
    expect(await scene.ask({ tokens: undefined, maxWait: 0 })).toMatch(/^429 .*admission_timeout/);
    places.give([2], 0);
    scene.admission.stop();
    expect(await scene.ask()).toMatch(/^429 .*admission_shutdown/);
    expect(server.asked).toEqual([]);
  });

  it('names an account that cannot be charged what was used', async () => {
    expect(await scene.ask({ tokens: places as never })).toMatch(/^TypeError: places cannot keep a budget of tokens/);
  });
});

describe('a demand', () => {
  it('is chosen for each call, and may leave out what was made of it', async () => {
    const asked: unknown[] = [];
    await scene.ask({
      tokens: ({ model }) => (model === 'm' ? bucket : undefined),
      input: () => undefined,
      permits: () => undefined,
      job: ({ operation }) => operation,
      demand: (call, metered) => {
        asked.push([call.model, metered.entries.map(({ account }) => account.name)]);
        return demand(places);
      },
    });
    expect(asked).toEqual([['m', ['m']]]);
    // It asked for no tokens, so none were charged.
    expect(bucket.tokens()).toBe(1_000_000);
  });

  it('hears the limits of every answer that states some', async () => {
    const heard: unknown[] = [];
    serve = (asked) => {
      asked.answer.setHeader('x-ratelimit-limit-requests', '500');
      answerChat(asked);
    };
    const onLimits: AdmittedFetchOptions['onLimits'] = ({ provider, limits }, { model }) => heard.push([provider, limits.length, model]);
    await scene.ask({ onLimits });
    serve = answerChat;
    await scene.ask({ onLimits });
    expect(heard).toEqual([['openai', 1, 'm']]);
  });
});
