/** What `rx-admission/testing` exports. */
export { admissionMarbles, type AdmissionMarbles, type AdmissionMarblesOptions } from './marbles.js';
export { MarbleMismatch } from './mismatch.js';
