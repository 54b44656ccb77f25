/** Jobs that ask again while they hold something: warned of, refused, or lent to; and never waiting for themselves. */
import { setImmediate as turn } from 'node:timers/promises';
import {
  CountingGate,
  NestedAskError,
  TokenBucket,
  createAdmission,
  demand,
  type AdmissionOptions,
  type AdmissionWarning,
  type Grant,
} from 'rx-admission';
import { NEVER, Subject, concatMap, from, lastValueFrom, of, tap, toArray, type Subscription } from 'rxjs';
import { describe, expect, it } from 'vitest';
import type { Job } from '../admit/job.js';
import { scene as sceneOf, type Scene } from '../admission/scene.js';

const scene = (capacity: number, options: Omit<AdmissionOptions, 'scheduler'> = {}): Scene & { warnings: AdmissionWarning[] } => {
  const made = sceneOf(capacity, { log: { warn: () => undefined }, ...options });
  const warnings: AdmissionWarning[] = [];
  made.admission.warnings$.subscribe((warning) => warnings.push(warning));
  return { ...made, warnings };
};

/** A child that says when it runs and ends when it is told. */
class Child {
  grant: Grant | null = null;
  error: unknown = null;
  subscription: Subscription | null = null;
  readonly #done = new Subject<never>();

  readonly run = (grant: Grant): Subject<never> => {
    this.grant = grant;
    return this.#done;
  };

  end(): void {
    this.#done.complete();
  }

  fail(error: Error): void {
    this.#done.error(error);
  }

  /** What it was granted, to ask again inside it. */
  get given(): Grant {
    if (this.grant === null) throw new Error('this child was not granted');
    return this.grant;
  }

  get state(): string {
    return this.error !== null ? 'refused' : this.grant === null ? 'waiting' : this.grant.settled ? 'over' : 'running';
  }
}

function child(parent: Grant, needs: Parameters<Grant['defer']>[0], options = {}): Child {
  const made = new Child();
  made.subscription = parent.defer(needs, made.run, options).subscribe({ error: (error: unknown) => (made.error = error) });
  return made;
}

const held = async ({ admission, slot }: Scene, permits = 1): Promise<Grant> => admission.acquire(demand([slot, permits]));

describe('grant.defer', () => {
  it('runs on the permit of its job, which gives it back only when the call has ended', async () => {
    const made = scene(1);
    const parent = await held(made);
    const one = child(parent, demand(made.slot));
    expect([one.state, made.slot.inUse(), one.grant?.isEmpty]).toEqual(['running', 1, true]);
    const waiter = made.ask('W');
    parent.release();
    expect([parent.settled, waiter.state]).toEqual([false, 'waiting']);
    one.end();
    expect([parent.settled, waiter.state, made.slot.inUse(), made.admission.check()]).toEqual([true, 'granted', 1, []]);
  });

  it('asks the line for what its job does not hold, and for what time brings back', async () => {
    const made = scene(3);
    const { slot, gate, clock, admission } = made;
    const other = gate('other', 1);
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    const parent = await admission.acquire(demand([slot, 2], [tokens, 100]));
    const one = child(parent, () => demand([slot, 3], other, [tokens, 50]));
    expect(one.grant?.demand.entries.map(({ account, amounts }) => [account.name, amounts])).toEqual([
      ['slot', [1]],
      ['other', [1]],
      ['tokens', [50]],
    ]);
    expect([slot.inUse(), tokens.inUse()]).toEqual([3, 150]);
    one.subscription?.unsubscribe();
    parent.release();
    expect([slot.inUse(), other.inUse(), admission.check()]).toEqual([0, 0, []]);
  });

  it.each(['off', 'lend'] as const)('looks only for whoever gets what came back, however many wait for it (%s)', async (nested) => {
    class Counted extends CountingGate {
      asked = 0;
      override fits(...question: Parameters<CountingGate['fits']>): boolean {
        this.asked += 1;
        return super.fits(...question);
      }
    }
    const { admission } = scene(1, { nested });
    const slot = new Counted({ name: 'counted', capacity: 1 });
    const parent = await admission.acquire(demand(slot));
    const children = Array.from({ length: 100 }, () => child(parent, demand(slot)));
    slot.asked = 0;
    for (const each of children) each.end();
    expect(children.every(({ state }) => state === 'over')).toBe(true);
    expect(slot.asked).toBeLessThan(3 * children.length);
  });

  it('lends to one at a time: capacity 1 runs one child, and the next when that is done', async () => {
    const made = scene(1);
    const parent = await held(made);
    const children = ['a', 'b', 'c', 'd'].map(() => child(parent, demand(made.slot)));
    const states = (): string[] => children.map(({ state }) => state);
    expect([states(), made.admission.queueSize, made.admission.check()]).toEqual([['running', 'waiting', 'waiting', 'waiting'], 0, []]);
    children[1]?.subscription?.unsubscribe();
    children[0]?.end();
    expect(states()).toEqual(['over', 'waiting', 'running', 'waiting']);
    parent.release();
    children[2]?.fail(new Error('of the child'));
    // Nobody is left to lend to the last one: it is an ask as any other.
    expect([states(), parent.settled, made.slot.inUse()]).toEqual([['over', 'waiting', 'refused', 'running'], true, 1]);
    children[3]?.end();
    expect([made.slot.inUse(), made.admission.check()]).toEqual([0, []]);
  });

  it('lends on, however deep, from whoever around it holds the account', async () => {
    const made = scene(2);
    const { slot, gate, admission } = made;
    const other = gate('other', 1);
    const top = await held(made, 2);
    const middle = child(top, demand(other));
    const low = child(middle.given, demand(slot, other));
    const lowest = child(low.given, demand([slot, 2], other));
    // One permit of what low has borrowed, and the second of the top, which is free.
    expect([middle.state, low.state, lowest.state, slot.inUse()]).toEqual(['running', 'running', 'running', 2]);
    lowest.end();
    const bottom = child(low.given, demand(slot, other));
    expect([bottom.state, slot.inUse(), other.inUse()]).toEqual(['running', 2, 1]);
    top.release();
    middle.end();
    low.end();
    expect([low.state, middle.state, top.settled]).toEqual(['running', 'running', false]);
    bottom.end();
    expect([low.state, middle.state, top.settled, slot.inUse(), other.inUse(), admission.check()]).toEqual(['over', 'over', true, 0, 0, []]);
  });

  it('refuses at once what could never be had, whatever its job holds of it', async () => {
    const made = scene(2);
    const parent = await held(made);
    const failures: unknown[] = [];
    parent.defer(demand([made.slot, 3]), () => [1]).subscribe({ error: (error: unknown) => failures.push(error) });
    expect(failures).toEqual([expect.objectContaining({ message: expect.stringContaining('3 permits can never fit 2') as string })]);
    parent.release();
    expect([made.slot.inUse(), made.admission.check()]).toEqual([0, []]);
  });

  it('of a job that is over asks as anybody does', async () => {
    const made = scene(1);
    const parent = await held(made);
    parent.release();
    const waiter = made.ask('W');
    const one = child(parent, demand(made.slot));
    expect([waiter.state, one.state, made.admission.queueSize]).toEqual(['granted', 'waiting', 1]);
    waiter.unsubscribe();
    expect(one.state).toBe('running');
  });

  it('that waits for a sibling leaves by its signal, its time, and a stop; each is counted', async () => {
    for (const way of ['signal', 'maxWait', 'stop', 'aborted at once'] as const) {
      const made = scene(1);
      const { admission, slot, clock } = made;
      const parent = await held(made);
      const first = child(parent, demand(slot));
      const controller = new AbortController();
      const second = child(parent, demand(slot), { signal: controller.signal, maxWait: way === 'aborted at once' ? 0 : 50 });
      expect(second.state).toBe(way === 'aborted at once' ? 'refused' : 'waiting');
      if (way === 'signal') controller.abort();
      if (way === 'stop') admission.stop();
      if (way === 'maxWait') clock.advanceTo(50);
      expect([way, second.state, admission.check()]).toEqual([way, 'refused', []]);
      first.end();
      parent.release();
      expect([slot.inUse(), clock.pending, admission.check()]).toEqual([0, 0, []]);
    }
  });

  it('that waits for a sibling says what for and who has it, though it stands in no line', async () => {
    const made = scene(1);
    const { admission, slot, clock } = made;
    const parent = await held(made);
    const first = child(parent, demand(slot), { job: 'a page' });
    const second = child(parent, demand(slot, made.gate('free', 1)), { job: 'a count', maxWait: 50 });
    clock.advanceTo(20);
    const { waiters, borrowers } = admission.status();
    expect([waiters, borrowers.map((each) => [each.waited, each.shortOf, each.heldBy])]).toEqual([[], [[20, ['slot'], ['a page']]]]);
    expect(borrowers[0]?.summary()).toBe('a count waits for slot until one is given back, held by a page');
    clock.advanceTo(50);
    expect(second.error).toMatchObject({ message: 'not granted within 50ms: it was short of slot', account: 'slot' });
    expect(admission.status().borrowers).toEqual([]);
    first.end();
  });

  it('is the only one that borrows: what its options ask for is a stranger’s', async () => {
    const made = scene(1);
    const parent = await held(made);
    let stranger: Job | null = null;
    const job = (): string => {
      stranger = made.ask('a stranger');
      return 'a child';
    };
    expect(child(parent, demand(made.slot), { job }).state).toBe('running');
    expect(stranger).toMatchObject({ state: 'waiting' });
  });

  it('that waits for a sibling is refused by a drain, and counted there', async () => {
    const made = scene(1);
    const parent = await held(made);
    const children = [1, 2, 3].map(() => child(parent, demand(made.slot)));
    const drain = made.admission.drain();
    expect(children.map(({ state }) => state)).toEqual(['running', 'refused', 'refused']);
    children[0]?.end();
    parent.release();
    expect(await drain).toMatchObject({ drained: true, refused: 2 });
  });

  it('lends across admissions, and through several accounts at once', async () => {
    const made = scene(2);
    const other = createAdmission({ scheduler: made.clock });
    const second = made.gate('second', 1);
    const parent = await made.admission.acquire(demand(made.slot, second));
    const inner = await other.acquire(demand(made.slot));
    const one = child(parent, demand(made.slot, second));
    const two = child(parent, demand(second));
    const across = child(inner, demand(made.slot));
    expect([one.state, two.state, across.state]).toEqual(['running', 'waiting', 'running']);
    one.end();
    expect(two.state).toBe('running');
    two.end();
    across.end();
    parent.release();
    inner.release();
    expect([made.slot.inUse(), made.admission.check(), other.check()]).toEqual([0, [], []]);
  });

  it('is checked as `defer` is', async () => {
    const parent = await held(scene(1));
    expect(() => parent.defer(demand(), 5 as never)).toThrow('give defer a function that starts the work');
    expect(() => parent.defer(demand(), () => NEVER, { wait: 5 } as never)).toThrow('defer has no option "wait"');
  });

  it('fails its output when its demand cannot be made', async () => {
    const made = scene(1);
    const parent = await held(made);
    const one = child(parent, () => demand([made.slot, -1]));
    expect([one.state, parent.settled]).toEqual(['refused', false]);
  });
});

describe('nested', () => {
  /** A job that asks again for what it holds, after it has been somewhere else. */
  const again = ({ admission, slot }: Scene, job = 'inner') =>
    admission.run(demand(slot), async () => {
      await turn();
      return admission.run(demand(slot), () => 'done', { job, maxWait: 1 });
    }, { job: 'outer' });

  it('off says nothing, and the job waits for itself until its time is up', async () => {
    const made = scene(1);
    const ran = again(made);
    await turn();
    await turn();
    expect([made.admission.queueSize, made.warnings]).toEqual([1, []]);
    made.clock.advanceTo(5);
    await expect(ran).rejects.toThrow('not granted within 1ms');
  });

  it('warn tells it, and changes nothing', async () => {
    for (const trace of [false, true]) {
      const made = scene(2, { nested: 'warn', trace });
      expect(await again(made)).toBe('done');
      expect(made.warnings).toMatchObject([{ type: 'NESTED_ASK', job: 'inner', parent: 'outer', accounts: ['slot'] }]);
      expect(made.warnings[0]?.message.includes('asked for\n')).toBe(trace);
    }
  });

  it('refuse refuses it with what to do instead, and charges nothing', async () => {
    const made = scene(2, { nested: 'refuse' });
    await expect(again(made)).rejects.toThrow(NestedAskError);
    await expect(again(made)).rejects.toMatchObject({
      account: 'slot',
      reason: 'circuit_blocked',
      message: 'a job asks for slot while it holds it: give both in one demand, or ask by grant.defer',
    });
    expect([made.slot.inUse(), made.admission.check()]).toEqual([0, []]);
  });

  it.each(['warn', 'refuse'] as const)('%s lets those pass who ask for something else', async (nested) => {
    const made = scene(1, { nested });
    const other = made.gate('other', 1);
    const { admission, slot } = made;
    const ran = admission.run(demand(slot), async () => {
      await turn();
      return admission.run(demand(other), () => 'done');
    });
    expect([await ran, made.warnings]).toEqual(['done', []]);
    // Two levels down the account of the first is held still.
    const deep = admission.run(demand(slot), () => admission.run(demand(other), () => admission.run(demand(slot), () => 1, { maxWait: 0 })));
    await expect(deep).rejects.toThrow(nested === 'warn' ? 'not granted' : NestedAskError);
    expect(made.warnings).toHaveLength(nested === 'warn' ? 1 : 0);
  });

  it('lend lets a job run inside itself, however deep and by whatever way in', async () => {
    const made = scene(1, { nested: 'lend' });
    const { admission, slot } = made;
    const call = (depth: number): Promise<number> =>
      admission.run(demand(slot), async () => {
        await turn();
        return depth === 0 ? 0 : 1 + (await call(depth - 1));
      });
    expect(await call(20)).toBe(20);
    const out: unknown[] = [];
    of('x')
      .pipe(admission.admit(demand(slot), () => admission.defer(demand(slot), () => admission.each([1, 2], demand(slot), (n) => of(n)))))
      .subscribe((value) => out.push(value));
    expect([out, slot.inUse(), admission.check()]).toEqual([[1, 2], 0, []]);
  });

  it('lend lends nothing of a job that has ended, also to what it left behind', async () => {
    const made = scene(1, { nested: 'lend' });
    const { admission, slot } = made;
    let late: Promise<string> | undefined;
    let go = (): void => undefined;
    const gone = new Promise<void>((resolve) => (go = resolve));
    await admission.run(demand(slot), () => void (late = gone.then(() => admission.run(demand(slot), () => 'late'))));
    const holder = made.ask('H');
    go();
    await turn();
    expect(admission.queueSize).toBe(1);
    holder.release();
    expect(await late).toBe('late');
  });

  it('holds whoever gets a job’s values for no part of it', async () => {
    const made = scene(1, { nested: 'refuse' });
    const { admission, slot, gate } = made;
    const later = gate('later', 1);
    const admitted$ = from([1, 2, 3]).pipe(
      admission.admit(demand(slot), async (n) => (await turn(), n)),
      concatMap((n) => admission.defer(demand(later), () => of(n))),
      admission.admit(demand(slot), (n) => of(n)),
      toArray(),
    );
    expect(await lastValueFrom(admitted$)).toEqual([1, 2, 3]);
    expect(await lastValueFrom(admission.each([1, 2, 3], demand(slot), async (n) => (await turn(), n)).pipe(toArray()))).toEqual([1, 2, 3]);
    const seen: number[] = [];
    admission.each([1, 2, 3], demand(slot), (n) => of(n)).pipe(tap((n) => seen.push(n))).subscribe();
    expect([seen, made.warnings]).toEqual([[1, 2, 3], []]);
  });

  it('follows a job into another admission that follows too', async () => {
    const made = scene(1, { nested: 'warn' });
    const other = createAdmission({ scheduler: made.clock, nested: 'lend' });
    const ran = made.admission.run(demand(made.slot), () => other.run(demand(made.slot), (grant) => grant.isEmpty));
    expect(await ran).toBe(true);
  });

  it('takes no other word', () => {
    expect(() => createAdmission({ nested: 'on' as 'off' })).toThrow("nested must be 'off', 'warn', 'refuse' or 'lend', not on");
  });

  it('keeps no chain of jobs each of which started the next', async () => {
    const made = scene(2, { nested: 'lend' });
    const { admission, slot } = made;
    let left = 2_000;
    const ended: Promise<unknown>[] = [];
    const next = (): Promise<unknown> =>
      admission.run(demand(slot), async () => {
        await Promise.resolve();
        if ((left -= 1) > 0) ended.push(Promise.resolve().then(next));
      });
    await next();
    while (left > 0) await turn();
    await Promise.all(ended);
    expect([slot.inUse(), admission.check()]).toEqual([0, []]);
  });
});

describe('an account with keys', () => {
  it('is not lent: nobody knows which key', async () => {
    class Keyed extends CountingGate {
      override accountFor(): object {
        return KEY;
      }
    }
    const made = scene(1);
    const keyed = new Keyed({ name: 'keyed', capacity: 2 });
    const parent = await made.admission.acquire(demand(keyed));
    const one = child(parent, demand(keyed));
    expect([one.state, keyed.inUse()]).toEqual(['running', 2]);
  });
});

const KEY = {};
