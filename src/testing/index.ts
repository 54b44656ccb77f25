/// <reference lib="esnext.disposable" preserve="true" />
/** What `rx-admission/testing` exports. */
export type { AdmissionMarbles, AdmissionMarblesOptions } from './admission-marbles.js';
export { admissionMarbles } from './marbles.js';
export { MarbleMismatch } from './mismatch.js';
export { accountContract, type AccountContractCase, type AccountContractOptions } from './account-contract.js';
export { ContractViolation } from './account-subject.js';
export {
  databaseProviderContract,
  type DatabaseContractCase,
  type DatabaseContractOptions,
} from './database-provider-contract.js';
export type { DatabaseSubject } from './database-subject.js';
