/** Groq: OpenAI's names, but requests are counted by the day and tokens by the minute. */
import { DAY, MINUTE, openaiGroup, type Provider } from './provider.js';

export const groq: Provider = {
  name: 'groq',
  marks: ['x-groq-region', 'x-groq-id'],
  rateLimits: [openaiGroup('requests', 'requests', DAY), openaiGroup('tokens', 'tokens', MINUTE)],
  failures: [
    // The flex tier is busy, and says so by a status of its own.
    { kind: 'capacity', reason: 'flex tier busy', weight: 1, words: ['capacity_exceeded'] },
    { kind: 'capacity', reason: 'flex tier busy', weight: 1, status: [498] },
  ],
};
