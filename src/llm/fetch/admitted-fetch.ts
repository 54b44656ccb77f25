/** A `fetch` that lets calls of a model in one by one, for any SDK that takes one. */
import type { Admission } from '../../index.js';
import { assertAdmission, type Known } from '../known-options.js';
import { ADMITTED, settingsOf, type AdmittedOptions } from './admitted-options.js';
import { exchange } from './exchange.js';
import { askingForUsage, lacksUsage } from './include-usage.js';
import { readCall, type FetchInit, type FetchInput } from './read-call.js';
import { refusalResponse } from './refusal.js';
import { patienceOf } from './sdk-timeout.js';
import { Turnstile } from './turnstile.js';

/** Options of whatever admits requests of HTTP. */
export interface AdmittedRequestOptions extends AdmittedOptions {
  /**
   * OpenAI's chat streams state their usage only when asked. `ask`: they are asked (Mistral's are not, which refuse that), and the event is left out of what the
   * caller sees. `leave`: the request stays as it is, and what was reserved stays spent. `ask` unless given.
   */
  readonly usage?: 'ask' | 'leave' | undefined;
  /** `response`: a refusal is the provider's 429, which its SDK does not retry. `throw`: it is the `AdmissionError`. */
  readonly onRefused?: 'response' | 'throw' | undefined;
}

export interface AdmittedFetchOptions extends AdmittedRequestOptions {
  /** What sends the requests; unless given, the `fetch` that is the global one when this is made. */
  readonly fetch?: Fetch | undefined;
}

export type Fetch = (input: FetchInput, init?: FetchInit) => Promise<Response>;

/**
 * A drop-in `fetch`: each request that asks a model for something waits for what it needs, and holds it until its answer has
 * been read to the end, has failed, was cancelled or was dropped. Other requests pass.
 *
 * Each attempt of an SDK's retry is a request, so it is admitted like any other. The SDK's own `timeout` runs while a call
 * waits: where the request states it, the call is refused once nine tenths of it have gone by in line; otherwise give a `maxWait`
 * below it.
 *
 * @throws TypeError when no account is named.
 *
 * @example
 * ```ts
 * const gpt = new TokenBucket({ name: 'gpt-5', tokensPerMinute: 200_000, requestsPerMinute: 500 });
 * const client = new OpenAI({ fetch: admittedFetch(createAdmission(), { tokens: gpt }) });
 * ```
 */
export function admittedFetch(admission: Admission, options: AdmittedFetchOptions): Fetch {
  const through = admittedRequests('admittedFetch', admission, options, { known: FETCH, patience: patienceOf });
  // Looked up once: what is made here may become the global one itself, and would ask its own line.
  const { fetch: send = globalThis.fetch } = options;
  return (input, init) => through(input, init, send);
}

const REQUESTS: Known<AdmittedRequestOptions> = { ...ADMITTED, usage: true, onRefused: true };
const FETCH: Known<AdmittedFetchOptions> = { ...REQUESTS, fetch: true };

/** Each request of HTTP, whatever sends it. */
export type AdmittedRequests = (input: FetchInput, init: FetchInit | undefined, send: Fetch) => Promise<Response>;

/** What one way of admitting requests has for itself. */
interface Way {
  readonly known: Readonly<Record<string, true>>;
  /** ms that a request may stand in line, since its sender's timer runs meanwhile. */
  readonly patience: (input: FetchInput, init: FetchInit | undefined) => number;
}

/** @throws TypeError when no account is named. */
export function admittedRequests(
  way: string,
  admission: Admission,
  options: AdmittedRequestOptions,
  { known = REQUESTS, patience = () => Infinity }: Partial<Way> = {},
): AdmittedRequests {
  assertAdmission(way, admission);
  const settings = settingsOf(way, options, known);
  const turnstile = new Turnstile(admission, settings);
  return async (input, init, send) => {
    const read = await readCall(input, init);
    if (read === null) return send(input, init);
    const { call, host, text } = read;
    const usageIsOurs = options.usage !== 'leave' && text !== null && lacksUsage(call, host);
    const sent = usageIsOurs ? askingForUsage(call, input, init ?? {}) : init;
    return exchange(turnstile, settings, {
      call,
      signal: init?.signal ?? (input instanceof Request ? input.signal : null),
      patience: patience(input, init),
      usageIsOurs,
      send: (signal) => send(input, { ...sent, signal }),
      refused: (error) => {
        if (options.onRefused === 'throw') throw error;
        return refusalResponse(error, call.protocol, admission.now());
      },
    });
  };
}
