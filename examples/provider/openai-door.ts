/** The front door of an OpenAI-compatible provider: its quota, its headers, its 429. */
import { reservationOf, type Quota, type Refusal } from './quota.js';
import type { KeptDoor, NoEntry } from './quota-proxy.js';

/** `costOf`: how many tokens a request is counted for when it arrives. */
export function openaiDoor(quota: Quota, costOf: (body: Readonly<Record<string, unknown>>) => number = reservationOf): KeptDoor {
  return {
    books: quota,
    arrive: (body, at) => {
      const refusal = quota.arrive(costOf(body), at);
      return refusal === null ? null : noEntry(refusal);
    },
    headers: (at) => quota.headers(at),
    leave: () => {
      quota.leave();
    },
  };
}

function noEntry({ reason, message, retryAfterMs }: Refusal): NoEntry {
  const type = reason === 'tokens' ? 'tokens' : 'requests';
  return {
    status: 429,
    headers:
      retryAfterMs === null
        ? {}
        : { 'retry-after': String(Math.ceil(retryAfterMs / 1000)), 'retry-after-ms': String(retryAfterMs) },
    body: { error: { message, type, param: null, code: 'rate_limit_exceeded' } },
  };
}
