/// <reference lib="esnext.disposable" preserve="true" />
/** The public API on one screen. */
export { Admission, createAdmission, type AdmissionOptions, type TryOptions } from './admission.js';
export type { Admit, AdmitOptions, Call, DemandOf, Ending } from './admit.js';
export type { AskOptions } from './ask.js';
export type { NestedPolicy } from './nested.js';
export type { LostGrants, MaxHold } from './upkeep.js';
export type { AskCounts, Rule, Violation } from './check.js';
export type { WatchdogOptions } from './watchdog.js';
export type { AdmissionWarning, LongHoldWarning, LostGrantWarning, NestedAskWarning, UnsoundWarning } from './warnings.js';
export type { RunOptions } from './work.js';
export type { EachOptions, Pullable } from './each.js';
export { Demand, demand, type DemandEntry } from './demand.js';
export type { Grant } from './grant.js';
export type { Outcome, Pressure } from './evaluator/settle.js';
export type { AdmissionEvent, AdmissionEventType } from './events.js';
export { CHANNELS, type AskMessage, type RefusedMessage, type SettledMessage, type WarningMessage } from './diagnostics.js';
export type { QueueState } from './evaluator/evaluate.js';
export type { AccountView, AdmissionStatus, GrantView } from './status.js';
export type { WaiterView } from './waiter-view.js';
export type { DrainOptions, DrainReport } from './drain.js';
export {
  AdmissionError,
  CancelledError,
  NestedAskError,
  QueueFullError,
  RefusedError,
  StoppedError,
  WaitTimeoutError,
  type RefusalReason,
} from './errors.js';
export { monotonicScheduler } from './clock.js';
export {
  AbstractAccount,
  type Account,
  type AccountOptions,
  type CommonCapacity,
  type Identity,
  type Log,
} from './accounts/account.js';
export {
  CountingGate,
  DatabaseGate,
  HttpGate,
  ModelGate,
  type CountingGateOptions,
  type HttpGateOptions,
} from './accounts/counting-gate.js';
export { TokenBucket, type TokenBucketOptions } from './accounts/token-bucket.js';
export type { TokenBucketLimits } from './accounts/bucket-limits.js';
export { ElasticWindow, type ElasticWindowOptions } from './accounts/elastic-window.js';
export { MemoryGate, type MemoryGateOptions } from './accounts/memory-gate.js';
export { amountOf } from './accounts/amounts.js';
export type { Route } from './accounts/route.js';
export { router, type Router, type RouterOptions } from './accounts/router.js';
export { Accounts, type AccountsOptions, type ModelSpec, type ReportedLimits } from './accounts/registry.js';
export { UpstreamFailure, type UpstreamFailureFields } from './accounts/upstream-failure.js';
export { parseIntOrNull, RateLimitInfo, type RateLimitFields, type RateLimitKind } from './accounts/rate-limit-info.js';
export {
  ElasticWindowStatus,
  MemoryStatus,
  SemaphoreStatus,
  TokenBucketStatus,
  type AccountStatus,
  type CircuitName,
  type MemoryZone,
} from './accounts/statuses.js';
