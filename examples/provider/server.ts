/** An OpenAI-compatible model server on loopback: it streams made-up answers at a human pace, and has no limits. */
import { LLMock } from '@copilotkit/aimock';
import { setTimeout as sleep } from 'node:timers/promises';
import { seeded } from './calls.js';

export interface ModelServer {
  readonly url: string;
  close(): Promise<void>;
}

const ANSWER = 'wait holding nothing then take all of it or none and give it back before anyone hears you are done';
const WORDS = ANSWER.split(' ');

/** In the words of both protocols: a quarter of a token for each byte. */
function usageOf(prompt: string, answer: string) {
  const [input, output] = [prompt, answer].map((text) => Math.ceil(Buffer.byteLength(text) / 4)) as [number, number];
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output, input_tokens: input, output_tokens: output };
}

export async function startModelServer(seed: number): Promise<ModelServer> {
  const random = seeded(seed);
  const server = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent' });
  server.onMessage(
    /./,
    async ({ messages }) => {
      await sleep(40 + random() * 160);
      const words = 6 + Math.floor(random() * WORDS.length);
      const content = Array.from({ length: words }, (_, i) => WORDS[i % WORDS.length]).join(' ');
      return { content, usage: usageOf(JSON.stringify(messages), content) };
    },
    { streamingProfile: { ttft: 20, tps: 50 }, chunkSize: 5 },
  );
  await server.start();
  return { url: server.url, close: () => server.stop() };
}
