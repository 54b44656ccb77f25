/** What a token bucket is limited to: as it was configured, with its headroom left out, and what can never fit. */
import { RefusedError } from '../errors.js';
import type { Minute, Pair } from './minute.js';
import { positive, withHeadroom } from './validation.js';

export interface TokenBucketLimits {
  /** Tokens refilled per minute, and the most that can be there. */
  readonly tokensPerMinute: number;
  /** Requests per minute; every amount of a demand is one request. Unlimited unless given. */
  readonly requestsPerMinute?: number | undefined;
}

interface Owner {
  readonly name: string;
}

/** The same, for keeps. */
export const limitsOf = ({ tokensPerMinute, requestsPerMinute }: TokenBucketLimits): TokenBucketLimits =>
  Object.freeze({ tokensPerMinute, requestsPerMinute });

/** @throws RangeError when a limit is not a positive number. */
export function capsOf(limits: TokenBucketLimits, headroom: number, owner: Owner): Pair {
  const tokens = positive('tokensPerMinute', limits.tokensPerMinute, owner);
  const requests = limits.requestsPerMinute;
  if (requests !== undefined && requests !== Infinity) positive('requestsPerMinute', requests, owner);
  const scaled = (limit: number): number => withHeadroom(limit, headroom);
  return { tokens: scaled(tokens), requests: requests === undefined ? Infinity : scaled(requests) };
}

/** @throws RefusedError when a minute never holds that much. */
export function refuseImpossible({ tokens, requests }: Minute, asked: Pair, owner: Owner): void {
  if (asked.tokens > tokens.cap) throw exceeding('tokens', asked.tokens, tokens.cap, 'send less at once', owner);
  if (asked.requests > requests.cap) throw exceeding('requests', asked.requests, requests.cap, 'ask for fewer at once', owner);
}

function exceeding(what: string, asked: number, budget: number, remedy: string, { name }: Owner): RefusedError {
  const message = `${name}: ${String(asked)} ${what} exceed the budget of ${String(budget)} ${what} per minute; ${remedy}`;
  return new RefusedError(message, { account: name });
}
