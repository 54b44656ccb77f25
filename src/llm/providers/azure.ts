/** Azure OpenAI: OpenAI's headers; tokens count on arrival, by estimate; limits may be lowered for hours. */
import { MINUTE, openaiGroup, type Provider } from './provider.js';

export const azure: Provider = {
  name: 'azure',
  marks: ['apim-request-id', 'x-ms-region', 'x-ms-retry-after-ms', 'x-ms-rai-invoked', 'azureml-model-session'],
  rateLimits: [openaiGroup('requests', 'requests', MINUTE), openaiGroup('tokens', 'tokens', MINUTE)],
  failures: [
    // Theirs, not the quota's, though it is a 429.
    { kind: 'capacity', reason: 'high demand', weight: 1, says: /\bhigh demand\b/i },
    { kind: 'wait', reason: 'rate limited', weight: 1, words: ['RateLimitReached'] },
    { kind: 'stop', reason: 'quota exhausted', words: ['QuotaExceeded'] },
  ],
};
