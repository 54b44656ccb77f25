/**
 * Anthropic's SDK, 200 calls at once, in front of a provider that counts input and output apart: as it is, it drowns in
 * 429s, its own retries and all; with three lines more there is none, and the budget is used.
 */
import Anthropic from '@anthropic-ai/sdk';
import { TokenBucket, createAdmission } from 'rx-admission';
import { anthropicMiddleware } from 'rx-admission/llm';
import { compare, type Ask } from '../provider/sdk-burst.js';
import { ANTHROPIC_LIMITS, watchedAnthropic } from '../provider/watched-doors.js';

const apiKey = 'none';

const asked =
  (client: Anthropic): Ask =>
  async ({ messages, maxTokens }) => {
    for await (const _event of await client.messages.create({ model: 'claude', messages, max_tokens: maxTokens, stream: true }));
  };

await compare({
  name: 'anthropic',
  openDoor: watchedAnthropic,
  plain: (url) => asked(new Anthropic({ apiKey, baseURL: url })),
  admitted: (url) => {
    const { inputTokensPerMinute, outputTokensPerMinute, requestsPerMinute } = ANTHROPIC_LIMITS;
    const input = new TokenBucket({ name: 'input', tokensPerMinute: inputTokensPerMinute, requestsPerMinute, headroom: 0.04 });
    const output = new TokenBucket({ name: 'output', tokensPerMinute: outputTokensPerMinute, headroom: 0.04 });
    const middleware = [anthropicMiddleware(createAdmission(), { input, output })];
    return asked(new Anthropic({ apiKey, baseURL: url, middleware }));
  },
});
