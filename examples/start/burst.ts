/** The burst, all at once or through another limiter; and the lines that let its calls in. The difference is the whole point of the library. */
import { from, mergeMap } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Admission, CountingGate, TokenBucket } from 'rx-admission';
import { admittedFetch, anthropicMiddleware, charge } from 'rx-admission/llm';
import type { AnthropicMiddleware, Fetch } from 'rx-admission/llm';
import { labelOf, type Call } from '../provider/calls.js';
import { callBeingMade, wire, type Chat, type Ended } from './chat.js';
import type { Limiter } from './peers.js';

/** All at once: whoever waits, waits inside of the client. */
export function burst(calls: readonly Call[], chat: Chat, signal?: AbortSignal): Observable<Ended> {
  return from(calls).pipe(mergeMap((call) => chat(call, signal)));
}

/** Each call runs when the limiter lets it. */
export function limited(calls: readonly Call[], chat: Chat, signal: AbortSignal, limit: Limiter): Observable<Ended> {
  return from(calls).pipe(
    mergeMap((call) => {
      const askedAt = performance.now();
      return limit(() => chat(call, signal, askedAt));
    }),
  );
}

export interface Accounts {
  /** Tokens and requests per minute. */
  readonly quota: TokenBucket;
  /** Calls at once. */
  readonly streams: CountingGate;
}

/** For `new OpenAI({ fetch })`. This provider sets prompt and answer aside together. */
export function openaiFetch(admission: Admission, { quota, streams }: Accounts): Fetch {
  return admittedFetch(admission, { tokens: quota, permits: [streams], charge: charge.openai({ reserve: 'sum' }), job, fetch: wire });
}

/** For `new Anthropic({ middleware })`. */
export function anthropicEntry(admission: Admission, { quota, streams }: Accounts): AnthropicMiddleware {
  return anthropicMiddleware(admission, { input: quota, permits: [streams], job });
}

/** What the view calls it. */
const job = (): string => {
  const call = callBeingMade();
  return call === undefined ? 'a call' : labelOf(call);
};
