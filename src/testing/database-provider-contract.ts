/** The contract of a database provider as a suite: the cases that a provider of your own must pass, for any framework. */
import {
  commitsByItselfOutside,
  forgetsTheHint,
  freesWhoWaits,
  holdsOneConnection,
  isBoundByAnAccount,
  isNotOpenedInVain,
  isSeveredByAbort,
  isSeveredInItsMiddle,
  knowsItsOwn,
  repeatsItsEnds,
  rollsBackWhatIsOpen,
  survivesTheServer,
} from './database-handles.js';
import { fails, fansOut, isUnsubscribed, losesItsBackends, losesItsServer } from './database-jobs.js';
import type { DatabaseSubject } from './database-subject.js';

/** One case: `run` rejects with a readable message when the provider breaks the rule of the title. */
export interface DatabaseContractCase {
  readonly title: string;
  readonly run: () => Promise<void>;
}

export interface DatabaseContractOptions {
  /** `'nothing'` for a provider that counts only: the rules about connections and transactions are left out. */
  readonly holds?: 'connections' | 'nothing' | undefined;
  /** What cannot be done to this database: the rules about it are left out. */
  readonly without?: readonly ('killBackends' | 'server')[] | undefined;
  /** Where the instants of random unsubscribes come from; 1 unless given. A failure names it. */
  readonly seed?: number | undefined;
}

/**
 * The suite that any database provider must pass: against a real database, behind a real pool, by the pool's own count.
 *
 * It belongs to no test framework: it answers a list of cases, and each `run` rejects when its rule is broken. Cases take
 * up to a few seconds; run them one after another.
 *
 * @param make an empty table, a pool of at least four connections, and a provider that holds two of them; each call makes
 *   another one, and two may live at once
 *
 * @example
 * ```ts
 * import { databaseProviderContract } from 'rx-admission/testing';
 *
 * for (const { title, run } of databaseProviderContract(makeSubject)) it(title, run);
 * ```
 */
export function databaseProviderContract<T>(
  make: () => PromiseLike<DatabaseSubject<T>>,
  { holds = 'connections', without = [], seed = 1 }: DatabaseContractOptions = {},
): DatabaseContractCase[] {
  const holding = holds === 'connections';
  const cases: DatabaseContractCase[] = [];
  const rule = (
    title: string,
    check: (subject: DatabaseSubject<T>, other: DatabaseSubject<T>) => Promise<void>,
    applies = true,
  ): void => {
    if (applies) cases.push({ title, run: () => withTwo(make, check) });
  };
  rule('is bound by an account of its name, and never gates by itself', isBoundByAnAccount);
  rule('refuses a handle of another instance, on every verb', knowsItsOwn);
  rule('rolls back, closes and aborts any number of times', repeatsItsEnds);
  rule('leaves nothing out where it is not wanted any more', isNotOpenedInVain);
  rule('holds one connection from acquire to close, and shows what it committed', holdsOneConnection, holding);
  rule('rolls back what is open, on rollback and on close', rollsBackWhatIsOpen, holding);
  rule('commits by itself outside of a transaction, before the first and after the last', commitsByItselfOutside, holding);
  rule('severs on abort, without waiting, and then only hands back', isSeveredByAbort, holding);
  rule('severs in the middle of a statement', isSeveredInItsMiddle, holding);
  rule('refuses writes when read-only, and the pool never sees the hint', forgetsTheHint, holding);
  rule('frees those who await completion, however the transaction ends', freesWhoWaits, holding);
  const killable = !without.includes('killBackends');
  rule('survives that the server ends its connection', survivesTheServer, holding && killable);
  rule('never has more connections out than the bound: jobs succeed', fansOut);
  rule('never has more connections out than the bound: jobs fail', (one) => fails(one, holding));
  rule('never has more connections out than the bound: jobs are unsubscribed', (one) =>
    isUnsubscribed(one, seed, holding),
  );
  rule('gets every connection back when the server ends them all', losesItsBackends, holding && killable);
  const stoppable = !without.includes('server');
  rule('gets every connection back when the server is away for two seconds', losesItsServer, holding && stoppable);
  return cases;
}

async function withTwo<T>(
  make: () => PromiseLike<DatabaseSubject<T>>,
  check: (subject: DatabaseSubject<T>, other: DatabaseSubject<T>) => Promise<void>,
): Promise<void> {
  const subject = await make();
  try {
    const other = await make();
    try {
      await check(subject, other);
    } finally {
      await other.dispose();
    }
  } finally {
    await subject.dispose();
  }
}
