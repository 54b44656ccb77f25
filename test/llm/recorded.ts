/** Failures as providers answer them, made from what each documents, and what they mean. */
import type { FailureKind, ProviderName } from '../../src/llm/index.js';
import { AWS_EVENTS, awsEvent } from './fetch/aws-message.js';

export interface Recorded {
  readonly what: string;
  readonly answer: Answer;
  readonly means: Meaning;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** Where in it the connection breaks. */
  readonly breaksAfterIt?: 'yes';
}

export interface Meaning {
  readonly kind: FailureKind;
  readonly reason: string;
  readonly weight?: number;
  /** Seconds. */
  readonly retryAfter?: number;
  /** None inside a stream. */
  readonly status?: number;
  readonly provider?: ProviderName | null;
}

const entry = (what: string, status: number, body: unknown, means: Meaning, headers: Record<string, string> = {}): Recorded => ({
  what,
  answer: { status, body: typeof body === 'string' ? body : JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } },
  means: { status, ...means },
});

const streamed = (what: string, body: string, means: Meaning): Recorded => ({
  what: `${what}, inside a stream`,
  answer: { status: 200, body, headers: { 'content-type': 'text/event-stream' } },
  means,
});

const wait = (more: Partial<Meaning> = {}): Meaning => ({ kind: 'wait', reason: 'rate limited', weight: 1, ...more });
const capacity = (reason: string, weight: number, more: Partial<Meaning> = {}): Meaning => ({ kind: 'capacity', reason, weight, ...more });
const stop = (reason: string, more: Partial<Meaning> = {}): Meaning => ({ kind: 'stop', reason, weight: 0, ...more });
const transient = (reason: string): Meaning => ({ kind: 'transient', reason, weight: 0 });

const openaiError = (message: string, type: string, code: string | null): object => ({ error: { message, type, param: null, code } });
const tokensLeft = { 'x-ratelimit-limit-tokens': '30000', 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '1m0s' };
const rateLimit = 'Rate limit reached for gpt-5 in organization org-1 on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.';

export const openai: readonly Recorded[] = [
  entry('too fast', 429, openaiError(rateLimit, 'tokens', 'rate_limit_exceeded'), wait({ retryAfter: 2, provider: 'openai' }), { 'retry-after': '2', ...tokensLeft }),
  entry('too fast, to the millisecond', 429, openaiError(rateLimit, 'tokens', 'rate_limit_exceeded'), wait({ retryAfter: 0.25 }), { 'retry-after': '1', 'retry-after-ms': '250' }),
  entry('too fast, in words', 429, openaiError(`${rateLimit} Please try again in 20ms. Visit us`, 'tokens', 'rate_limit_exceeded'), wait({ retryAfter: 0.02 })),
  entry('too fast, and says no more', 429, openaiError(rateLimit, 'requests', 'rate_limit_exceeded'), wait({ retryAfter: 0 })),
  entry('tokens of the day used up', 429, openaiError(`${rateLimit} Please try again in 8m38.4s.`, 'tokens', 'rate_limit_exceeded'), { kind: 'stop', reason: 'rate limited', weight: 1, retryAfter: 518.4 }),
  entry('quota exhausted', 429, openaiError('You exceeded your current quota, please check your plan', 'insufficient_quota', 'insufficient_quota'), stop('quota exhausted'), { 'retry-after': '7' }),
  entry('credits used up', 429, openaiError('No credits are left', 'insufficient_quota', 'credit_balance_exhausted'), stop('quota exhausted')),
  entry('spend limit of a project', 429, openaiError('The project has reached its limit', 'insufficient_quota', 'project_spend_limit_exceeded'), stop('quota exhausted')),
  entry('spend limit of an organization', 429, openaiError('The limit is reached', 'requests', 'organization_spend_limit_exceeded'), stop('spend limit')),
  // Each by its code alone: the type is not always `insufficient_quota`.
  ...(['credit_balance_exhausted', 'billing_hard_limit_reached'] as const).map((code) => entry(`${code}, by its code`, 429, openaiError('No more', 'requests', code), stop('quota exhausted'))),
  ...(['project_spend_limit_exceeded', 'organization_usage_limit_exceeded'] as const).map((code) => entry(`${code}, by its code`, 429, openaiError('No more', 'requests', code), stop('spend limit'))),
  entry('larger than the limit', 429, openaiError('Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested 48000.', 'tokens', 'rate_limit_exceeded'), stop('larger than the limit')),
  entry('not to be tried again', 429, openaiError(rateLimit, 'tokens', 'rate_limit_exceeded'), { kind: 'stop', reason: 'rate limited', weight: 1, retryAfter: 2 }, { 'retry-after': '2', 'x-should-retry': 'false' }),
  entry('a server error, not to be tried again', 500, openaiError('The server had an error', 'server_error', null), stop('server error'), { 'x-should-retry': 'false' }),
  entry('context too long', 400, openaiError('This model holds 128000 tokens', 'invalid_request_error', 'context_length_exceeded'), stop('context too long')),
  entry('slow down', 503, openaiError('Slow down', 'server_error', 'slow_down'), capacity('asked to slow down', 3)),
  entry('slow down, as a 429', 429, openaiError('Slow down', 'requests', 'slow_down'), capacity('asked to slow down', 3)),
  entry('server error', 500, openaiError('The server had an error', 'server_error', null), transient('server error')),
  entry('bad gateway, in HTML', 502, '<html>502</html>', transient('server error')),
  entry('wrong key', 401, openaiError('Incorrect API key', 'invalid_request_error', 'invalid_api_key'), stop('not allowed')),
  entry('not allowed', 403, openaiError('Country not supported', 'request_forbidden', 'unsupported_country'), stop('not allowed')),
  entry('no such model', 404, openaiError('No such model', 'invalid_request_error', 'model_not_found'), stop('refused')),
  entry('a status nobody knows', 418, '', stop('refused')),
  entry('a status of a server that nobody knows', 599, '', transient('server error')),
];

export const openaiStreams: readonly Recorded[] = [
  streamed('too fast', `data: ${JSON.stringify(openaiError(rateLimit, 'tokens', 'rate_limit_exceeded'))}\n\n`, wait()),
  streamed('quota exhausted', `data: ${JSON.stringify(openaiError('none', 'insufficient_quota', 'insufficient_quota'))}\n\n`, stop('quota exhausted')),
  streamed('server error', `data: ${JSON.stringify(openaiError('oops', 'server_error', null))}\n\n`, transient('server error')),
];

/** As OpenRouter passes on what one behind it answered: among choices, with the status as its code. The AI SDK drops it. */
export const openrouterStreams: readonly Recorded[] = [
  streamed('too fast, beside its choices', `data: ${JSON.stringify({ id: 'a', object: 'chat.completion.chunk', error: { code: 429, message: 'Rate limited' }, choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }] })}\n\n`, wait()),
];

export const azure: readonly Recorded[] = [
  entry('too fast', 429, { error: { code: '429', message: 'Rate limit exceeded. Please retry after 6 seconds.' } }, wait({ retryAfter: 6, provider: 'azure' }), { 'apim-request-id': 'a' }),
  entry('too fast, of a deployment', 429, { error: { code: 'RateLimitReached', message: 'Over the call rate limit. Please retry after 500 milliseconds.' } }, wait({ retryAfter: 0.5 })),
  entry('a wait of a day', 429, { error: { code: '429', message: 'Rate limited' } }, { kind: 'stop', reason: 'rate limited', weight: 1, retryAfter: 86_400 }, { 'retry-after': '86400', 'apim-request-id': 'a' }),
  entry('high demand', 429, { error: { code: 'too_many_requests', message: 'The system is experiencing high demand and cannot process your request.' } }, capacity('high demand', 1), { 'apim-request-id': 'a' }),
];

const anthropicError = (type: string, message: string, details: object | null = null): object => ({
  type: 'error',
  error: { type, message, details },
  request_id: 'req_1',
});
const anthropicHeaders = { 'anthropic-ratelimit-requests-limit': '50', 'anthropic-ratelimit-requests-remaining': '0' };

export const anthropic: readonly Recorded[] = [
  entry('too fast', 429, anthropicError('rate_limit_error', 'Over 30,000 input tokens per minute'), wait({ retryAfter: 12, provider: 'anthropic' }), { 'retry-after': '12', ...anthropicHeaders }),
  entry('too steep', 429, anthropicError('rate_limit_error', 'This exceeds the acceleration limit of your organization'), capacity('acceleration limit', 1), anthropicHeaders),
  entry('spend limit', 429, anthropicError('rate_limit_error', 'Limit', { error_code: 'enforced_spend_limit_reached' }), stop('spend limit'), anthropicHeaders),
  entry('overloaded', 529, anthropicError('overloaded_error', 'Overloaded'), capacity('overloaded', 3)),
  entry('overloaded, without a body', 529, '', capacity('overloaded', 3)),
  entry('overloaded, with a hint', 529, anthropicError('overloaded_error', 'Overloaded'), capacity('overloaded', 3, { retryAfter: 8 }), { 'retry-after': '8' }),
  entry('billing', 402, anthropicError('billing_error', 'Check your billing'), stop('billing')),
  entry('usage limit', 400, anthropicError('invalid_request_error', 'You have reached your specified API usage limits.'), stop('usage limit')),
  entry('too large', 413, anthropicError('request_too_large', 'Request exceeds the maximum size'), stop('request too large')),
  entry('context too long', 400, anthropicError('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'), stop('context too long')),
  entry('refused', 400, anthropicError('invalid_request_error', 'max_tokens: required'), stop('refused'), anthropicHeaders),
  entry('server error', 500, anthropicError('api_error', 'Internal server error'), transient('server error')),
];

export const anthropicStreams: readonly Recorded[] = [
  streamed('overloaded', `event: error\ndata: ${JSON.stringify(anthropicError('overloaded_error', 'Overloaded'))}\n\n`, capacity('overloaded', 3)),
  streamed('too fast', `event: error\ndata: ${JSON.stringify(anthropicError('rate_limit_error', 'Too fast'))}\n\n`, wait()),
  streamed('refused', `event: error\ndata: ${JSON.stringify(anthropicError('invalid_request_error', 'No'))}\n\n`, stop('refused')),
];

const googleError = (code: number, status: string, message: string, details: readonly object[] = []): object => ({
  error: { code, message, status, details },
});
const quota = (quotaId: string): object => ({ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaMetric: 'm', quotaId }] });
const retryInfo = (retryDelay: string): object => ({ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay });

export const gemini: readonly Recorded[] = [
  entry('too fast', 429, googleError(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota.', [quota('GenerateRequestsPerMinutePerProjectPerModel'), retryInfo('17.5s')]), wait({ retryAfter: 17.5 })),
  entry('too fast, in words', 429, googleError(429, 'RESOURCE_EXHAUSTED', 'Please retry in 31.25s.', [quota('GenerateContentInputTokensPerModelPerMinute')]), wait({ retryAfter: 31.25 })),
  entry('the day used up', 429, googleError(429, 'RESOURCE_EXHAUSTED', 'Please retry in 10h17m5.72s.', [quota('GenerateRequestsPerDayPerProjectPerModel-FreeTier')]), stop('daily quota exhausted', { retryAfter: 37_025.72 })),
  entry('no quota at all', 429, googleError(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded for metric: m, limit: 0, model: g', [quota('GenerateRequestsPerMinutePerProject-FreeTier')]), stop('no quota on this tier')),
  entry('overloaded', 503, googleError(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'), capacity('overloaded', 3)),
  entry('no credits', 402, googleError(402, 'RESOURCE_EXHAUSTED', 'Add credits'), stop('out of credits')),
  entry('server error', 500, googleError(500, 'INTERNAL', 'An internal error'), transient('server error')),
  entry('refused', 400, googleError(400, 'INVALID_ARGUMENT', 'No such field'), stop('refused')),
];

export const geminiStreams: readonly Recorded[] = [
  streamed('overloaded', `data: ${JSON.stringify(googleError(503, 'UNAVAILABLE', 'The model is overloaded.'))}\n\n`, capacity('overloaded', 3)),
];

export const groq: readonly Recorded[] = [
  entry('too fast', 429, openaiError('Rate limit reached. Please try again in 7.66s.', 'tokens', 'rate_limit_exceeded'), wait({ retryAfter: 7.66, provider: 'groq' }), { 'x-groq-region': 'fra' }),
  entry('flex tier busy', 498, openaiError('Flex tier is at capacity', 'flex_tier', 'capacity_exceeded'), capacity('flex tier busy', 1)),
  entry('flex tier busy, without a code', 498, '', capacity('flex tier busy', 1)),
  entry('too large', 413, openaiError('Request too large for model m', 'tokens', 'rate_limit_exceeded'), stop('larger than the limit')),
];

export const mistral: readonly Recorded[] = [
  entry('too fast', 429, { object: 'error', message: 'Requests rate limit exceeded', type: 'rate_limited', param: null, code: '1300' }, wait()),
  entry('too fast, in its own words', 429, { message: 'Requests rate limit exceeded' }, wait({ retryAfter: 3, provider: 'mistral' }), { 'retry-after': '3', 'mistral-correlation-id': 'a' }),
  entry('capacity of a tier', 503, { object: 'error', message: 'Service unavailable', type: 'internal_server_error', code: '3000' }, transient('server error')),
];

const exception = (name: string, status: number, means: Meaning): Recorded =>
  entry(name, status, { message: 'no' }, { ...means, provider: 'bedrock' }, { 'x-amzn-errortype': name });

export const bedrock: readonly Recorded[] = [
  exception('ThrottlingException', 429, wait()),
  exception('ServiceQuotaExceededException', 400, stop('quota exhausted')),
  exception('ValidationException', 400, stop('refused')),
  exception('AccessDeniedException', 403, stop('refused')),
  exception('ResourceNotFoundException', 404, stop('refused')),
  exception('ModelNotReadyException', 429, transient('model not ready')),
  exception('ModelTimeoutException', 408, transient('model timed out')),
  exception('ServiceUnavailableException', 503, capacity('unavailable', 3)),
  exception('InternalServerException', 500, transient('server error')),
];

const exceptionWithin = (name: string, means: Meaning): Recorded => ({
  what: `${name}, inside a stream`,
  answer: { status: 200, body: awsEvent(name, { message: 'no' }), headers: { 'content-type': AWS_EVENTS } },
  means,
});

export const bedrockStreams: readonly Recorded[] = [
  exceptionWithin('throttlingException', wait()),
  exceptionWithin('modelStreamErrorException', transient('stream broke')),
  exceptionWithin('serviceUnavailableException', capacity('unavailable', 3)),
  exceptionWithin('validationException', stop('refused')),
];

/** Answers of those who have no SDK here. */
export const others: readonly Recorded[] = [
  entry('Together, under its dynamic limit', 503, { error: { message: 'busy' } }, capacity('unavailable', 3, { provider: 'together' }), { 'x-tokenlimit-limit': '100' }),
  entry('Together, over its dynamic limit', 429, { error: { message: 'slow' } }, wait({ provider: 'together' }), { 'x-tokenlimit-limit': '100' }),
  entry('OpenRouter without credits', 402, { error: { code: 402, message: 'Insufficient credits' } }, stop('out of credits')),
  entry('OpenRouter, of one behind it', 200, { error: { code: 429, message: 'Rate limited', metadata: { provider_code: 429 } }, choices: [{ finish_reason: 'error' }] }, wait({ status: 429 })),
  entry('OpenRouter, of one behind it, by the code that only that one names', 200, { error: { code: 'provider_error', message: 'Provider returned error', metadata: { provider_code: 429 } } }, wait({ status: 429 })),
  entry('Bedrock, throttled', 429, { message: 'Too many tokens, please wait' }, wait({ provider: 'bedrock' }), { 'x-amzn-errortype': 'ThrottlingException:http://internal' }),
  entry('Bedrock, with an address behind it', 429, { message: 'wait' }, { ...transient('model not ready'), provider: 'bedrock' }, { 'x-amzn-errortype': 'ModelNotReadyException:http://internal' }),
  entry('Bedrock, its model not ready', 429, { __type: 'com.amazon.bedrock#ModelNotReadyException', message: 'wait' }, transient('model not ready')),
];
