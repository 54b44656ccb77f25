/** The burst in its three forms: bare, through another limiter, and through `admit`. The difference is the whole point of the library. */
import { from, mergeMap, of } from 'rxjs';
import type { Observable } from 'rxjs';
import { CancelledError, demand } from 'rx-admission';
import type { Admission, AdmissionError, CountingGate, TokenBucket } from 'rx-admission';
import { labelOf, type Call } from '../provider/calls.js';
import type { Chat, Ended } from './chat.js';
import type { Limiter } from './peers.js';

export function bare(calls: readonly Call[], chat: Chat, signal: AbortSignal): Observable<Ended> {
  return from(calls).pipe(mergeMap((call) => chat(call, signal)));
}

/** Each call runs when the limiter lets it. */
export function limited(
  calls: readonly Call[],
  chat: Chat,
  signal: AbortSignal,
  limit: Limiter,
): Observable<Ended> {
  return from(calls).pipe(
    mergeMap((call) => {
      const askedAt = performance.now();
      return limit(() => chat(call, signal, performance.now() - askedAt));
    }),
  );
}

export interface Accounts {
  /** Tokens and requests per minute. */
  readonly quota: TokenBucket;
  /** Calls at once. */
  readonly streams: CountingGate;
}

export function admitted(
  calls: readonly Call[],
  chat: Chat,
  { admit }: Admission,
  { quota, streams }: Accounts,
): Observable<Ended> {
  return from(calls).pipe(
    admit(
      (call) => demand([quota, call.tokens], streams),
      (call, grant) => chat(call, grant.signal, grant.wallWait),
      { job: labelOf, onRefused: (error, call) => of(refused(call, error)) },
    ),
  );
}

/** Never sent: the line was closed before its turn, or the quota can never fit it. */
function refused(call: Call, error: AdmissionError): Ended {
  const outcome = error instanceof CancelledError ? 'withdrawn' : 'failed';
  return { call, outcome, waited: 0, took: 0, sentAt: null, detail: error.message };
}
