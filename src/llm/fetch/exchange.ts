/** One attempt over HTTP: let in, sent, and watched until its answer has been read to the end. */
import { AdmissionError } from '../../index.js';
import type { LlmCall } from '../call.js';
import type { Settings } from './admitted-options.js';
import { answerReader, type AnswerReader } from './answer-reader.js';
import { heldStream, type Holder } from './held-stream.js';
import type { Passage } from './passage.js';
import type { Turnstile } from './turnstile.js';

export interface Exchange {
  readonly call: LlmCall;
  readonly signal: AbortSignal | null | undefined;
  /** ms that it may stand in line, whatever the options allow. */
  readonly patience: number;
  /** Whether the event that carries the usage was asked for by us. */
  readonly usageIsOurs: boolean;
  /** Sends it; `signal` aborts with the caller's, and when a drain runs out of time. */
  readonly send: (signal: AbortSignal) => Promise<Response>;
  /** The answer to a refusal, or a throw. */
  readonly refused: (error: AdmissionError) => Response;
}

/** @throws whatever `fetch` throws; the signal's reason when it aborts in line. */
export async function exchange(turnstile: Turnstile, settings: Settings, attempt: Exchange): Promise<Response> {
  const { call, signal, patience, send, refused } = attempt;
  let passage: Passage;
  try {
    passage = await turnstile.enter(call, signal, patience);
  } catch (error) {
    // As fetch does.
    if (signal?.aborted) throw signal.reason;
    if (error instanceof AdmissionError) return refused(error);
    throw error;
  }
  let response: Response;
  try {
    response = await send(passage.signal);
  } catch (error) {
    passage.broke(error);
    throw error;
  }
  try {
    passage.heard(response.headers, response.ok);
    return response.ok ? watched(response, passage, attempt, settings) : await judged(response, passage);
  } catch (error) {
    // An answer that is none, or whose body somebody has read or locked already.
    passage.broke(error);
    throw error;
  }
}

/** An answer of success: its grant is held until the body has ended. */
function watched(response: Response, passage: Passage, { usageIsOurs }: Exchange, settings: Settings): Response {
  if (response.body === null) {
    passage.end({ kind: 'answered', usage: null });
    return response;
  }
  const reader = answerReader(response.headers.get('content-type') ?? '', usageIsOurs);
  const holder = holderOf(passage, reader);
  return like(response, heldStream<Uint8Array>(response.body as ReadableStream<Uint8Array>, holder, settings.maxHold));
}

function holderOf(passage: Passage, reader: AnswerReader): Holder<Uint8Array> {
  return {
    pass: (chunk) => reader.push(chunk),
    rest: () => reader.rest(),
    whole: () => {
      const { usage, isFinal, error } = reader.reading;
      const final = isFinal ? usage : null;
      passage.end(error === null ? { kind: 'answered', usage: final } : { kind: 'failed', error, usage: final });
    },
    broke: (error) => {
      passage.broke(error);
    },
    left: (why) => {
      const { usage, isFinal } = reader.reading;
      passage.left(isFinal ? usage : null, why);
    },
  };
}

/**
 * An answer of failure: what it says decides what the accounts learn, and SDKs throw its body away before a retry. So it is
 * read here, and handed on with the same bytes; nothing runs any more that a grant would have to be held for.
 */
async function judged(response: Response, passage: Passage): Promise<Response> {
  const { status, headers } = response;
  let bytes: ArrayBuffer;
  try {
    bytes = await response.arrayBuffer();
  } catch (error) {
    passage.broke({ status, headers });
    throw error;
  }
  const error = { status, headers, body: new TextDecoder().decode(bytes) };
  const told = new Headers(headers);
  // SDKs would ask again for what can never succeed, and sleep through any Retry-After, each attempt in line.
  if (passage.isHopeless(error)) told.set('x-should-retry', 'false');
  passage.end({ kind: 'refused', error });
  return like(response, response.body === null ? null : bytes, told);
}

/** The same answer with another body. A constructed one forgets where it came from. */
function like(response: Response, body: ReadableStream<Uint8Array> | ArrayBuffer | null, headers = response.headers): Response {
  const { status, statusText } = response;
  const copy = new Response(body, { status, statusText, headers });
  for (const key of ['url', 'redirected', 'type'] as const) Object.defineProperty(copy, key, { value: response[key] });
  return copy;
}
