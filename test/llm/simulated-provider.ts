/** A provider in virtual time: a bucket of tokens that refills all the time, with the headers and the 429s of one. */
import { Observable, type SchedulerLike } from 'rxjs';

export interface SimulatedAnswer {
  readonly headers: Readonly<Record<string, string>>;
}

export interface SimulatedOptions {
  readonly tokensPerMinute: number;
  readonly scheduler: SchedulerLike;
  /** `openai`: limits on every answer, and how long to wait on a 429. `retry-after`: that alone. `none`: a bare 429. */
  readonly headers: 'openai' | 'retry-after' | 'none';
  /** ms from here to there; an answer takes that, and `thinking`, and that again. */
  readonly travel?: number;
  readonly thinking?: (tokens: number) => number;
}

/** Its own count, by another rule than ours: what was there is kept, and the refill is added when it is looked at. */
export class SimulatedProvider {
  accepted = 0;
  refused = 0;
  readonly #options: Required<SimulatedOptions>;
  #limit: number;
  #left: number;
  #lookedAt: number;

  constructor(options: SimulatedOptions) {
    this.#options = { travel: 20, thinking: (tokens) => 200 + tokens, ...options };
    this.#limit = options.tokensPerMinute;
    this.#left = this.#limit;
    this.#lookedAt = options.scheduler.now();
  }

  get limit(): number {
    return this.#limit;
  }

  /** From now on; what is left stays, or is cut. */
  set limit(tokensPerMinute: number) {
    this.#refill();
    this.#limit = tokensPerMinute;
    this.#left = Math.min(this.#left, tokensPerMinute);
  }

  /** A call: it arrives a little later, counts then, and is answered later still. */
  call(tokens: number): Observable<SimulatedAnswer> {
    const { scheduler, travel, thinking } = this.#options;
    return new Observable((subscriber) => {
      subscriber.add(
        scheduler.schedule(() => {
          const refusal = this.#count(tokens);
          const headers = this.#headers();
          subscriber.add(
            scheduler.schedule(() => {
              if (refusal !== null) subscriber.error({ ...refusal, headers: { ...headers, ...refusal.headers } });
              else {
                subscriber.next({ headers });
                subscriber.complete();
              }
            }, travel + (refusal === null ? thinking(tokens) : 0)),
          );
        }, travel),
      );
    });
  }

  #count(tokens: number): { status: number; message: string; headers: Record<string, string> } | null {
    this.#refill();
    if (tokens <= this.#left) {
      this.#left -= tokens;
      this.accepted += tokens;
      return null;
    }
    this.refused += 1;
    const wait = String(Math.ceil(((tokens - this.#left) * 60_000) / this.#limit));
    return { status: 429, message: 'Rate limit reached', headers: this.#options.headers === 'none' ? {} : { 'retry-after-ms': wait } };
  }

  #refill(): void {
    const now = this.#options.scheduler.now();
    this.#left = Math.min(this.#limit, this.#left + ((now - this.#lookedAt) * this.#limit) / 60_000);
    this.#lookedAt = now;
  }

  #headers(): Record<string, string> {
    if (this.#options.headers !== 'openai') return {};
    return {
      'x-ratelimit-limit-tokens': String(this.#limit),
      'x-ratelimit-remaining-tokens': String(Math.floor(this.#left)),
      'x-ratelimit-reset-tokens': `${String(Math.ceil(((this.#limit - this.#left) * 60_000) / this.#limit))}ms`,
    };
  }
}
