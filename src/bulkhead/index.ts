/** Bulkheads: capacity that is partitioned by key, limits that adapt, and a check of limits against load. */
export { advise, type Advice, type AdviceOptions, type AdviceVerdict } from './advise.js';
export { partitioned, type Partitioned, type PartitionedOptions } from './partitioned.js';
export { priorities, type PrioritiesOptions } from './partition-priorities.js';
export type { Partition } from './partition.js';
export type { PartitionedStatus, PartitionStatus } from './partition-status.js';
export { adaptiveGate, type AdaptiveGate } from './adaptive-gate.js';
export type { AdaptiveGateOptions } from './adaptive-options.js';
export type { AdaptiveStatus } from './adaptive-status.js';
export { aimd, type AimdOptions } from './limits/aimd.js';
export { gradient2, type Gradient2Options } from './limits/gradient2.js';
export { vegas, type VegasOptions } from './limits/vegas.js';
export type { DroppedSample, LatencySample, Limit, LimitSample, LimitState } from './limits/limit.js';
