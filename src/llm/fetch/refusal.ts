/** A refusal in the words of the provider: the 429 that its SDK understands, and does not retry. */
import type { AdmissionError } from '../../index.js';
import type { Protocol } from '../call.js';

/**
 * A synthetic 429. `x-should-retry` keeps the SDKs of OpenAI and Anthropic from asking again; `code` (or what the protocol has
 * in its place) is `admission_` and the reason.
 */
export function refusalResponse(error: AdmissionError, protocol: Protocol | null, now: number): Response {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'x-should-retry': 'false',
    'x-rx-admission': error.reason,
  };
  if (error.retryAt !== undefined) headers['retry-after'] = String(Math.max(1, Math.ceil((error.retryAt - now) / 1_000)));
  return new Response(JSON.stringify(bodyOf(error, protocol)), { status: 429, statusText: 'Too Many Requests', headers });
}

function bodyOf(error: AdmissionError, protocol: Protocol | null): object {
  const { message, reason } = error;
  const account = error.account ?? null;
  const code = `admission_${reason}`;
  switch (protocol) {
    case 'anthropic':
      return { type: 'error', error: { type: 'rate_limit_error', message, details: { error_code: code, account } } };
    case 'gemini':
      return { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message, details: [{ reason: code, account }] } };
    case 'bedrock':
      return { __type: 'ThrottlingException', message, code };
    case 'openai':
    case null:
      return { error: { message, type: 'admission_refused', param: account, code } };
  }
}
