/** The doors of the SDK examples, with the limits that they enforce. */
import { anthropicDoor } from './anthropic-door.js';
import { openaiDoor } from './openai-door.js';
import type { KeptDoor } from './quota-proxy.js';
import { Quota, reservationOf } from './quota.js';

/** What the burst asks is a fifth more than a minute has. */
export const LIMITS = { tokensPerMinute: 560_000, requestsPerMinute: 500, concurrency: 32 };

/** What the burst asks is a fifth more input than a minute has. */
export const ANTHROPIC_LIMITS = { requestsPerMinute: 500, inputTokensPerMinute: 112_000, outputTokensPerMinute: 60_000 };

/** OpenAI counts a request for the greater of its prompt and the answer that it may have. */
const greater = (body: Readonly<Record<string, unknown>>): number => {
  const answer = Number(body.max_completion_tokens ?? body.max_tokens ?? 0);
  return Math.max(answer, reservationOf({ messages: body.messages }));
};

export const watchedOpenai = (): KeptDoor => openaiDoor(new Quota(LIMITS), greater);

export const watchedAnthropic = (): KeptDoor => anthropicDoor(ANTHROPIC_LIMITS);
