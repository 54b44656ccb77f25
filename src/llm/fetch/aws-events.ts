/** Cuts a stream of bytes into the messages of AWS's event stream, in which Bedrock answers. */
import { joined } from './sse-events.js';

/** One message: which event or exception it is, and what it says. */
export interface AwsEvent {
  readonly name: string;
  readonly data: string;
}

/** The lengths of the message and of its headers, and a checksum. Checksums are for the caller's reader to check. */
const PRELUDE = 12;
const CHECKSUM = 4;
/** A message may have 24 MB at most: what would be longer is none. */
const LARGEST = 24 * 2 ** 20;
/** The type of a header's value; Bedrock's are all of it. */
const STRING = 7;

const uint32 = (bytes: Uint8Array, at: number): number => new DataView(bytes.buffer, bytes.byteOffset).getUint32(at);

export class AwsEvents {
  readonly #decoder = new TextDecoder();
  /** The beginning of a message whose end has not come. */
  #open: Uint8Array = new Uint8Array();

  /** The messages that these bytes complete; what is no event stream completes none. */
  push(chunk: Uint8Array): AwsEvent[] {
    const events: AwsEvent[] = [];
    let open = joined([this.#open, chunk]);
    while (open.length >= PRELUDE) {
      const length = uint32(open, 0);
      if (length <= PRELUDE || length > LARGEST) return [];
      if (open.length < length) break;
      events.push(this.#event(open.subarray(0, length)));
      open = open.subarray(length);
    }
    this.#open = open;
    return events;
  }

  #event(message: Uint8Array): AwsEvent {
    const body = PRELUDE + uint32(message, 4);
    const name = this.#nameIn(message.subarray(PRELUDE, body));
    return { name, data: this.#decoder.decode(message.subarray(body, message.length - CHECKSUM)) };
  }

  #nameIn(headers: Uint8Array): string {
    let at = 0;
    const text = (lengthBytes: number): string => {
      const start = at + lengthBytes;
      const length = headers.subarray(at, start).reduce((sum, byte) => sum * 256 + byte, 0);
      at = start + length;
      return this.#decoder.decode(headers.subarray(start, at));
    };
    while (at < headers.length) {
      const key = text(1);
      if (headers[at] !== STRING) break;
      at += 1;
      const value = text(2);
      if (key === ':exception-type' || key === ':event-type') return value;
    }
    return '';
  }
}
