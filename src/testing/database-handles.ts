/** Rules of the database contract about a handle: what each verb does to its connection and its transaction. */
import { CancelledError, RefusedError } from '../index.js';
import type { DatabaseHandle, DatabaseProvider } from '../database/index.js';
import { eventually, holds, inside, outIs, prompt, rejection, rowsAre, type DatabaseSubject } from './database-subject.js';
import { show } from './show.js';

type Rule = <T>(subject: DatabaseSubject<T>, other: DatabaseSubject<T>) => Promise<void>;

export const isBoundByAnAccount: Rule = async ({ provider }) => {
  const { admission, name } = provider;
  holds(admission.name === `db:${name}`, `the account of ${show(name)} is named ${show(admission.name)}`);
  holds(admission.capacity === 2, `the bound is ${admission.capacity}: make the provider with maxConcurrent 2`);
  holds(admission.replenishment === 'release', 'a permit comes back by the clock');
  holds(provider.admission === admission, 'the account is another one each time');
  // One more than the bound: what gates, waits here.
  const handles = await prompt('acquire', Promise.all([1, 2, 3].map(() => provider.acquire())));
  holds(admission.inUse() === 0, `acquire takes ${admission.inUse()} permits: the permit is admission's`);
  for (const handle of handles) await provider.close(handle);
};

const VERBS = ['begin', 'commit', 'awaitCompletion', 'rollback', 'close', 'abort'] as const;

export const knowsItsOwn: Rule = async ({ provider }, other) => {
  const handle = await other.provider.acquire();
  const strange: DatabaseHandle<never> = { unwrap: () => undefined as never };
  for (const verb of VERBS) {
    for (const given of [handle as DatabaseHandle<never>, strange]) {
      const error = await rejection(`${verb} of a handle of another provider`, async () => {
        await (provider as DatabaseProvider<never>)[verb](given);
      });
      holds(error instanceof TypeError, `${verb} of a foreign handle fails with ${show(error)} and not with a TypeError`);
    }
  }
  await other.provider.close(handle);
};

export const repeatsItsEnds: Rule = async (subject) => {
  const { provider } = subject;
  const handle = await provider.acquire();
  await provider.begin(handle);
  for (const verb of ['rollback', 'rollback', 'close', 'close', 'rollback'] as const) await provider[verb](handle);
  provider.abort(handle);
  provider.abort(handle);
  await provider.close(handle);
  outIs(subject, 0, 'closed and aborted twice');
};

export const isNotOpenedInVain: Rule = async (subject) => {
  const { provider } = subject;
  const never = new AbortController();
  never.abort('never mind');
  const error = await rejection('acquire under an aborted signal', () => provider.acquire({ signal: never.signal }));
  holds(error instanceof CancelledError, `acquire under an aborted signal fails with ${show(error)}`);
  const late = new AbortController();
  const acquiring = provider.acquire({ signal: late.signal });
  late.abort();
  await acquiring.then(
    (handle) => provider.close(handle),
    () => undefined,
  );
  outIs(subject, 0, 'no longer wanted');
};

export const holdsOneConnection: Rule = async (subject) => {
  const { provider } = subject;
  outIs(subject, 0, 'before acquire');
  const handle = await provider.acquire();
  outIs(subject, 1, 'right after acquire');
  await provider.begin(handle);
  await inside(handle, () => subject.write(handle.unwrap(), 'kept'));
  await rowsAre(subject, [], 'before the commit');
  await provider.commit(handle);
  await provider.awaitCompletion(handle);
  outIs(subject, 1, 'after commit and awaitCompletion');
  await rowsAre(subject, ['kept'], 'after awaitCompletion');
  await provider.close(handle);
  outIs(subject, 0, 'after close');
  const error = await rejection('unwrap after close', () => handle.unwrap());
  holds(!(error instanceof TypeError), `unwrap after close throws ${show(error)}: say that it was closed`);
};

export const rollsBackWhatIsOpen: Rule = async (subject) => {
  const { provider } = subject;
  const handle = await provider.acquire();
  await provider.begin(handle);
  await inside(handle, () => subject.write(handle.unwrap(), 'rolled back'));
  await provider.rollback(handle);
  await provider.begin(handle);
  await inside(handle, () => subject.write(handle.unwrap(), 'half-open'));
  await provider.close(handle);
  await rowsAre(subject, [], 'after a rollback and a close');
  outIs(subject, 0, 'after a rollback and a close');
};

export const commitsByItselfOutside: Rule = async (subject) => {
  const { provider } = subject;
  const handle = await provider.acquire();
  // Nothing to commit, nothing to roll back.
  await provider.commit(handle);
  await provider.rollback(handle);
  await prompt('awaitCompletion without a transaction', provider.awaitCompletion(handle));
  await inside(handle, () => subject.write(handle.unwrap(), 'before'));
  await rowsAre(subject, ['before'], 'without a transaction');
  for (const row of ['first', 'second']) {
    await provider.begin(handle);
    await rejection('begin in a transaction', () => provider.begin(handle));
    await inside(handle, () => subject.write(handle.unwrap(), row));
    await provider.commit(handle);
    await provider.awaitCompletion(handle);
  }
  await inside(handle, () => subject.write(handle.unwrap(), 'after'));
  await rowsAre(subject, ['after', 'before', 'first', 'second'], 'after the last transaction');
  await provider.close(handle);
};

export const isSeveredByAbort: Rule = async (subject) => {
  const { provider } = subject;
  for (const uses of [true, false]) {
    const handle = await provider.acquire();
    await provider.begin(handle);
    const value = handle.unwrap();
    await inside(handle, () => subject.write(value, 'aborted'));
    const abort: (given: typeof handle) => unknown = provider.abort.bind(provider);
    const answer = abort(handle);
    holds(answer === undefined, `abort answers ${show(answer)}: it waits for nothing`);
    provider.abort(handle);
    if (uses) await rejection('work on an aborted connection', () => inside(handle, () => subject.write(value, 'late')));
    await rejection('commit after abort', () => provider.commit(handle));
    await closesReadably(subject, handle);
    outIs(subject, 0, 'aborted and closed');
    await rowsAre(subject, [], 'aborted');
  }
};

export const isSeveredInItsMiddle: Rule = async (subject) => {
  const { provider } = subject;
  const handle = await provider.acquire();
  await provider.begin(handle);
  await inside(handle, () => subject.write(handle.unwrap(), 'cut'));
  const lingering = Promise.resolve(inside(handle, () => subject.linger(handle.unwrap())));
  lingering.catch(() => undefined);
  const closing = new Promise<void>((resolve, reject) => {
    setTimeout(() => {
      provider.abort(handle);
      closesReadably(subject, handle).then(resolve, reject);
    }, 50);
  });
  await prompt('close after an abort in the middle of a statement', closing);
  await prompt('a statement that was aborted', rejection('a statement that was aborted', () => lingering));
  outIs(subject, 0, 'aborted in the middle of a statement');
  await rowsAre(subject, [], 'aborted in the middle of a statement');
};

export const forgetsTheHint: Rule = async (subject) => {
  const { provider } = subject;
  const reader = await provider.acquire({ readOnly: true });
  await rejection('a write on a read-only connection', () =>
    inside(reader, () => subject.write(reader.unwrap(), 'refused')),
  );
  await provider.close(reader);
  const begun = await provider.acquire({ readOnly: true });
  await provider.begin(begun);
  await rejection('a write in a read-only transaction', () => inside(begun, () => subject.write(begun.unwrap(), 'no')));
  await provider.close(begun);
  const writer = await provider.acquire({ readOnly: false });
  await inside(writer, () => subject.write(writer.unwrap(), 'written'));
  await provider.close(writer);
  await rowsAre(subject, ['written'], 'after a reader and a writer');
};

export const freesWhoWaits: Rule = async (subject) => {
  const { provider } = subject;
  const ends = ['close', 'abort', 'rollback', 'commit'] as const;
  for (const end of ends) {
    const handle = await provider.acquire();
    await provider.begin(handle);
    await inside(handle, () => subject.write(handle.unwrap(), end));
    let waits = true;
    const waiting = provider.awaitCompletion(handle).finally(() => {
      waits = false;
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    holds(waits, 'awaitCompletion does not wait for a transaction that is open');
    await provider[end](handle);
    await prompt(`awaitCompletion after ${end}`, waiting);
    await closesReadably(subject, handle);
  }
  await rowsAre(subject, ['commit'], 'after four ends');
};

export const survivesTheServer: Rule = async (subject) => {
  const { provider, killBackends } = subject;
  const handle = await provider.acquire();
  await provider.begin(handle);
  await inside(handle, () => subject.write(handle.unwrap(), 'killed'));
  await killBackends?.();
  await rejection('commit on a connection that the server ended', () => provider.commit(handle));
  await provider.rollback(handle);
  await closesReadably(subject, handle);
  outIs(subject, 0, 'ended by the server, and closed');
  await rowsAre(subject, [], 'ended by the server');
  await eventually(
    async () => {
      const another = await provider.acquire();
      try {
        await inside(another, () => subject.write(another.unwrap(), 'after'));
        return true;
      } catch {
        return false;
      } finally {
        await provider.close(another).catch(() => undefined);
      }
    },
    () => 'no connection of the pool works any more',
  );
  outIs(subject, 0, 'after the server ended connections');
};

/** Without an error, or with one that can be read out; never with a driver's own. */
async function closesReadably<T>({ provider }: DatabaseSubject<T>, handle: DatabaseHandle<T>): Promise<void> {
  try {
    await provider.close(handle);
  } catch (error) {
    holds(error instanceof RefusedError, `close fails with ${show(error)} and not with a RefusedError`);
  }
}
