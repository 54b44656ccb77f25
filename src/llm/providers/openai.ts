/** OpenAI: one bucket of tokens and one of requests per minute; reset is the time until full. */
import { DAY, MINUTE, openaiGroup, type Provider } from './provider.js';

export const openai: Provider = {
  name: 'openai',
  marks: ['openai-organization', 'openai-processing-ms', 'openai-version', 'x-ratelimit-limit-requests', 'x-ratelimit-limit-tokens'],
  rateLimits: [
    // Some models are limited by the day.
    { ...openaiGroup('requests', 'requests', MINUTE), orPeriod: DAY },
    openaiGroup('tokens', 'tokens', MINUTE),
    // Present where a project has a limit of its own; the smaller of the two binds.
    openaiGroup('tokens', 'project-tokens', MINUTE, 'project'),
    openaiGroup('requests', 'project-requests', MINUTE, 'project'),
    openaiGroup('tokens', 'tokens_usage_based', MINUTE, 'usage based'),
  ],
  failures: [
    {
      kind: 'stop',
      reason: 'quota exhausted',
      words: ['insufficient_quota', 'credit_balance_exhausted', 'billing_hard_limit_reached'],
    },
    {
      kind: 'stop',
      reason: 'spend limit',
      words: [
        'organization_spend_limit_exceeded',
        'project_spend_limit_exceeded',
        'organization_usage_limit_exceeded',
      ],
    },
    { kind: 'stop', reason: 'context too long', words: ['context_length_exceeded', 'string_above_max_length'] },
    // A 429 like any other by its code: only the text, before which some write the status, says that no wait will help.
    { kind: 'stop', reason: 'larger than the limit', says: /^(?:\d{3} )?request too large\b/i },
    { kind: 'capacity', reason: 'asked to slow down', weight: 3, words: ['slow_down'] },
    { kind: 'wait', reason: 'rate limited', weight: 1, words: ['rate_limit_exceeded'] },
    { kind: 'transient', reason: 'server error', words: ['server_error', 'internal_error'] },
  ],
};
