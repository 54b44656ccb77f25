/**
 * OpenAI's SDK, 200 calls at once, in front of a provider that enforces its limits: as it is, it drowns in 429s, its own
 * retries and all; with three lines more there is none, and the budget is used.
 */
import OpenAI from 'openai';
import { CountingGate, TokenBucket, createAdmission } from 'rx-admission';
import { admittedFetch } from 'rx-admission/llm';
import { compare, type Ask } from '../provider/sdk-burst.js';
import { LIMITS, watchedOpenai } from '../provider/watched-doors.js';

const apiKey = 'none';

const asked =
  (client: OpenAI): Ask =>
  async ({ messages, maxTokens }) => {
    const stream = await client.chat.completions.create({ model: 'gpt-5', messages, max_completion_tokens: maxTokens, stream: true });
    for await (const _chunk of stream);
  };

await compare({
  name: 'openai',
  openDoor: watchedOpenai,
  plain: (url) => asked(new OpenAI({ apiKey, baseURL: `${url}/v1` })),
  admitted: (url) => {
    const gpt = new TokenBucket({ name: 'gpt-5', ...LIMITS, headroom: 0.04 });
    const places = new CountingGate({ name: 'places', capacity: LIMITS.concurrency });
    const fetch = admittedFetch(createAdmission(), { tokens: gpt, permits: [places] });
    return asked(new OpenAI({ apiKey, baseURL: `${url}/v1`, fetch }));
  },
});
