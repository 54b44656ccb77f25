/** The doors of the SDK examples, with the limits that they enforce and the books that they keep. */
import { ANTHROPIC_LIMITS, anthropicDoor } from './anthropic-door.js';
import { openaiDoor } from './openai-door.js';
import { Quota, reservationOf } from './quota.js';
import type { WatchedDoor } from './sdk-burst.js';

export { ANTHROPIC_LIMITS } from './anthropic-door.js';

/** What the burst asks is a fifth more than a minute has. */
export const LIMITS = { tokensPerMinute: 560_000, requestsPerMinute: 500, concurrency: 32 };

/** OpenAI counts a request for the greater of its prompt and the answer that it may have. */
const greater = (body: Readonly<Record<string, unknown>>): number => {
  const answer = Number(body.max_completion_tokens ?? body.max_tokens ?? 0);
  return Math.max(answer, reservationOf({ messages: body.messages }));
};

export function openaiBooks(): WatchedDoor {
  const quota = new Quota(LIMITS);
  const letIn = () => quota.log.filter(({ refused }) => refused === null);
  return {
    ...openaiDoor(quota, greater),
    get perMinute() {
      return LIMITS.tokensPerMinute;
    },
    get taken() {
      return letIn().reduce((sum, { tokens }) => sum + tokens, 0);
    },
    get lastIn() {
      return letIn().at(-1)?.at ?? 0;
    },
    get refusals() {
      return quota.log.filter(({ refused }) => refused !== null).length;
    },
  };
}

export function anthropicBooks(): WatchedDoor {
  return anthropicDoor(ANTHROPIC_LIMITS);
}
