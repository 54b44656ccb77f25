/** The front door of Anthropic: requests, input tokens and output tokens apart, each in a bucket that refills all the time. */
import { Bucket } from './quota.js';
import type { NoEntry } from './quota-proxy.js';
import type { WatchedDoor } from './sdk-burst.js';

export interface AnthropicLimits {
  readonly requestsPerMinute: number;
  readonly inputTokensPerMinute: number;
  readonly outputTokensPerMinute: number;
}

/** What the burst asks is a fifth more input than a minute has. */
export const ANTHROPIC_LIMITS: AnthropicLimits = { requestsPerMinute: 500, inputTokensPerMinute: 115_000, outputTokensPerMinute: 60_000 };

/** Input is counted when a call arrives; output as it is produced, whatever `max_tokens` says: here at its end. */
export function anthropicDoor({ requestsPerMinute, inputTokensPerMinute, outputTokensPerMinute }: AnthropicLimits): WatchedDoor {
  const buckets = {
    requests: new Bucket(requestsPerMinute),
    'input-tokens': new Bucket(inputTokensPerMinute),
    'output-tokens': new Bucket(outputTokensPerMinute),
  };
  let [taken, lastIn, refusals] = [0, 0, 0];
  const refused = (what: keyof typeof buckets, wanted: number, at: number): NoEntry => {
    refusals += 1;
    const message = `This request would exceed your organization's rate limit of ${String(buckets[what].perMinute)} ${what.replace('-', ' ')} per minute.`;
    const wait = Math.ceil(buckets[what].msUntil(at, wanted) / 1_000);
    return {
      status: 429,
      headers: { 'retry-after': String(Math.max(1, wait)) },
      body: { type: 'error', error: { type: 'rate_limit_error', message } },
    };
  };
  return {
    perMinute: inputTokensPerMinute,
    get taken() {
      return taken;
    },
    get lastIn() {
      return lastIn;
    },
    get refusals() {
      return refusals;
    },
    arrive: (body, at) => {
      const input = inputOf(body);
      if (!buckets.requests.take(1, at)) return refused('requests', 1, at);
      if (buckets['output-tokens'].level(at) < 1) return refused('output-tokens', 1, at);
      if (!buckets['input-tokens'].take(input, at)) return refused('input-tokens', input, at);
      taken += input;
      lastIn = at;
      return null;
    },
    headers: (at) =>
      Object.fromEntries(
        Object.entries(buckets).flatMap(([what, bucket]) => [
          [`anthropic-ratelimit-${what}-limit`, String(bucket.perMinute)],
          [`anthropic-ratelimit-${what}-remaining`, String(Math.max(0, Math.floor(bucket.level(at))))],
          [`anthropic-ratelimit-${what}-reset`, rfc3339(bucket.msUntil(at))],
        ]),
      ),
    leave: (answer, at) => {
      buckets['output-tokens'].spend(outputOf(answer), at);
    },
  };
}

/** A quarter of the prompt's bytes, as the model server counts. */
export const inputOf = ({ messages = [] }: Readonly<Record<string, unknown>>): number =>
  Math.ceil(Buffer.byteLength(JSON.stringify(messages)) / 4);

/** What the answer itself says; the last word counts. */
const outputOf = (answer: string): number => Number([...answer.matchAll(/"output_tokens":(\d+)/g)].at(-1)?.[1] ?? 0);

/** Whole seconds, as Anthropic sends it: the instant at which the bucket is full again. */
const rfc3339 = (wait: number): string => `${new Date(Math.ceil((Date.now() + wait) / 1_000) * 1_000).toISOString().slice(0, 19)}Z`;
