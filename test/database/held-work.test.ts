/** The work of a job when it is left at any step: each verb of its connection waits until the test lets it go on. */
import { Subject, of, takeUntil, throwError, type ObservableInput, type Subscription } from 'rxjs';
import { CancelledError, RefusedError, createAdmission, type Admission } from 'rx-admission';
import { HoldingProvider, withDatabase, type Condition, type HeldConnection } from 'rx-admission/database';
import { beforeEach, describe, expect, it } from 'vitest';

type Verb = 'open' | 'begin' | 'commit' | 'rollback' | 'restore' | 'giveBack';

/** A driver whose verbs end when the test says so, or fail as it says. */
class Stepped extends HoldingProvider<string> {
  /** What was asked of the driver, in order. */
  readonly asked: (Verb | 'sever' | Condition)[] = [];
  readonly stopsAt = new Set<Verb>();
  readonly failsAt = new Map<Verb, unknown>();
  readonly #steps = new Map<Verb, () => void>();
  severed = false;

  constructor() {
    super({ name: 'stepped', maxConcurrent: 1, log: { warn: () => undefined } });
  }

  goOn(verb: Verb): Promise<void> {
    this.#steps.get(verb)?.();
    return settled();
  }

  async step(verb: Verb): Promise<void> {
    this.asked.push(verb);
    if (this.stopsAt.has(verb)) await new Promise<void>((resolve) => this.#steps.set(verb, resolve));
    if (this.failsAt.has(verb)) throw this.failsAt.get(verb);
  }

  protected async open(): Promise<HeldConnection<string>> {
    await this.step('open');
    const isSevered = (): boolean => this.severed;
    return {
      value: 'a connection',
      get severed() {
        return isSevered();
      },
      begin: () => this.step('begin'),
      commit: () => this.step('commit'),
      rollback: () => this.step('rollback'),
      restore: () => this.step('restore'),
      sever: () => this.asked.push('sever'),
      giveBack: (condition) => {
        this.asked.push(condition);
        return this.step('giveBack');
      },
    };
  }
}

/** As many turns as the longest way through has awaits. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
}

let provider: Stepped;
let admission: Admission;
let seen: unknown[];
beforeEach(() => {
  provider = new Stepped();
  admission = createAdmission();
  seen = [];
});

async function started(work: () => ObservableInput<unknown>, signal?: AbortSignal): Promise<Subscription> {
  const orders = withDatabase(provider);
  const subscription = admission.defer(orders.demand(), orders.factory(work), { signal }).subscribe({
    next: (value) => seen.push(value),
    error: (error: unknown) => seen.push(error),
    complete: () => seen.push('complete'),
  });
  await settled();
  return subscription;
}

describe('work that is left', () => {
  it.each<[Verb, readonly string[]]>([
    ['open', ['open', 'restore', 'whole', 'giveBack']],
    ['begin', ['open', 'begin', 'sever', 'broken', 'giveBack']],
    ['commit', ['open', 'begin', 'commit', 'sever', 'broken', 'giveBack']],
    ['restore', ['open', 'begin', 'commit', 'restore', 'sever', 'broken', 'giveBack']],
    ['giveBack', ['open', 'begin', 'commit', 'restore', 'whole', 'giveBack']],
  ])('during %s hears nothing more, and its permit waits for the connection', async (verb, asked) => {
    provider.stopsAt.add(verb).add('giveBack');
    const subscription = await started(() => of('row'));
    subscription.unsubscribe();
    await settled();
    expect(provider.admission.inUse()).toBe(1);
    await provider.goOn(verb);
    await provider.goOn('giveBack');
    expect(provider.asked).toEqual(asked);
    expect([seen, provider.admission.inUse()]).toEqual([[], 0]);
  });

  it('while its failure is being closed hears nothing more', async () => {
    provider.stopsAt.add('rollback');
    const subscription = await started(() => throwError(() => new Error('of the work')));
    subscription.unsubscribe();
    await provider.goOn('rollback');
    expect(provider.asked).toEqual(['open', 'begin', 'rollback', 'sever', 'broken', 'giveBack']);
    expect([seen, provider.admission.inUse()]).toEqual([[], 0]);
  });

  it('by its own pipe once it is in keeps its connection whole', async () => {
    provider.stopsAt.add('restore');
    const left = new Subject<void>();
    const orders = withDatabase(provider);
    const held = orders.factory(() => of('row'));
    admission
      .defer(orders.demand(), (grant) => held(grant).pipe(takeUntil(left)))
      .subscribe({ next: (value) => seen.push(value), complete: () => seen.push('complete') });
    await settled();
    left.next();
    expect([seen, provider.admission.inUse()]).toEqual([['complete'], 1]);
    await provider.goOn('restore');
    expect(provider.asked).toEqual(['open', 'begin', 'commit', 'restore', 'whole', 'giveBack']);
    expect(provider.admission.inUse()).toBe(0);
  });

  it.each<[Verb]>([['commit'], ['begin']])('while %s fails hears nothing of that', async (verb) => {
    provider.stopsAt.add(verb);
    provider.failsAt.set(verb, new Error('of the server'));
    const subscription = await started(() => of('row'));
    subscription.unsubscribe();
    await provider.goOn(verb);
    expect([seen, provider.admission.inUse()]).toEqual([[], 0]);
  });

  it('while the failure to begin is being closed hears nothing more', async () => {
    provider.failsAt.set('begin', new Error('of the server'));
    provider.stopsAt.add('restore');
    const subscription = await started(() => of('row'));
    subscription.unsubscribe();
    await provider.goOn('restore');
    expect([seen, provider.admission.inUse()]).toEqual([[], 0]);
  });
});

describe('work that cannot start', () => {
  it('takes no connection where its signal aborted before it was subscribed', async () => {
    const controller = new AbortController();
    const orders = withDatabase(provider);
    const work = orders.factory(() => of('never'));
    const asks = admission.defer(
      orders.demand(),
      (grant) => {
        controller.abort(new Error('not wanted'));
        return work(grant);
      },
      { signal: controller.signal },
    );
    asks.subscribe({ error: (error: unknown) => seen.push(error) });
    await settled();
    expect(seen).toEqual([expect.any(CancelledError)]);
    expect([provider.asked, provider.admission.inUse()]).toEqual([[], 0]);
  });

  it.each<[unknown, string]>([
    [new Error('no route'), 'no route'],
    ['a bare string', 'a bare string'],
  ])('says why: %s', async (cause, why) => {
    provider.failsAt.set('begin', cause);
    await started(() => of('never'));
    expect(seen).toEqual([expect.any(RefusedError)]);
    expect((seen[0] as RefusedError).message).toBe(`the work could not start on its database: ${why}`);
    expect((seen[0] as RefusedError).cause).toBe(cause);
  });

  it('says why no connection could be opened, whatever the driver threw', async () => {
    provider.failsAt.set('open', 'no driver');
    await started(() => of('never'));
    expect(String(seen[0])).toContain('db:stepped: no connection could be opened: no driver');
  });
});

describe('a rollback that fails', () => {
  it('is the caller’s to know of where the connection is alive, and nothing where it was severed', async () => {
    const lost = new Error('of the server');
    provider.failsAt.set('rollback', lost);
    const handle = await provider.acquire();
    await provider.begin(handle);
    await expect(provider.rollback(handle)).rejects.toBe(lost);
    provider.severed = true;
    await provider.rollback(handle);
    await provider.close(handle);
    expect(provider.asked.at(-2)).toBe('broken');
  });
});

it('work that is an array gives its values, and ends', async () => {
  await started(() => ['one', 'two']);
  expect([seen, provider.admission.inUse()]).toEqual([['one', 'two', 'complete'], 0]);
});

it('work that answers a promise keeps its permit until the promise settles', async () => {
  const late = new Subject<void>();
  const promise = new Promise<void>((resolve) => late.subscribe({ complete: resolve }));
  const subscription = await started(() => promise);
  subscription.unsubscribe();
  await settled();
  expect(provider.admission.inUse()).toBe(1);
  late.complete();
  await settled();
  expect(provider.admission.inUse()).toBe(0);
});
