/** Bulkheads: capacity that is partitioned by key, limits that adapt, and a check of limits against load. */
export { advise, type Advice, type AdviceOptions, type AdviceVerdict } from './advise.js';
