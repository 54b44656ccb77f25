/** The front door of Anthropic: requests, input tokens and output tokens apart, each in a bucket that refills all the time. */
import type { KeptDoor, NoEntry } from './quota-proxy.js';
import { Bucket, type Arrival, type Books, type Reason } from './quota.js';

export interface AnthropicLimits {
  readonly requestsPerMinute: number;
  readonly inputTokensPerMinute: number;
  readonly outputTokensPerMinute: number;
  /** Calls at once. No limit unless given. */
  readonly concurrency?: number;
  /** Calls at once from which it is overloaded, which is nobody's quota. Never unless given. */
  readonly overloadedFrom?: number;
}

const CONCURRENT = 'Number of concurrent connections has exceeded your rate limit. Please try again later.';

/** Input is counted when a call arrives; output as it is produced, whatever `max_tokens` says: here at its end. */
export function anthropicDoor(limits: AnthropicLimits): KeptDoor {
  const { requestsPerMinute, inputTokensPerMinute, outputTokensPerMinute, concurrency = Infinity, overloadedFrom = Infinity } = limits;
  const buckets = {
    requests: new Bucket(requestsPerMinute),
    'input-tokens': new Bucket(inputTokensPerMinute),
    'output-tokens': new Bucket(outputTokensPerMinute),
  };
  const log: Arrival[] = [];
  let active = 0;
  const books = { limits: { requestsPerMinute, tokensPerMinute: inputTokensPerMinute, concurrency }, log, peak: 0 } satisfies Books;

  /** Who may not come in, and why. */
  const judged = (input: number, at: number): [Reason, NoEntry] | null => {
    const exceeded = (what: keyof typeof buckets, wanted: number): NoEntry => {
      const limit = `${buckets[what].perMinute.toLocaleString('en-US')} ${what.replace('-', ' ')} per minute`;
      return tooFast(`This request would exceed your organization's rate limit of ${limit}.`, buckets[what].msUntil(at, wanted));
    };
    if (!buckets.requests.take(1, at)) return ['requests', exceeded('requests', 1)];
    if (active >= overloadedFrom) return ['concurrency', OVERLOADED];
    if (active >= concurrency) return ['concurrency', tooFast(CONCURRENT, 1_000)];
    if (buckets['output-tokens'].level(at) < 1) return ['tokens', exceeded('output-tokens', 1)];
    if (!buckets['input-tokens'].take(input, at)) return ['tokens', exceeded('input-tokens', input)];
    return null;
  };

  return {
    books,
    arrive: (body, at) => {
      const tokens = inputOf(body);
      const [refused, noEntry] = judged(tokens, at) ?? [null, null];
      log.push({ at, tokens, refused });
      if (noEntry === null) books.peak = Math.max(books.peak, ++active);
      return noEntry;
    },
    headers: (at) => {
      const stated = { ...buckets, tokens: tighter(buckets['input-tokens'], buckets['output-tokens'], at) };
      return Object.fromEntries(
        Object.entries(stated).flatMap(([what, bucket]) => [
          [`anthropic-ratelimit-${what}-limit`, String(bucket.perMinute)],
          [`anthropic-ratelimit-${what}-remaining`, remaining(what, bucket.level(at))],
          [`anthropic-ratelimit-${what}-reset`, rfc3339(bucket.msUntil(at))],
        ]),
      );
    },
    leave: (answer, at) => {
      active -= 1;
      buckets['output-tokens'].spend(outputOf(answer), at);
    },
  };
}

function tooFast(message: string, wait: number): NoEntry {
  const headers = { 'retry-after': String(Math.max(1, Math.ceil(wait / 1_000))) };
  return { status: 429, headers, body: { type: 'error', error: { type: 'rate_limit_error', message } } };
}

/** It says no word of when. */
const OVERLOADED: NoEntry = {
  status: 529,
  headers: {},
  body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
};

/** A quarter of the prompt's bytes, as the model server counts. */
export const inputOf = ({ messages = [] }: Readonly<Record<string, unknown>>): number =>
  Math.ceil(Buffer.byteLength(JSON.stringify(messages)) / 4);

/** What the answer itself says; the last word counts. */
const outputOf = (answer: string): number => Number([...answer.matchAll(/"output_tokens":(\d+)/g)].at(-1)?.[1] ?? 0);

/** What it calls `tokens` is whichever is nearer to its end. */
const tighter = (one: Bucket, other: Bucket, at: number): Bucket =>
  one.level(at) / one.perMinute <= other.level(at) / other.perMinute ? one : other;

/** Tokens are stated to the nearest thousand. */
const remaining = (what: string, level: number): string =>
  String(Math.max(0, what === 'requests' ? Math.floor(level) : Math.round(level / 1_000) * 1_000));

/** Whole seconds: the instant at which the bucket is full again. */
const rfc3339 = (wait: number): string => `${new Date(Math.ceil((Date.now() + wait) / 1_000) * 1_000).toISOString().slice(0, 19)}Z`;
