/** Which accounts learn from how calls end: those whose answer to a failure is their own. */
import type { AnyAccount } from './account.js';

type Answering = Pick<AnyAccount, 'onRateLimitError'>;

/** Answers that do nothing, such as those of a base class. */
const nothingLearned = new WeakSet();

/** Registers that an account's answer to a failure does nothing, for all who inherit it. */
export function learnsNothing({ onRateLimitError }: Required<Answering>): void {
  nothingLearned.add(onRateLimitError);
}

export function learns({ onRateLimitError }: Answering): boolean {
  return onRateLimitError !== undefined && !nothingLearned.has(onRateLimitError);
}
