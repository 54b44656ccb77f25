/** The same burst against nginx, a limiter that nobody here wrote: bare it gets 429s, through admission none. */
import { setMaxListeners } from 'node:events';
import OpenAI from 'openai';
import { lastValueFrom, toArray } from 'rxjs';
import type { Observable } from 'rxjs';
import { CountingGate, TokenBucket, createAdmission } from 'rx-admission';
import type { Fetch } from 'rx-admission/llm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { burst, openaiFetch } from '../../examples/start/burst.js';
import { makeCalls } from '../../examples/provider/calls.js';
import { Board, chatThrough, openaiAsk, wire } from '../../examples/start/chat.js';
import type { Ended } from '../../examples/start/chat.js';
import { startModelServer } from '../../examples/provider/server.js';
import type { ModelServer } from '../../examples/provider/server.js';
import { hasNginx, startNginx } from './nginx.js';

const CONCURRENCY = 8;
const REQUESTS_PER_MINUTE = 60;
const calls = makeCalls(64, 1);

const suffix = hasNginx ? '' : ' (skipped: nginx is not installed; apt-get install nginx-light brings it)';

describe.skipIf(!hasNginx)(`a burst against limit_conn and limit_req of nginx${suffix}`, () => {
  let model: ModelServer;
  let nginx: Awaited<ReturnType<typeof startNginx>>;

  beforeEach(async () => {
    model = await startModelServer(1);
    nginx = await startNginx({ upstream: model.url, concurrency: CONCURRENCY, requestsPerMinute: REQUESTS_PER_MINUTE });
  });

  /** The calls through OpenAI's SDK, which sends them with this. */
  const sentBy = (fetch: Fetch, signal?: AbortSignal): Observable<Ended> => {
    const client = new OpenAI({ baseURL: `${nginx.url}/v1`, apiKey: 'none', maxRetries: 0, fetch });
    return burst(calls, chatThrough(openaiAsk(client, 'gpt-5'), new Board()), signal);
  };

  afterEach(async () => {
    await nginx.close();
    await model.close();
  });

  it('drowns in 429s when it is sent bare', async () => {
    const never = new AbortController().signal;
    // One signal for all the calls, on purpose: this run has no admission to give each its own.
    setMaxListeners(Infinity, never);
    const outcomes = await outcomesOf(sentBy(wire, never));
    expect(new Set(outcomes)).toEqual(new Set(['completed', 'limited']));
  });

  it('gets none through admission, and completes, refill included', async () => {
    const quota = new TokenBucket({
      name: 'nginx',
      tokensPerMinute: Number.MAX_SAFE_INTEGER,
      requestsPerMinute: REQUESTS_PER_MINUTE,
      headroom: 0.05,
    });
    const streams = new CountingGate({ name: 'streams', capacity: CONCURRENCY });
    const outcomes = await outcomesOf(sentBy(openaiFetch(createAdmission(), { quota, streams })));
    expect(outcomes).toEqual(calls.map(() => 'completed'));
  }, 60_000);
});

async function outcomesOf(burst: Observable<Ended>): Promise<Ended['outcome'][]> {
  return (await lastValueFrom(burst.pipe(toArray()), { defaultValue: [] })).map((end) => end.outcome);
}
