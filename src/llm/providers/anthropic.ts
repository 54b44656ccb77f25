/** Anthropic: requests, input and output tokens apart, each a bucket that refills all the time. */
import { MINUTE, type HeaderGroup, type Provider } from './provider.js';
import type { Meter } from '../rate-limits.js';

/** What is left of tokens is rounded to the nearest thousand. */
const TOKEN_GRAIN = 1_000;

const group = (meter: Meter, unit: string, more: Partial<HeaderGroup> = {}): HeaderGroup => ({
  meter,
  period: MINUTE,
  limit: `${unit}-limit`,
  remaining: `${unit}-remaining`,
  reset: `${unit}-reset`,
  ...more,
});

export const anthropic: Provider = {
  name: 'anthropic',
  marks: [
    'anthropic-ratelimit-requests-limit',
    'anthropic-ratelimit-tokens-limit',
    'anthropic-ratelimit-input-tokens-limit',
    'anthropic-organization-id',
  ],
  rateLimits: [
    group('requests', 'anthropic-ratelimit-requests'),
    // The tightest limit in effect, whichever it is.
    group('tokens', 'anthropic-ratelimit-tokens', { grain: TOKEN_GRAIN }),
    group('input-tokens', 'anthropic-ratelimit-input-tokens', { grain: TOKEN_GRAIN }),
    group('output-tokens', 'anthropic-ratelimit-output-tokens', { grain: TOKEN_GRAIN }),
    group('input-tokens', 'anthropic-priority-input-tokens', { grain: TOKEN_GRAIN, pool: 'priority' }),
    group('output-tokens', 'anthropic-priority-output-tokens', { grain: TOKEN_GRAIN, pool: 'priority' }),
  ],
  failures: [
    { kind: 'stop', reason: 'spend limit', words: ['enforced_spend_limit_reached'] },
    { kind: 'stop', reason: 'billing', words: ['billing_error'] },
    { kind: 'stop', reason: 'usage limit', says: /\bAPI usage limits\b/i, status: [400] },
    { kind: 'stop', reason: 'request too large', words: ['request_too_large'] },
    { kind: 'stop', reason: 'context too long', says: /\bprompt is too long\b|\bexceed context limit\b/i },
    {
      kind: 'stop',
      reason: 'refused',
      words: ['invalid_request_error', 'authentication_error', 'permission_error', 'not_found_error'],
      of: 'anthropic',
    },
    { kind: 'capacity', reason: 'overloaded', weight: 3, words: ['overloaded_error'] },
    { kind: 'capacity', reason: 'overloaded', weight: 3, status: [529] },
    // Too steep a ramp: a 429 that has nothing to do with how much of the minute is used.
    { kind: 'capacity', reason: 'acceleration limit', weight: 1, says: /\bacceleration\b/i, status: [429] },
    { kind: 'wait', reason: 'rate limited', weight: 1, words: ['rate_limit_error'] },
    { kind: 'transient', reason: 'server error', words: ['api_error', 'timeout_error'] },
  ],
};
