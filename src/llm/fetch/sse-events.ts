/** Cuts a stream of bytes into the events of an event stream, wherever the chunks end. */

/** One event, as it came: its bytes with the empty line that ends it, and what it says. */
export interface SseEvent {
  readonly bytes: Uint8Array;
  readonly name: string;
  readonly data: string;
}

const LF = 10;
const CR = 13;

export class SseEvents {
  readonly #decoder = new TextDecoder();
  /** The beginning of an event whose end has not come. */
  #open: Uint8Array[] = [];
  /** How the open event ends so far: line breaks at its very end, CRLF counted once. */
  #breaks = 0;
  #afterCr = false;

  /** The events that these bytes complete. */
  push(chunk: Uint8Array): SseEvent[] {
    const events: SseEvent[] = [];
    let start = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte === LF && this.#afterCr) {
        this.#afterCr = false;
        continue;
      }
      this.#afterCr = byte === CR;
      this.#breaks = byte === LF || byte === CR ? this.#breaks + 1 : 0;
      if (this.#breaks < 2) continue;
      // Its line feed belongs to the event that the carriage return ends.
      const end = byte === CR && chunk[at + 1] === LF ? at + 2 : at + 1;
      this.#open.push(chunk.subarray(start, end));
      events.push(this.#event(this.rest()));
      at = end - 1;
      start = end;
    }
    if (start < chunk.length) this.#open.push(chunk.subarray(start));
    return events;
  }

  /** What has come of an event that never ended. */
  rest(): Uint8Array {
    const open = this.#open;
    this.#open = [];
    this.#breaks = 0;
    this.#afterCr = false;
    return joined(open);
  }

  #event(bytes: Uint8Array): SseEvent {
    let name = '';
    const data: string[] = [];
    for (const line of this.#decoder.decode(bytes).split(/\r\n|\n|\r/)) {
      if (line.startsWith('data:')) data.push(line.slice(5).trim());
      else if (line.startsWith('event:')) name = line.slice(6).trim();
    }
    return { bytes, name, data: data.join('\n') };
  }
}

export function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const [only] = chunks;
  if (only !== undefined && chunks.length === 1) return only;
  const whole = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
