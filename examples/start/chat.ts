/** One streaming chat call through an SDK, and what became of it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import type { Fetch } from 'rx-admission/llm';
import type { Call } from '../provider/calls.js';

export interface Ended {
  readonly call: Call;
  /** `limited`: a 429. `withdrawn`: it never left the line, or was cut off because the demo was interrupted. */
  readonly outcome: 'completed' | 'limited' | 'failed' | 'withdrawn';
  /** Ms in line before it was sent, and ms from then to its end. */
  readonly waited: number;
  readonly took: number;
  /** The instant it was sent, null where it was not. */
  readonly sentAt: number | null;
  readonly detail: string;
}

/** `askedAt`: since when it has waited, where that is earlier. */
export type Chat = (call: Call, signal?: AbortSignal, askedAt?: number) => Promise<Ended>;

/** Asks, tells each piece of the answer, and answers whether that came to its end. */
export type Ask = (call: Call, signal: AbortSignal | undefined, piece: () => void) => Promise<boolean>;

export interface InFlight {
  readonly sentAt: number;
  /** Chunks of the answer that have come. */
  pieces: number;
}

/** Who is in flight right now, and who has ended: what the live view shows. */
export class Board {
  readonly inFlight = new Map<Call, InFlight>();
  readonly ended: Ended[] = [];
  peak = 0;

  count(outcome: Ended['outcome']): number {
    return this.ended.filter((end) => end.outcome === outcome).length;
  }

  sent(call: Call): InFlight {
    const flight = { sentAt: performance.now(), pieces: 0 };
    this.inFlight.set(call, flight);
    this.peak = Math.max(this.peak, this.inFlight.size);
    return flight;
  }
}

interface Making {
  readonly call: Call;
  readonly board: Board;
  flight: InFlight | null;
}

const making = new AsyncLocalStorage<Making>();

/** The call that the code around it is about: an SDK has no place to say so. */
export const callBeingMade = (): Call | undefined => making.getStore()?.call;

/** The last thing before the network: what waits has waited when it comes here. */
export const wire: Fetch = (input, init) => {
  const made = making.getStore();
  if (made !== undefined) made.flight = made.board.sent(made.call);
  return fetch(input, init);
};

export function chatThrough(ask: Ask, board: Board): Chat {
  return async (call, signal, askedAt = performance.now()) => {
    const made: Making = { call, board, flight: null };
    const ended = (outcome: Ended['outcome'], detail = ''): Ended => {
      const [now, sentAt] = [performance.now(), made.flight?.sentAt ?? null];
      return { call, outcome, waited: (sentAt ?? now) - askedAt, took: sentAt === null ? 0 : now - sentAt, sentAt, detail };
    };
    const piece = (): void => {
      if (made.flight !== null) made.flight.pieces += 1;
    };
    try {
      const isWhole = await making.run(made, () => ask(call, signal, piece));
      // SDKs end an aborted stream like a whole one.
      if (signal?.aborted) return ended('withdrawn', 'cut off');
      return isWhole ? ended('completed') : ended('failed', 'the stream ended early');
    } catch (error) {
      return signal?.aborted ? ended('withdrawn', 'cut off') : ended(...outcomeOf(error));
    } finally {
      board.inFlight.delete(call);
    }
  };
}

export function openaiAsk(client: OpenAI, model: string): Ask {
  return async ({ messages, maxTokens }, signal, piece) => {
    const stream = await client.chat.completions.create(
      { model, messages, max_completion_tokens: maxTokens, stream: true, stream_options: { include_usage: true } },
      { signal },
    );
    let isWhole = false;
    for await (const chunk of stream) {
      piece();
      isWhole ||= Boolean(chunk.choices[0]?.finish_reason);
    }
    return isWhole;
  };
}

export function anthropicAsk(client: Anthropic, model: string): Ask {
  return async ({ messages, maxTokens }, signal, piece) => {
    const stream = await client.messages.create({ model, messages, max_tokens: maxTokens, stream: true }, { signal: signal ?? null });
    let isWhole = false;
    for await (const { type } of stream) {
      piece();
      isWhole ||= type === 'message_stop';
    }
    return isWhole;
  };
}

/** Both SDKs throw the answer's status and headers; admission's own no has a header that tells why. */
function outcomeOf(error: unknown): [Ended['outcome'], string] {
  const { status, headers, message } = error as Error & { readonly status?: number; readonly headers?: Headers };
  const refusal = headers?.get('x-rx-admission') ?? null;
  if (refusal !== null) return [refusal === 'shutdown' ? 'withdrawn' : 'failed', message];
  return status === 429 ? ['limited', message] : ['failed', String(rootOf(error))];
}

/** What lies at the bottom: the SDK says "Connection error.", its cause says which. */
function rootOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? rootOf(error.cause) : error;
}
