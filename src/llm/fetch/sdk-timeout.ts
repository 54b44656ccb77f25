/** How long a call may stand in line while the timer of its SDK runs. */
import type { FetchInit, FetchInput } from './read-call.js';

/** The rest is for the server to answer in: a call that is let in at the last moment would be cut off, and cost all the same. */
const SHARE = 0.9;

/**
 * The ms that a request may wait: nine tenths of the `timeout` that its SDK states, in whole seconds. Anthropic's always does,
 * OpenAI's and Groq's where the call was given one. Infinity where none is stated, or one below a second, which reads as zero.
 *
 * Such a timer starts before `fetch` is called. When it ends in line, the SDK gives up that attempt and queues for another,
 * at the end of the line, and fails in the end with a timeout that names no reason.
 */
export function patienceOf(input: FetchInput, init: FetchInit | undefined): number {
  const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
  const seconds = Number(headers.get('x-stainless-timeout'));
  return seconds > 0 ? seconds * 1_000 * SHARE : Infinity;
}
