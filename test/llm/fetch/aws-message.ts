/** Messages of AWS's event stream, by AWS's own encoder. */
import { EventStreamCodec } from '@smithy/core/event-streams';
import { fromUtf8, toUtf8 } from '@smithy/core/serde';

export const AWS_EVENTS = 'application/vnd.amazon.eventstream';

const codec = new EventStreamCodec(toUtf8, fromUtf8);

/** An event, or where it is called one, an exception. */
export function awsEvent(name: string, body: object): Uint8Array {
  const kind = name.endsWith('Exception') ? 'exception' : 'event';
  const headers = { ':message-type': kind, [`:${kind}-type`]: name, ':content-type': 'application/json' };
  const encoded = Object.entries(headers).map(([key, value]) => [key, { type: 'string' as const, value }] as const);
  return codec.encode({ headers: Object.fromEntries(encoded), body: fromUtf8(JSON.stringify(body)) });
}
