/** Every kind of call of every adapter, in every way it can end; after all of them every account is full and nobody listens. */
import { getEventListeners } from 'node:events';
import { CountingGate, TokenBucket, createAdmission, type Admission } from 'rx-admission';
import type { ChargePolicy } from 'rx-admission/llm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { VirtualClock } from '../../conformance/virtual-clock.js';
import { refuse, startModelServer, streamOpened, word, type Asked, type ModelServer } from '../fetch/model-server.js';
import { INPUT, OUTPUT } from '../fetch/protocols.js';
import { answer } from './answers.js';
import { routes, type Route, type Scene } from './routes.js';

const BUDGET = 100_000;
const quiet = { warn: () => undefined, info: () => undefined };
const tooFast = { type: 'rate_limit_error', code: 'rate_limit_exceeded', message: 'slow down' };
const overloaded = { type: 'overloaded_error', message: 'Overloaded' };
const broke = { type: 'insufficient_quota', code: 'insufficient_quota', message: 'You exceeded your quota' };
const errorEvent = `event: error\ndata: ${JSON.stringify({ type: 'error', error: overloaded })}\n\n`;

/** Exactly what was used, so that the charge tells what was read; and nothing is made smaller to fit. */
const AS_USED: ChargePolicy = {
  name: 'as used',
  reserve: () => ({ tokens: 500, input: 500, output: 0 }),
  settle: ({ input, output }) => ({ tokens: input + output, input, output }),
  refused: () => ({ tokens: 0, input: 0, output: 0 }),
  clamps: [],
};

let server: ModelServer;
let serve: (asked: Asked, nth: number) => void;
let clock: VirtualClock;
let admission: Admission;
let places: CountingGate;
let bucket: TokenBucket;
let signals: AbortSignal[];
/** Requests that came while nobody had been let in for them. */
let unadmitted: string[];

beforeEach(async () => {
  unadmitted = [];
  server = await startModelServer((asked, nth) => {
    if (places.inUse() !== 1) unadmitted.push(asked.path);
    serve(asked, nth);
  });
  clock = new VirtualClock(0);
  admission = createAdmission({ scheduler: clock });
  places = new CountingGate({ name: 'places', capacity: 1 });
  bucket = new TokenBucket({ name: 'm', tokensPerMinute: BUDGET, scheduler: clock, log: quiet });
  signals = [];
});
afterEach(() => server.close());

const sceneOf = (more: Partial<Scene> = {}): Scene => ({
  admission,
  options: { tokens: bucket, permits: [places], log: quiet },
  url: server.url,
  maxRetries: 0,
  signals,
  ...more,
});

/** As JSON or as the beginning of a stream, whichever was asked for. */
const begun = (asked: Asked, then: () => void): void => {
  if (asked.body.stream === true) streamOpened(asked).write(word('half'), then);
  else asked.answer.writeHead(200, { 'content-type': 'application/json', 'content-length': '999' }).write('{"ha', then);
};

interface Ending {
  readonly serve?: (asked: Asked, nth: number, leave: () => void) => void;
  readonly maxRetries?: number;
  /** How often the server is asked. */
  readonly asked?: number;
  /** What the caller sees, where all SDKs agree. */
  readonly outcome?: 'fulfilled' | 'rejected';
}

const rejected = (status: number, error: object, headers?: Record<string, string>): Ending => ({
  serve: (asked) => {
    refuse(asked, status, error, headers);
  },
  outcome: 'rejected',
});

const endings: Readonly<Record<string, Ending>> = {
  'is answered': { serve: answer, outcome: 'fulfilled' },
  'is truncated': { serve: (asked) => { begun(asked, () => asked.answer.destroy()); } },
  'gets a stream that ends before its end': { serve: (asked) => void streamOpened(asked).end(word('half')) },
  'meets a 429 with a hint': rejected(429, tooFast, { 'retry-after': '20' }),
  'meets a 429 without one': rejected(429, tooFast),
  'meets a 529': rejected(529, overloaded),
  'meets a quota that is used up': rejected(429, broke),
  'meets a server error': rejected(500, { message: 'oops' }),
  'meets an error inside of its stream': { serve: (asked) => void streamOpened(asked).end(word('half') + errorEvent) },
  'meets a server that dies before it answers': { serve: ({ answer: response }) => void response.destroy(), outcome: 'rejected' },
  'is aborted before it is answered': { serve: (_asked, _nth, leave) => { leave(); }, outcome: 'rejected' },
  'is aborted in the middle of its answer': { serve: (asked, _nth, leave) => { begun(asked, () => setTimeout(leave, 5)); } },
  'is retried by its SDK': {
    serve: (asked, nth) => {
      if (nth > 1) answer(asked);
      // LangChain's caller gives up on a 429; all of them try a server error again.
      else refuse(asked, 500, { message: 'oops' }, { 'retry-after-ms': '1' });
    },
    maxRetries: 1,
    asked: 2,
    outcome: 'fulfilled',
  },
};

/** Lets time pass for whoever waits in line, until the call has ended. */
async function ended(call: Promise<unknown>): Promise<'fulfilled' | 'rejected'> {
  const state: { outcome: 'fulfilled' | 'rejected' | null } = { outcome: null };
  call.then(
    () => { state.outcome = 'fulfilled'; },
    () => { state.outcome = 'rejected'; },
  );
  while (state.outcome === null) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    clock.advanceTo(clock.now() + 60_000);
  }
  return state.outcome;
}

async function run(what: string, route: (scene: Scene) => Route, ending: Ending): Promise<void> {
  const controller = new AbortController();
  const before = server.asked.length;
  serve = (asked) => {
    ending.serve?.(asked, server.asked.length - before, () => {
      controller.abort(new Error('not wanted'));
    });
  };
  const outcome = await ended(route(sceneOf({ maxRetries: ending.maxRetries ?? 0 }))(controller.signal));
  expect([what, outcome, server.asked.length - before]).toEqual([what, ending.outcome ?? outcome, ending.asked ?? 1]);
  await vi.waitFor(() => {
    expect(places.inUse()).toBe(0);
  });
}

async function abortedInLine(route: (scene: Scene) => Route): Promise<void> {
  expect(places.tryTake([1], [], clock.now())).toBe(true);
  const [controller, before] = [new AbortController(), server.asked.length];
  const waiting = route(sceneOf())(controller.signal);
  await vi.waitFor(() => {
    expect(admission.queueSize).toBe(1);
  });
  controller.abort(new Error('not wanted'));
  await expect(waiting).rejects.toThrow();
  places.give([1], clock.now());
  expect(server.asked.length).toBe(before);
}

async function refused(route: (scene: Scene) => Route): Promise<void> {
  const before = server.asked.length;
  const tiny = new TokenBucket({ name: 'tiny', tokensPerMinute: 1, scheduler: clock, log: quiet });
  const options = { tokens: tiny, permits: [places], charge: AS_USED, log: quiet };
  expect(await ended(route(sceneOf({ options, maxRetries: 1 }))(new AbortController().signal))).toBe('rejected');
  expect(server.asked.length).toBe(before);
}

describe('after every ending of every kind of call', () => {
  it('every account is full, no permit is held, nobody listens, and no attempt ran unadmitted', async () => {
    for (const [name, route] of Object.entries(routes)) {
      for (const [how, ending] of Object.entries(endings)) await run(`${name} ${how}`, route, ending);
      await abortedInLine(route);
      await refused(route);
    }
    // Whatever the throttle is, an hour fills the bucket.
    clock.advanceTo(clock.now() + 3_600_000);
    expect([bucket.tokens(), places.inUse(), admission.queueSize, admission.status().grants]).toEqual([BUDGET, 0, 0, []]);
    expect(unadmitted).toEqual([]);
    expect(signals.length).toBeGreaterThan(Object.keys(routes).length * Object.keys(endings).length);
    expect(signals.filter((signal) => getEventListeners(signal, 'abort').length > 0)).toEqual([]);
  }, 120_000);
});

describe.each(Object.entries(routes))('%s', (name, route) => {
  it('is charged what it used', async () => {
    serve = answer;
    await route(sceneOf({ options: { tokens: bucket, permits: [places], charge: AS_USED, log: quiet } }))(new AbortController().signal);
    await vi.waitFor(() => {
      expect(places.inUse()).toBe(0);
    });
    expect(BUDGET - bucket.tokens()).toBe(name === 'openai embeddings' ? INPUT : INPUT + OUTPUT);
  });
});
