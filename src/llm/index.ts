/** LLM calls: every provider's signals, tokens that add up, and money. */
export type { HeadersLike } from './header-reader.js';
export type { ProviderName } from './providers/provider.js';
export type { Meter, RateLimit, RateLimitsRead } from './rate-limits.js';
export { readRateLimits, type ReadOptions } from './read-rate-limits.js';
export { ClassifiedFailure, type ClassifiedFields, type FailureKind } from './failure.js';
export { classifyFailure, classifyResponse, type ClassifyOptions, type ResponseLike } from './classify-failure.js';
export { outcome, outcomeOf, type FeedbackOptions } from './feedback.js';
export { followLimits, type FollowOptions } from './follow-limits.js';
export { charge, type Budget, type Charge, type ChargePolicy } from './charge.js';
export { SpendCap, SpendStatus, spendCap, type CallSpending, type Money, type Price, type SpendCapOptions, type Spending } from './spend-cap.js';
export { Estimator, ModelEstimateStatus, type Estimate, type EstimatorOptions } from './estimate.js';
export { usageOf, type Usage } from './usage.js';
export { callOf, type LlmCall, type Protocol } from './call.js';
export { admittedFetch, type AdmittedFetchOptions, type Fetch } from './fetch/admitted-fetch.js';
export type { AdmittedOptions, ForCall } from './fetch/admitted-options.js';
export { retryUpstream, retryWindow, type RetryOptions, type RetryWindow } from './retry-upstream.js';
export { streamOf, type SdkStream, type StartStream, type StreamOptions } from './stream-of.js';
