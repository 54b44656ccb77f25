/** Together: limits by the second, which grow with steady success. */
import { SECOND, type Provider } from './provider.js';

export const together: Provider = {
  name: 'together',
  marks: ['x-tokenlimit-limit'],
  rateLimits: [
    {
      meter: 'requests',
      period: SECOND,
      limit: 'x-ratelimit-limit',
      remaining: 'x-ratelimit-remaining',
      reset: 'x-ratelimit-reset',
    },
    { meter: 'tokens', period: SECOND, limit: 'x-tokenlimit-limit', remaining: 'x-tokenlimit-remaining' },
  ],
  failures: [
    // Below the dynamic limit a refusal is theirs; above it, it is a 429.
    { kind: 'capacity', reason: 'unavailable', weight: 3, status: [503], of: 'together' },
  ],
};
