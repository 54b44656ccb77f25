/** Who owns a grant: one that was dropped is found, one that is held too long is reported, and none is given back twice. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { CHANNELS, CountingGate, createAdmission, demand, type AdmissionOptions, type AdmissionWarning, type Grant } from 'rx-admission';
import { NEVER, mergeMap, of, throwError } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Job } from '../admit/job.js';
import { Children } from '../platform/child.js';
import { scene as sceneOf, type Scene } from './scene.js';

const LOST = new URL('./lost.ts', import.meta.url);
const lines: string[] = [];
const log = { warn: (line: string): void => void lines.push(line) };
const scene = (capacity = 1, options: Omit<AdmissionOptions, 'scheduler'> = {}): Scene & { warnings: AdmissionWarning[] } => {
  lines.length = 0;
  const made = sceneOf(capacity, { log, ...options });
  const warnings: AdmissionWarning[] = [];
  made.admission.warnings$.subscribe((warning) => warnings.push(warning));
  return { ...made, warnings };
};

describe('a grant that was dropped unsettled', { timeout: 60_000 }, () => {
  let children: Children;
  beforeAll(async () => {
    children = await Children.of(LOST);
  });
  afterAll(() => children.remove());
  const run = async (mode: string): Promise<unknown[]> => {
    const { code, lines: printed, errors } = await children.run(LOST, { flags: ['--expose-gc'], args: [mode] });
    if (code !== 0) throw new Error(errors);
    return printed.map((line) => JSON.parse(line) as unknown);
  };
  const full = { inUse: 3, queueSize: 1 };

  it('is found once nobody can reach it: told with the stack that asked, its signal aborted, its permits given back', async () => {
    expect(await run('recover')).toEqual([
      full,
      { job: 'dropped', of: ['gate'], recovered: true, tracesIt: true },
      { job: 'tried', of: ['gate'], recovered: true, tracesIt: true },
      { inUse: 2, queueSize: 0, aborted: true },
      { inUse: 0, warnings: 2 },
    ]);
  });

  it('is told and left alone with `report`', async () => {
    expect(await run('report')).toEqual([
      full,
      { job: 'dropped', of: ['gate'], recovered: false, tracesIt: null },
      { job: 'tried', of: ['gate'], recovered: false, tracesIt: null },
      { ...full, aborted: false },
      { inUse: 3, warnings: 2 },
    ]);
  });

  it('is not looked for with `off`', async () => {
    expect(await run('off')).toEqual([full, { ...full, aborted: false }, { inUse: 3, warnings: 0 }]);
  });

  it.each(['recover', 'report'] as const)('in this very process, with `%s`', async (lostGrants) => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const { admission, slot, warnings } = scene(4, { lostGrants });
    for (const job of ['a', 'b']) await admission.acquire(demand(slot), { job });
    const kept = await admission.acquire(demand(slot));
    await admission.acquire(demand(slot)).then((grant) => {
      grant.release();
    });
    for (let turns = 0; turns < 500 && warnings.length < 2; turns += 1) {
      collect();
      await turn();
    }
    expect(warnings.map(({ type }) => type)).toEqual(['LOST_GRANT', 'LOST_GRANT']);
    expect([slot.inUse(), kept.settled, admission.check()]).toEqual([lostGrants === 'recover' ? 1 : 3, false, []]);
  });

  it('takes no other word', () => {
    expect(() => createAdmission({ lostGrants: 'forget' as 'off' })).toThrow("lostGrants must be 'recover', 'report' or 'off', not forget");
  });
});

describe('maxHold', () => {
  const held = async (made: Scene, options: Parameters<Scene['admission']['acquire']>[1]): Promise<Grant> =>
    made.admission.acquire(demand(made.slot), { job: { name: 'the report' }, ...options });

  it('reports a grant that is still held, once, by the one timer, and takes nothing', async () => {
    const made = scene(2, { maxHold: 100 });
    const grants = [await held(made, {}), await held(made, { maxHold: 50 })];
    expect(made.clock.pending).toBe(1);
    made.clock.advanceTo(49);
    expect(made.warnings).toEqual([]);
    made.clock.advanceTo(1_000);
    expect(made.warnings).toMatchObject([
      { type: 'LONG_HOLD', at: 50, age: 50, job: { name: 'the report' }, recovered: false, trace: null },
      { type: 'LONG_HOLD', at: 100, age: 100 },
    ]);
    expect(lines).toEqual([50, 100].map((ms) => `admission: a grant is held for more than ${ms}ms, the report on slot`));
    expect([made.slot.inUse(), ...grants.map(({ signal }) => signal.aborted)]).toEqual([2, false, false]);
    expect(made.clock.pending).toBe(0);
  });

  it('takes back what nobody works with any more, and aborts its signal', async () => {
    const made = scene(1, { maxHold: { after: 100, recover: true } });
    const grant = await held(made, {});
    const waiter = made.ask('W');
    made.clock.advanceTo(100);
    expect([grant.settled, grant.signal.aborted, waiter.state]).toEqual([true, true, 'granted']);
    expect(made.warnings).toMatchObject([{ type: 'LONG_HOLD', recovered: true }]);
    grant.release();
    grant.rollback();
    expect(made.slot.inUse()).toBe(1);
  });

  it('tells work that goes on to abort, and leaves it its permits: capacity 1 never runs two', async () => {
    const made = scene(1, { maxHold: { after: 100, recover: true } });
    const job = made.ask('H');
    const waiter = made.ask('W');
    made.clock.advanceTo(100);
    expect([job.grant.signal.aborted, job.grant.settled, waiter.state]).toEqual([true, false, 'waiting']);
    job.unsubscribe();
    expect(waiter.state).toBe('granted');
    waiter.unsubscribe();
    const grant = await held(made, {});
    let end = (): void => undefined;
    grant.until(new Promise<void>((resolve) => (end = resolve)));
    made.clock.advanceTo(500);
    expect([grant.signal.aborted, grant.settled, made.slot.inUse()]).toEqual([true, false, 1]);
    grant.release();
    end();
    await Promise.resolve();
    expect(made.slot.inUse()).toBe(0);
  });

  it('of tryAcquire counts too, and that of a settled grant leaves no timer', () => {
    const { admission, slot, clock, warnings } = scene(2);
    const grant = admission.tryAcquire(demand(slot), { maxHold: 10 });
    expect([admission.tryAcquire(demand(slot), { maxHold: Infinity }) !== null, clock.pending]).toEqual([true, 1]);
    grant?.release();
    expect(clock.pending).toBe(0);
    clock.advanceTo(99);
    expect(warnings).toEqual([]);
  });

  it('tells the stack that asked where `trace` is on, the caller first', async () => {
    const made = scene(4, { trace: true, maxHold: 1 });
    await held(made, {});
    const { admission, slot, clock } = made;
    const whole = demand(slot);
    const tried = function caller(): Grant | null {
      return admission.tryAcquire(whole);
    };
    const streamed = function caller(): void {
      of(1).pipe(mergeMap(() => of(2)), admission.admit(whole, () => NEVER)).subscribe();
    };
    const ran = function caller(): void {
      void admission.run(whole, () => new Promise(() => undefined));
    };
    tried();
    streamed();
    ran();
    clock.advanceTo(5);
    const [byHand, ...others] = made.warnings.map((warning) => ('trace' in warning ? warning.trace : ''));
    expect(byHand).toMatch(/^ +at held \(.*ownership\.test/);
    expect(lines[0]).toContain('asked for\n    at held');
    expect(others).toHaveLength(3);
    for (const trace of others) expect(trace).toMatch(/^ +at caller \(.*ownership\.test/);
  });

  it('tells the whole stack where nobody but the library asks', async () => {
    const made = scene(1, { trace: true, maxHold: 1 });
    async function* items(): AsyncGenerator<number> {
      await Promise.resolve();
      yield 1;
    }
    made.admission.each(items(), demand(made.slot), () => NEVER).subscribe();
    await turn();
    made.clock.advanceTo(5);
    expect(made.warnings[0]).toMatchObject({ trace: expect.stringMatching(/^ +at stack \(.*upkeep/) as string });
  });

  it('takes it back once the work has ended that kept it from that', async () => {
    const made = scene(1, { maxHold: { after: 10, recover: true } });
    const grant = await held(made, {});
    let end = (): void => undefined;
    grant.until(new Promise<void>((resolve) => { end = resolve; }));
    made.clock.advanceTo(11);
    expect([made.slot.inUse(), grant.signal.aborted, made.warnings.length]).toEqual([1, true, 1]);
    end();
    await Promise.resolve();
    expect([made.slot.inUse(), grant.settled, made.admission.check()]).toEqual([0, true, []]);
  });

  it('is published in order with what is told, also where the log throws', async () => {
    const made = sceneOf(1, { maxHold: 1, log: { warn: () => { throw new Error('full disk'); } } });
    const heard: unknown[] = [];
    const hear = (message: unknown): void => void heard.push(message);
    subscribe(CHANNELS.warning, hear);
    vi.useFakeTimers();
    try {
      // Kept, and settled in the end: one that is collected would be told of too, whenever that is.
      const grant = await held(made, { job: 7 });
      made.clock.advanceTo(5);
      expect(heard).toMatchObject([{ admission: { name: 'admission' }, warning: { type: 'LONG_HOLD', job: 7 } }]);
      expect(() => vi.runAllTimers()).toThrow('full disk');
      grant.release();
    } finally {
      vi.useRealTimers();
      unsubscribe(CHANNELS.warning, hear);
    }
  });

  it('that cannot give back says so to nobody in particular, and the rest is given back', async () => {
    class Broken extends CountingGate {
      override give(): void {
        throw new Error('cannot take it back');
      }
    }
    vi.useFakeTimers();
    try {
      const { admission, slot, clock, warnings } = scene(1, { maxHold: { after: 1, recover: true } });
      await admission.acquire(demand(new Broken({ name: 'broken', capacity: 1 }), slot), { job: {} });
      clock.advanceTo(1);
      expect([slot.inUse(), warnings.length]).toEqual([0, 1]);
      expect(warnings[0]?.message).toContain('a job on broken, slot');
      expect(() => vi.runAllTimers()).toThrow('cannot take it back');
    } finally {
      vi.useRealTimers();
    }
  });

  it.each([0, -1, NaN, { after: 0 }, { after: '5' }, null])('is refused where it is no time: %j', async (maxHold) => {
    const { admission, slot } = scene();
    expect(() => createAdmission({ maxHold: maxHold as number })).toThrow(/maxHold \(ms\) must be a positive number/);
    await expect(admission.acquire(demand(slot), { maxHold: maxHold as number })).rejects.toThrow(RangeError);
    expect(slot.inUse()).toBe(0);
  });
});

/** Counts what each take got and each give brought, by the receipt that ties them. */
class Strict extends CountingGate {
  readonly faults: string[] = [];
  readonly #out = new Map<object | undefined, number>();

  override tryTake(mine: readonly number[], ahead: readonly number[], at: number, receipt?: object): boolean {
    const taken = super.tryTake(mine, ahead, at);
    if (taken && this.#out.has(receipt)) this.faults.push('taken twice');
    if (taken) this.#out.set(receipt, Number(mine[0]));
    return taken;
  }

  override give(amounts: readonly number[], at: number, receipt?: object): void {
    if (this.#out.get(receipt) !== Number(amounts[0])) this.faults.push('given back what was not taken');
    this.#out.delete(receipt);
    super.give(amounts, at);
  }
}

describe('over-release', () => {
  const ends: [string, (grant: Grant) => unknown][] = [
    ['release', (grant) => { grant.release('success'); }],
    ['rollback', (grant) => { grant.rollback(); }],
    ['dispose', (grant) => { grant[Symbol.dispose](); }],
    ['until', (grant) => { grant.until(Promise.resolve()); }],
    ['until what calls back twice', (grant) => { grant.until({ then: (done) => (done?.(undefined), done?.(undefined), Promise.resolve() as never) }); }],
  ];
  type Way = (made: Scene, gate: Strict, act: (grant: Grant) => void) => unknown;
  const ways: [string, Way][] = [
    ['admit', ({ admission }, gate, act) => of(1).pipe(admission.admit(demand(gate), (_one, grant) => (act(grant), of(1)))).subscribe()],
    ['admit, cut', ({ admission }, gate, act) => { of(1).pipe(admission.admit(demand(gate), (_one, grant) => (act(grant), NEVER))).subscribe().unsubscribe(); }],
    ['admit, failing', ({ admission }, gate, act) => of(1).pipe(admission.admit(demand(gate), (_one, grant) => (act(grant), throwError(() => new Error('e'))))).subscribe({ error: () => undefined })],
    ['admit, throwing', ({ admission }, gate, act) => of(1).pipe(admission.admit(demand(gate), (_one, grant) => { act(grant); throw new Error('e'); })).subscribe({ error: () => undefined })],
    ['defer', ({ admission }, gate, act) => admission.defer(demand(gate), (grant) => (act(grant), Promise.resolve())).subscribe()],
    ['each', ({ admission }, gate, act) => admission.each([1, 2], demand(gate), (_one, grant) => (act(grant), of(1))).subscribe()],
    ['run', ({ admission }, gate, act) => admission.run(demand(gate), act)],
    ['run, failing', ({ admission }, gate, act) => admission.run(demand(gate), (grant) => { act(grant); throw new Error('e'); }).catch(() => undefined)],
    ['acquire', ({ admission }, gate, act) => admission.acquire(demand(gate), { maxHold: { after: 5, recover: true } }).then(act)],
    ['acquire, aborted', ({ admission }, gate, act) => {
      const controller = new AbortController();
      const asked = admission.acquire(demand(gate), { signal: controller.signal, deadline: 3 }).then((grant) => { act(grant); controller.abort(); act(grant); });
      return asked;
    }],
    ['tryAcquire', ({ admission }, gate, act) => { const grant = admission.tryAcquire(demand(gate), { maxHold: { after: 5, recover: true } }); if (grant) act(grant); }],
  ];

  it.each(ways)('is impossible: %s, whatever is called on the grant, however often and in whatever order', async (_way, enter) => {
    for (const [, first] of ends) {
      for (const [, second] of ends) {
        const made = scene(1);
        const gate = new Strict({ name: 'strict', capacity: 2, scheduler: made.clock });
        const holder = new Job(made.admission, demand(gate));
        const grants: Grant[] = [];
        const entered = enter(made, gate, (grant) => {
          grants.push(grant);
          first(grant);
          second(grant);
        });
        await entered;
        await Promise.resolve();
        made.clock.advanceTo(50);
        for (const grant of grants) for (const [, again] of ends) again(grant);
        const drained = made.admission.drain({ timeout: 5 });
        made.clock.advanceTo(100);
        await drained;
        for (const grant of grants) for (const [, again] of ends) again(grant);
        await Promise.resolve();
        expect([gate.faults, gate.inUse(), holder.grant.settled]).toEqual([[], 1, false]);
        holder.unsubscribe();
        expect([gate.faults, gate.inUse()]).toEqual([[], 0]);
      }
    }
  });
});
