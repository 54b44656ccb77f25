/** Promise 8: the asynchronous context at the ask is that of project and of its inner, whoever's release let it in. */
import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { CountingGate, Demand, createAdmission, demand } from 'rx-admission';
import { NEVER, Observable, Subject, of, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { Job } from './job.js';

const storage = new AsyncLocalStorage<string>();
const here = (): string => storage.getStore() ?? 'none';

const scene = () => {
  const admission = createAdmission();
  const slot = new CountingGate({ name: 'slot', capacity: 1 });
  return { admission, slot };
};

/** Where project ran, where its inner was subscribed, and where its values came. */
const watched = (log: string[]) => (): Observable<string> => {
  log.push(`project ${here()}`);
  return new Observable((subscriber) => {
    log.push(`inner ${here()}`);
    subscriber.next('x');
  });
};

describe('promise 8: the asynchronous context', () => {
  it('is kept on the fast path', () => {
    const { admission, slot } = scene();
    const log: string[] = [];
    storage.run('asker', () => new Job(admission, demand(slot), {}, watched(log)));
    expect(log).toEqual(['project asker', 'inner asker']);
  });

  it('costs a resource for each one who is parked, and none on the fast path', () => {
    let resources = 0;
    const hook = createHook({
      init(_id, type) {
        if (type === 'rx-admission') resources += 1;
      },
    }).enable();
    const { admission, slot } = scene();
    for (let n = 0; n < 50; n += 1) new Job(admission, demand(slot)).release();
    const fast = resources;
    const holder = new Job(admission, demand(slot));
    for (let n = 0; n < 3; n += 1) new Job(admission, demand(slot));
    hook.disable();
    holder.release();
    expect([fast, resources]).toEqual([0, 3]);
  });

  it('is kept by one who is parked, whoever lets it in', () => {
    const { admission, slot } = scene();
    const log: string[] = [];
    const holder = storage.run('holder', () => new Job(admission, demand(slot)));
    storage.run('asker', () => new Job(admission, demand(slot), {}, watched(log)));
    storage.run('somebody', () => holder.release());
    expect(log).toEqual(['project asker', 'inner asker']);
  });

  it('is kept by each of a whole line, and does not leak into what comes after', () => {
    const { admission, slot } = scene();
    const log: string[] = [];
    const holder = new Job(admission, demand(slot));
    for (const name of ['a', 'b', 'c']) {
      storage.run(name, () => new Job(admission, demand(slot), {}, () => (log.push(here()), of(1))));
    }
    storage.run('somebody', () => {
      holder.release();
      log.push(here());
    });
    expect([...log, here()]).toEqual(['a', 'b', 'c', 'somebody', 'none']);
  });

  it('is kept by one whose ask was made during a delivery', () => {
    const { admission, slot } = scene();
    const log: string[] = [];
    storage.run('outer', () => {
      admission
        .defer(Demand.empty, () => {
          storage.run('inner asker', () => new Job(admission, demand(slot), {}, watched(log)));
          expect(log).toEqual([]);
          return of(1);
        })
        .subscribe();
    });
    expect(log).toEqual(['project inner asker', 'inner inner asker']);
  });

  it('is kept by one who is let in by the clock', async () => {
    const { admission, slot } = scene();
    const log: string[] = [];
    const holder = new Job(admission, demand(slot));
    const asked = storage.run('asker', () => new Job(admission, demand(slot), {}, watched(log)));
    await new Promise<void>((resolve) => {
      storage.run('timer', () => {
        timer(1).subscribe(() => {
          holder.release();
          resolve();
        });
      });
    });
    expect(asked.state).toBe('granted');
    expect(log).toEqual(['project asker', 'inner asker']);
  });

  it('is that of each item of an operator, not that of its subscription', () => {
    const { admission, slot } = scene();
    const log: string[] = [];
    const source = new Subject<string>();
    const done = new Subject<void>();
    storage.run('subscriber', () =>
      source.pipe(admission.admit(demand(slot), (item) => (log.push(`${item} in ${here()}`), done))).subscribe(),
    );
    storage.run('first', () => source.next('a'));
    storage.run('second', () => source.next('b'));
    storage.run('ends a', () => done.complete());
    expect(log).toEqual(['a in first', 'b in second']);
  });

  it('is that of the asker for refusals too', () => {
    const { admission, slot } = scene();
    const log: string[] = [];
    const refused = (): Observable<string> => (log.push(here()), NEVER);
    new Job(admission, demand(slot));
    storage.run('asker', () => admission.defer(demand(slot), () => NEVER, { onRefused: refused }).subscribe());
    storage.run('asked during a delivery', () => {
      admission.defer(Demand.empty, () => {
        storage.run('impossible', () => admission.defer(demand([slot, 2]), () => NEVER, { onRefused: refused }).subscribe());
        return of(1);
      }).subscribe();
    });
    storage.run('stopper', () => admission.stop());
    expect(log).toEqual(['impossible', 'asker']);
  });

  it('is that of the caller for run and acquire', async () => {
    const { admission, slot } = scene();
    const holder = new Job(admission, demand(slot));
    const work = storage.run('caller', () => admission.run(demand(slot), async () => {
      const before = here();
      await Promise.resolve();
      return [before, here()];
    }));
    const grant = storage.run('acquirer', async () => {
      const acquired = await admission.acquire(demand(slot));
      acquired.release();
      return here();
    });
    storage.run('somebody', () => holder.release());
    await expect(work).resolves.toEqual(['caller', 'caller']);
    await expect(grant).resolves.toBe('acquirer');
  });

  it('is that of the subscriber for the items that each pulls', () => {
    const { admission, slot } = scene();
    const log: string[] = [];
    const holder = new Job(admission, demand(slot));
    storage.run('subscriber', () =>
      admission.each(['a', 'b'], demand(slot), (item) => (log.push(`${item} in ${here()}`), of(item))).subscribe(),
    );
    storage.run('somebody', () => holder.release());
    expect(log).toEqual(['a in subscriber', 'b in subscriber']);
  });
});
