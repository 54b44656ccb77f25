/** Gemini: no headers at all; the body names the violated quotas and how long to wait. */
import type { Provider } from './provider.js';

export const gemini: Provider = {
  name: 'gemini',
  marks: [],
  rateLimits: [],
  failures: [
    { kind: 'stop', reason: 'daily quota exhausted', says: /PerDay/, words: ['RESOURCE_EXHAUSTED'] },
    // Not "none left" but "none at all": this tier has no such model.
    { kind: 'stop', reason: 'no quota on this tier', says: /\blimit: 0\b/, words: ['RESOURCE_EXHAUSTED'] },
    { kind: 'wait', reason: 'rate limited', weight: 1, words: ['RESOURCE_EXHAUSTED'] },
    { kind: 'capacity', reason: 'overloaded', weight: 3, words: ['UNAVAILABLE'] },
    { kind: 'transient', reason: 'server error', words: ['INTERNAL', 'DEADLINE_EXCEEDED'] },
    {
      kind: 'stop',
      reason: 'refused',
      words: ['INVALID_ARGUMENT', 'FAILED_PRECONDITION', 'PERMISSION_DENIED', 'UNAUTHENTICATED', 'NOT_FOUND'],
    },
  ],
};
