/** OpenRouter: headers on its own 429s only; errors of those behind it arrive with a numeric code. */
import type { Provider } from './provider.js';

export const openrouter: Provider = {
  name: 'openrouter',
  marks: ['x-ratelimit-limit'],
  rateLimits: [
    {
      meter: 'requests',
      period: null,
      limit: 'x-ratelimit-limit',
      remaining: 'x-ratelimit-remaining',
      // An epoch in ms.
      reset: 'x-ratelimit-reset',
    },
  ],
  failures: [{ kind: 'stop', reason: 'out of credits', status: [402] }],
};
