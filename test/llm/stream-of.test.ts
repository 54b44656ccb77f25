/** Streams of SDKs as observables: what aborts them, and what an abort looks like. */
import OpenAI from 'openai';
import { streamOf, type SdkStream } from 'rx-admission/llm';
import { firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { endOfStream, startModelServer, streamOpened, word } from './fetch/model-server.js';

const body = { model: 'gpt', stream: true as const, messages: [{ role: 'user' as const, content: 'Hello?' }] };

async function withServer(work: (client: OpenAI, closed: () => Promise<void>) => Promise<void>, ends: boolean): Promise<void> {
  let gone = (): void => undefined;
  const closed = new Promise<void>((resolve) => {
    gone = resolve;
  });
  const server = await startModelServer((asked) => {
    asked.answer.on('close', () => {
      gone();
    });
    streamOpened(asked).write(word('one'));
    if (ends) asked.answer.end(word('two') + endOfStream(asked));
  });
  try {
    await work(new OpenAI({ apiKey: 'none', baseURL: `${server.url}/v1`, maxRetries: 0 }), () => closed);
  } finally {
    await server.close();
  }
}

describe('streamOf', () => {
  it('hands on every event, and completes', () =>
    withServer(async (client) => {
      const events = await lastValueFrom(streamOf((signal) => client.chat.completions.create(body, { signal })).pipe(toArray()));
      expect(events.map(({ choices: [choice] }) => choice?.delta.content)).toEqual(['one', 'two', undefined]);
    }, true));

  it('aborts the call when nobody listens any more', () =>
    withServer(async (client, closed) => {
      const first = await firstValueFrom(streamOf((signal) => client.chat.completions.create(body, { signal })));
      expect(first.choices[0]?.delta.content).toBe('one');
      await closed();
    }, false));

  it('fails with the reason of its signal, where the SDK ends an aborted stream as if it were whole', () =>
    withServer(async (client, closed) => {
      const controller = new AbortController();
      const stop = new Error('the user left');
      const told: unknown[] = [];
      await new Promise<void>((resolve) => {
        streamOf((signal) => client.chat.completions.create(body, { signal }), { signal: controller.signal }).subscribe({
          next: () => {
            controller.abort(stop);
          },
          error: (error: unknown) => {
            told.push(error);
            resolve();
          },
          complete: resolve,
        });
      });
      await closed();
      expect(told).toEqual([stop]);
    }, false));

  it('starts nothing for a signal that has aborted already', async () => {
    let started = 0;
    const start = (): SdkStream<never> => {
      started += 1;
      throw new Error('started');
    };
    const stop = new Error('too late');
    await expect(lastValueFrom(streamOf(start, { signal: AbortSignal.abort(stop) }))).rejects.toBe(stop);
    expect(started).toBe(0);
  });

  it('fails with the error of a stream that fails by itself', async () => {
    const broke = new TypeError('terminated');
    async function* events(): AsyncGenerator<number> {
      yield await Promise.resolve(1);
      throw broke;
    }
    await expect(lastValueFrom(streamOf(() => events()))).rejects.toBe(broke);
  });

  it('stops a stream that only came once nobody listened', async () => {
    const controller = new AbortController();
    let come = (_stream: SdkStream<number>): void => undefined;
    const coming = new Promise<SdkStream<number>>((resolve) => {
      come = resolve;
    });
    streamOf(() => coming).subscribe().unsubscribe();
    async function* events(): AsyncGenerator<number> {
      yield await Promise.resolve(1);
    }
    come(Object.assign(events(), { controller }));
    await new Promise((resolve) => setTimeout(resolve));
    expect(controller.signal.aborted).toBe(true);
  });
});
