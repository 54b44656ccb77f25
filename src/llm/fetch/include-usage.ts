/** Asks OpenAI's chat streams for their usage, which they only state when asked. */
import type { LlmCall } from '../call.js';
import { inner } from '../usage.js';

/** Mistral states it unasked, and answers 422 to whoever asks: it takes no member that it does not know. */
const REFUSES = /(^|\.)mistral\.ai$/;

/** Whether a request streams without asking for its usage; the Responses API and other protocols state it unasked. */
export const lacksUsage = ({ operation, protocol, body }: LlmCall, host: string): boolean =>
  !REFUSES.test(host) &&
  protocol === 'openai' &&
  (operation === 'chat/completions' || operation === 'completions') &&
  body.stream === true &&
  inner(body, 'stream_options').include_usage === undefined;

/** The same request, asking for its usage; the length that it may have stated is not its length any more. */
export function askingForUsage({ body }: LlmCall, input: unknown, init: RequestInit): RequestInit {
  // Those of an init replace those of a Request altogether.
  const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
  headers.delete('content-length');
  const stream_options = { ...inner(body, 'stream_options'), include_usage: true };
  return { ...init, headers, body: JSON.stringify({ ...body, stream_options }) };
}
