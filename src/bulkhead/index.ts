/** Bulkheads: capacity that is partitioned by key, limits that adapt, and a check of limits against load. */
export { advise, type Advice, type AdviceOptions, type AdviceVerdict } from './advise.js';
export { partitioned, type Partitioned, type PartitionedOptions } from './partitioned.js';
export { priorities, type PrioritiesOptions } from './partition-priorities.js';
export type { Partition } from './partition.js';
export type { PartitionedStatus, PartitionStatus } from './partition-status.js';
