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

export async function startModelServer(seed: number): Promise<ModelServer> {
  const random = seeded(seed);
  const server = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent' });
  server.onMessage(
    /./,
    async () => {
      await sleep(40 + random() * 160);
      const words = 6 + Math.floor(random() * WORDS.length);
      return { content: Array.from({ length: words }, (_, i) => WORDS[i % WORDS.length]).join(' ') };
    },
    { streamingProfile: { ttft: 20, tps: 50 }, chunkSize: 5 },
  );
  await server.start();
  return { url: server.url, close: () => server.stop() };
}
