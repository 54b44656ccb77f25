/** One streaming chat call through the `openai` SDK, and what became of it. */
import { APIUserAbortError, RateLimitError } from 'openai';
import type OpenAI from 'openai';
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

export type Chat = (call: Call, signal: AbortSignal, waited?: number) => Promise<Ended>;

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
}

export function openaiChat(client: OpenAI, model: string, board: Board): Chat {
  return async (call, signal, waited = 0) => {
    const sentAt = performance.now();
    const ended = (outcome: Ended['outcome'], detail = ''): Ended => {
      return { call, outcome, waited, took: performance.now() - sentAt, sentAt, detail };
    };
    const flight = { sentAt, pieces: 0 };
    board.inFlight.set(call, flight);
    board.peak = Math.max(board.peak, board.inFlight.size);
    try {
      const stream = await client.chat.completions.create(
        {
          model,
          messages: call.messages,
          max_completion_tokens: call.maxTokens,
          stream: true,
          stream_options: { include_usage: true },
        },
        { signal },
      );
      let finished = false;
      for await (const chunk of stream) {
        flight.pieces += 1;
        finished ||= Boolean(chunk.choices[0]?.finish_reason);
      }
      // The SDK ends an aborted stream like a whole one.
      if (signal.aborted) return ended('withdrawn', 'cut off');
      return finished ? ended('completed') : ended('failed', 'the stream ended early');
    } catch (error) {
      if (error instanceof RateLimitError) return ended('limited', error.message);
      if (error instanceof APIUserAbortError) return ended('withdrawn', 'cut off');
      return ended('failed', String(rootOf(error)));
    } finally {
      board.inFlight.delete(call);
    }
  };
}

/** What lies at the bottom: the SDK says "Connection error.", its cause says which. */
function rootOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? rootOf(error.cause) : error;
}
