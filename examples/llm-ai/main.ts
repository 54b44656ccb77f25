/**
 * Vercel's AI SDK, 100 times `generateText` and 100 times `streamText` at once, in front of a provider that enforces its
 * limits: as it is, it drowns in 429s, its own retries and all; with three lines more there is none.
 */
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, streamText, wrapLanguageModel, type LanguageModel } from 'ai';
import { CountingGate, TokenBucket, createAdmission } from 'rx-admission';
import { aiMiddleware } from 'rx-admission/llm';
import { compare, type Ask } from '../provider/sdk-burst.js';
import { LIMITS, watchedOpenai } from '../provider/watched-doors.js';

const modelAt = (url: string) => createOpenAI({ apiKey: 'none', baseURL: `${url}/v1` }).chat('gpt-5');

const asked =
  (model: LanguageModel): Ask =>
  async ({ id, messages, maxTokens: maxOutputTokens }) => {
    if (id % 2 === 0) {
      await generateText({ model, messages, maxOutputTokens });
      return;
    }
    const failures: unknown[] = [];
    const { textStream } = streamText({ model, messages, maxOutputTokens, onError: ({ error }) => void failures.push(error) });
    for await (const _text of textStream);
    if (failures.length > 0) throw failures[0];
  };

await compare({
  name: 'ai',
  openDoor: watchedOpenai,
  plain: (url) => asked(modelAt(url)),
  admitted: (url) => {
    const gpt = new TokenBucket({ name: 'gpt-5', ...LIMITS, headroom: 0.04 });
    const places = new CountingGate({ name: 'places', capacity: LIMITS.concurrency });
    const middleware = aiMiddleware(createAdmission(), { tokens: gpt, permits: [places] });
    return asked(wrapLanguageModel({ model: modelAt(url), middleware }));
  },
});
