/** A refusal in the words of the provider: an answer that its SDK understands, and does not retry. */
import type { AdmissionError } from '../../index.js';
import type { Protocol } from '../call.js';

/**
 * A synthetic 429. `x-should-retry` keeps the SDKs of OpenAI, Anthropic and Groq from asking again, and LangChain asks again only
 * where there is a Retry-After: so when it is worth asking again stands in a header of ours, in seconds. AWS's retries any 429,
 * but no quota that is used up. `code` (or what the protocol has in its place) is `admission_` and the reason.
 */
export function refusalResponse(error: AdmissionError, protocol: Protocol | null, now: number): Response {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'x-should-retry': 'false',
    'x-rx-admission': error.reason,
  };
  if (error.retryAt !== undefined) headers['x-rx-admission-retry-after'] = String(Math.max(1, Math.ceil((error.retryAt - now) / 1_000)));
  const status = protocol === 'bedrock' ? 400 : 429;
  return new Response(JSON.stringify(bodyOf(error, protocol)), { status, statusText: 'Refused By Admission', headers });
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
      return { __type: 'ServiceQuotaExceededException', message, code };
    case 'openai':
    case null:
      return { error: { message, type: 'admission_refused', param: account, code } };
  }
}
