/** What is handed over wrongly is told so at once: the message names it and the remedy, and nothing is charged. */
import { createAdmission, demand, type Admission, type AdmissionOptions, type CountingGate } from 'rx-admission';
import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { scene } from './scene.js';

/** As JavaScript would call it. */
type Loose = Record<'admit' | 'defer' | 'run' | 'acquire' | 'tryAcquire' | 'each', (...args: unknown[]) => unknown>;
const loose = (admission: Admission): Loose => admission as unknown as Loose;

const failure = async (call: () => unknown): Promise<Error> => {
  try {
    await call();
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return error as Error;
  }
  throw new Error('nothing was refused');
};

/** Each way in, with an argument of options. */
const WAYS: readonly (readonly [way: keyof Loose, ask: (admission: Loose, gate: CountingGate, options: unknown) => unknown])[] = [
  ['admit', ({ admit }, gate, options) => admit(demand(gate), () => of(1), options)],
  ['defer', ({ defer }, gate, options) => defer(demand(gate), () => of(1), options)],
  ['run', ({ run }, gate, options) => run(demand(gate), () => 1, options)],
  ['acquire', ({ acquire }, gate, options) => acquire(demand(gate), options)],
  ['tryAcquire', ({ tryAcquire }, gate, options) => tryAcquire(demand(gate), options)],
  ['each', ({ each }, gate, options) => each([1], demand(gate), () => of(1), options)],
];

describe.each(WAYS)('%s', (way, ask) => {
  it.each<[string, unknown, RegExp]>([
    ['unknown', { timeout: 5 }, /has no option "timeout"; it has .*job/],
    ['null', null, /are an object of .*job.*, or left out, not null/],
    ['a number', 5, /or left out, not 5/],
    ['a signal', AbortSignal.abort(), /not the signal itself: write \{ signal \}/],
  ])('refuses options that are %s', async (_what, options, message) => {
    const { admission, slot, events } = scene();
    const { message: told } = await failure(() => ask(loose(admission), slot, options));
    expect(told).toMatch(message);
    expect(told).toContain(way);
    expect([slot.inUse(), events]).toEqual([0, []]);
  });

  it('takes options that are left out', () => {
    const { admission, slot } = scene();
    expect(() => ask(loose(admission), slot, undefined)).not.toThrow();
  });
});

describe('work that has started', () => {
  const started = Promise.resolve('answer');

  it.each<[string, (admission: Loose, gate: CountingGate) => unknown]>([
    ['run', ({ run }, gate) => run(demand(gate), started)],
    ['defer', ({ defer }, gate) => defer(demand(gate), started)],
    ['each', ({ each }, gate) => each([1], demand(gate), started)],
    ['admit', ({ admit }, gate) => admit(demand(gate), started)],
    ['admit', ({ admit }, gate) => admit(demand(gate), started, {})],
  ])('is refused by %s', async (way, ask) => {
    const { admission, slot, events } = scene();
    const { message } = await failure(() => ask(loose(admission), slot));
    expect(message).toBe(
      `a promise has started already, before anything was granted; give ${way} a function that starts the work: (grant) => …`,
    );
    expect([slot.inUse(), events]).toEqual([0, []]);
  });

  it('is told apart from no work at all', async () => {
    const { admission, slot } = scene();
    expect((await failure(() => loose(admission).run(demand(slot)))).message).toMatch(/^undefined is no work; give run/);
    expect((await failure(() => loose(admission).defer(demand(slot), null))).message).toMatch(/^null is no work/);
  });
});

describe('createAdmission', () => {
  it('refuses options that it does not have', async () => {
    const create = createAdmission as (options: unknown) => unknown;
    expect((await failure(() => create({ concurrency: 4 }))).message).toMatch(/has no option "concurrency"; it has name, .*maxWaiters/);
    expect((await failure(() => create(null))).message).toMatch(/the options of createAdmission .* not null/);
    expect((await failure(() => create(() => 4))).message).toMatch(/not a function/);
  });

  it('takes options that are undefined', () => {
    const options: AdmissionOptions = { maxWaiters: undefined, memory: undefined };
    expect(() => createAdmission(options)).not.toThrow();
  });
});
