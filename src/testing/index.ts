/** What `rx-admission/testing` exports. */
export type { AdmissionMarbles, AdmissionMarblesOptions } from './admission-marbles.js';
export { admissionMarbles } from './marbles.js';
export { MarbleMismatch } from './mismatch.js';
