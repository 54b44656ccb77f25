/** Reads an answer as it passes by: what it used, and what went wrong inside it. */
import { saidByAws, saidByBody, saidByEvent, type Said } from '../usage-events.js';
import { inner, isJson, laterUsage, type Json, type Usage } from '../usage.js';
import { AwsEvents } from './aws-events.js';
import { joined, SseEvents } from './sse-events.js';

/** What became of an answer. */
export interface Reading {
  /** What was said of its usage; null where nothing was. */
  readonly usage: Usage | null;
  /** Whether that is the whole of it. */
  readonly isFinal: boolean;
  readonly error: Json | null;
}

/** Takes the chunks of a body as they pass, and answers with those to hand on. */
export interface AnswerReader {
  push(chunk: Uint8Array): readonly Uint8Array[];
  /** What was held back; nothing follows. */
  rest(): readonly Uint8Array[];
  readonly reading: Reading;
}

const NOTHING: Reading = { usage: null, isFinal: false, error: null };

/** A larger body is handed on as any, but not kept to be read; embeddings of a thousand texts take some 30 MB. */
const LARGEST_BODY = 64 * 2 ** 20;

/** What to read an answer with; `usageIsOurs` where the caller did not ask for the event that carries the usage. */
export function answerReader(contentType: string, usageIsOurs: boolean): AnswerReader {
  if (contentType.includes('event-stream')) return usageIsOurs ? new StreamWithoutUsage() : new StreamReader();
  if (contentType.includes('vnd.amazon.eventstream')) return new AwsStreamReader();
  return contentType.includes('json') ? new BodyReader() : new Unread();
}

/** Speech, images, files: nothing in them says what they used. */
class Unread implements AnswerReader {
  readonly reading = NOTHING;

  push(chunk: Uint8Array): readonly Uint8Array[] {
    return [chunk];
  }

  rest(): readonly Uint8Array[] {
    return [];
  }
}

class BodyReader implements AnswerReader {
  #chunks: Uint8Array[] = [];
  #size = 0;

  push(chunk: Uint8Array): readonly Uint8Array[] {
    this.#size += chunk.length;
    if (this.#size <= LARGEST_BODY) this.#chunks.push(chunk);
    else this.#chunks = [];
    return [chunk];
  }

  rest(): readonly Uint8Array[] {
    return [];
  }

  get reading(): Reading {
    return this.#size > LARGEST_BODY ? NOTHING : saidByBody(new TextDecoder().decode(joined(this.#chunks)));
  }
}

abstract class EventReader implements AnswerReader {
  reading: Reading = NOTHING;

  abstract push(chunk: Uint8Array): readonly Uint8Array[];

  rest(): readonly Uint8Array[] {
    return [];
  }

  protected hear(said: Said): void {
    const { usage, isFinal, error } = this.reading;
    this.reading = {
      usage: laterUsage(usage, said.usage),
      isFinal: isFinal || said.isFinal,
      error: error ?? said.error,
    };
  }
}

class StreamReader extends EventReader {
  protected readonly events = new SseEvents();

  override push(chunk: Uint8Array): readonly Uint8Array[] {
    for (const { name, data } of this.events.push(chunk)) this.hear(saidByEvent(name, data));
    return [chunk];
  }
}

/** Bedrock's. */
class AwsStreamReader extends EventReader {
  readonly #events = new AwsEvents();

  override push(chunk: Uint8Array): readonly Uint8Array[] {
    for (const { name, data } of this.#events.push(chunk)) this.hear(saidByAws(name, data));
    return [chunk];
  }
}

/**
 * Leaves out the one event that we asked for and the caller did not: programs that read `choices[0]` of every chunk would
 * trip over it. An event is handed on when it is whole.
 */
class StreamWithoutUsage extends StreamReader {
  override push(chunk: Uint8Array): readonly Uint8Array[] {
    const kept: Uint8Array[] = [];
    for (const { bytes, name, data } of this.events.push(chunk)) {
      this.hear(saidByEvent(name, data));
      if (!isUsageOnly(data)) kept.push(bytes);
    }
    return kept;
  }

  override rest(): readonly Uint8Array[] {
    const rest = this.events.rest();
    return rest.length > 0 ? [rest] : [];
  }
}

function isUsageOnly(data: string): boolean {
  // Cheap first: hardly any event has it.
  if (!/"choices"\s*:\s*\[\s*\]/.test(data)) return false;
  try {
    const chunk: unknown = JSON.parse(data);
    return isJson(chunk) && 'prompt_tokens' in inner(chunk, 'usage');
  } catch {
    return false;
  }
}
