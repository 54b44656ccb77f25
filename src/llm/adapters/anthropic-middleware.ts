/** Admits the calls of Anthropic's SDK, as a middleware of its client: also where the client talks to Bedrock or Vertex. */
import type { Admission } from '../../index.js';
import { admittedRequests, type AdmittedRequestOptions } from '../fetch/admitted-fetch.js';
import type { FetchInit } from '../fetch/read-call.js';

/** A request as the SDK hands it to a middleware, by shape. */
type RequestLike = FetchInit & { readonly url: string };

/** A `Middleware` of `@anthropic-ai/sdk`, by shape. */
export type AnthropicMiddleware = <R extends RequestLike>(request: R, next: (request: R) => Promise<Response>) => Promise<Response>;

/**
 * `admittedFetch` for Anthropic's client. It runs for each attempt, so the SDK's own retries are admitted one by one, and
 * sees the Anthropic-shaped request whatever backend the client is for.
 *
 * @throws TypeError when no account is named.
 *
 * @example
 * ```ts
 * const input = new TokenBucket({ name: 'input', tokensPerMinute: 450_000, requestsPerMinute: 1_000 });
 * const output = new TokenBucket({ name: 'output', tokensPerMinute: 90_000 });
 * const client = new Anthropic({ middleware: [anthropicMiddleware(createAdmission(), { input, output })] });
 * ```
 */
export function anthropicMiddleware(admission: Admission, options: AdmittedRequestOptions): AnthropicMiddleware {
  const through = admittedRequests('anthropicMiddleware', admission, options);
  return (request, next) => through(request.url, request, (_url, init) => next({ ...request, ...init }));
}
