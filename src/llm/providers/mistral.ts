/** Mistral: tokens by the minute and by the month, and what each call was charged. */
import { MINUTE, MONTH, type Provider } from './provider.js';

export const mistral: Provider = {
  name: 'mistral',
  marks: ['x-ratelimitbysize-limit-minute', 'ratelimitbysize-limit', 'mistral-correlation-id'],
  rateLimits: [
    {
      meter: 'tokens',
      period: MINUTE,
      limit: 'x-ratelimitbysize-limit-minute',
      remaining: 'x-ratelimitbysize-remaining-minute',
      reset: 'ratelimitbysize-reset',
    },
    {
      meter: 'tokens',
      period: MONTH,
      limit: 'x-ratelimitbysize-limit-month',
      remaining: 'x-ratelimitbysize-remaining-month',
    },
  ],
  cost: 'ratelimitbysize-query-cost',
  failures: [],
};
