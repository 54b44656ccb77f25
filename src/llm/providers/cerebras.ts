/** Cerebras: requests by the day and tokens by the minute, each named so. */
import { DAY, MINUTE, openaiGroup, type Provider } from './provider.js';

export const cerebras: Provider = {
  name: 'cerebras',
  marks: ['x-ratelimit-limit-requests-day', 'x-ratelimit-limit-tokens-minute'],
  rateLimits: [openaiGroup('requests', 'requests-day', DAY), openaiGroup('tokens', 'tokens-minute', MINUTE)],
  failures: [],
};
