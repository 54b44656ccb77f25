/** A provider's quota: requests and tokens per minute, in buckets that refill all the time, and calls at once. */

export interface Limits {
  readonly requestsPerMinute: number;
  readonly tokensPerMinute: number;
  readonly concurrency: number;
  /** Providers may enforce the minute's requests second by second as well, and say so nowhere. Not unless given. */
  readonly requestsPerSecond?: number;
}

export type Reason = 'requests' | 'tokens' | 'concurrency';

export interface Refusal {
  readonly reason: Reason;
  readonly message: string;
  /** When the same request could pass, null where it never can. */
  readonly retryAfterMs: number | null;
}

/** One line of the quota's log. `at` is the instant of arrival, in ms. */
export interface Arrival {
  readonly at: number;
  readonly tokens: number;
  readonly refused: Reason | null;
}

/** What was asked of a provider, and what it made of it. */
export interface Books {
  readonly limits: Limits;
  readonly log: readonly Arrival[];
  /** The most calls that ever ran at once. */
  readonly peak: number;
}

const MINUTE = 60_000;

/** A minute's worth at most, unless it holds less, refilled all the time; the level is worked out when it is asked for. */
export class Bucket {
  #level: number;
  #at = 0;

  constructor(
    readonly perMinute: number,
    readonly most = perMinute,
  ) {
    this.#level = most;
  }

  level(at: number): number {
    if (at > this.#at) {
      this.#level = Math.min(this.most, this.#level + ((at - this.#at) * this.perMinute) / MINUTE);
      this.#at = at;
    }
    return this.#level;
  }

  take(amount: number, at: number): boolean {
    if (this.level(at) < amount) return false;
    this.#level -= amount;
    return true;
  }

  /** What was used is used, and may leave a debt. */
  spend(amount: number, at: number): void {
    this.#level = this.level(at) - amount;
  }

  /** Time until the level has reached `amount`; until it is full, unless told otherwise. */
  msUntil(at: number, amount = this.most): number {
    return Math.max(0, ((amount - this.level(at)) * MINUTE) / this.perMinute);
  }
}

/** Decides over each arrival as a provider does, and keeps the log that a report can trust. Time is an argument. */
export class Quota implements Books {
  readonly log: Arrival[] = [];
  /** The most calls that ever ran at once. */
  peak = 0;
  #active = 0;
  readonly #requests: Bucket;
  readonly #second: Bucket;
  readonly #tokens: Bucket;

  constructor(readonly limits: Limits) {
    const { requestsPerMinute, requestsPerSecond = requestsPerMinute } = limits;
    this.#requests = new Bucket(requestsPerMinute);
    this.#second = new Bucket(requestsPerSecond * 60, requestsPerSecond);
    this.#tokens = new Bucket(limits.tokensPerMinute);
  }

  /** Null lets the call in: it then occupies a place until `leave`, and its tokens are gone for good. */
  arrive(tokens: number, at: number): Refusal | null {
    const refusal = this.#judge(tokens, at);
    this.log.push({ at, tokens, refused: refusal?.reason ?? null });
    if (refusal === null) this.peak = Math.max(this.peak, ++this.#active);
    return refusal;
  }

  leave(): void {
    this.#active -= 1;
  }

  /** The headers that go with every answer. `reset` is the time until full again, as OpenAI has it. */
  headers(at: number): Record<string, string> {
    const of = (unit: string, bucket: Bucket) => ({
      [`x-ratelimit-limit-${unit}`]: String(bucket.perMinute),
      [`x-ratelimit-remaining-${unit}`]: String(Math.floor(bucket.level(at))),
      [`x-ratelimit-reset-${unit}`]: goDuration(bucket.msUntil(at)),
    });
    return { ...of('requests', this.#requests), ...of('tokens', this.#tokens) };
  }

  #judge(tokens: number, at: number): Refusal | null {
    const { requestsPerMinute, tokensPerMinute, concurrency } = this.limits;
    if (tokens > tokensPerMinute) {
      const message = `Request too large on tokens per min (TPM): Limit ${tokensPerMinute}, Requested ${tokens}.`;
      return { reason: 'tokens', message, retryAfterMs: null };
    }
    // The request is counted before it is known to pass: unsuccessful requests use up the limit too.
    if (!this.#requests.take(1, at)) {
      const used = requestsPerMinute - Math.floor(this.#requests.level(at));
      const figures = `Limit ${requestsPerMinute}, Used ${used}, Requested 1`;
      return tooFast('requests', `requests per min (RPM): ${figures}`, this.#requests.msUntil(at, 1));
    }
    if (!this.#second.take(1, at)) return tooFast('requests', 'requests', this.#second.msUntil(at, 1));
    if (this.#active >= concurrency) {
      return tooFast('concurrency', `concurrent requests: Limit ${concurrency}, Running ${this.#active}`, 1000);
    }
    if (!this.#tokens.take(tokens, at)) {
      const used = tokensPerMinute - Math.floor(this.#tokens.level(at));
      const figures = `Limit ${tokensPerMinute}, Used ${used}, Requested ${tokens}`;
      return tooFast('tokens', `tokens per min (TPM): ${figures}`, this.#tokens.msUntil(at, tokens));
    }
    return null;
  }
}

function tooFast(reason: Reason, what: string, wait: number): Refusal {
  const retryAfterMs = Math.ceil(wait);
  return {
    reason,
    message: `Rate limit reached on ${what}. Please try again in ${goDuration(retryAfterMs)}.`,
    retryAfterMs,
  };
}

/** What OpenAI sets aside for a chat call on arrival: a quarter of a token per byte, and room for the whole answer. */
export function reservationOf(body: Readonly<Record<string, unknown>>): number {
  const prompt = Math.ceil(Buffer.byteLength(JSON.stringify(body.messages ?? [])) / 4);
  return prompt + (Number(body.max_completion_tokens ?? body.max_tokens ?? 0) || 0);
}

/** As Go prints it and OpenAI sends it: `20ms`, `1.5s`, `6m0s`. */
export function goDuration(ms: number): string {
  const whole = Math.ceil(ms);
  if (whole < 1000) return whole === 0 ? '0s' : `${whole}ms`;
  const minutes = Math.floor(whole / MINUTE);
  const seconds = `${(whole % MINUTE) / 1000}s`;
  const hours = Math.floor(minutes / 60);
  if (hours > 0) return `${hours}h${minutes % 60}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}
