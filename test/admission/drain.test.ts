/** Draining as a value: nothing new, the grants may end, and what does not end in time is told to and reported. */
import { CountingGate, StoppedError, demand, type DrainReport } from 'rx-admission';
import { NEVER, of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { Job } from '../admit/job.js';
import { scene } from './scene.js';

const outcome = async (drain: Promise<DrainReport>): Promise<DrainReport | 'pending'> =>
  Promise.race([drain, new Promise<'pending'>((resolve) => setTimeout(() => resolve('pending')))]);

describe('drain', () => {
  it('answers at once when nothing is held', async () => {
    const { admission } = scene();
    await expect(admission.drain()).resolves.toEqual({ drained: true, refused: 0, took: 0, left: [] });
    expect(admission.status().phase).toBe('closed');
  });

  it('refuses new and parked asks, and waits for the grants', async () => {
    const { admission, ask, clock } = scene(2);
    const [a, b] = [ask('A'), ask('B')];
    const parked = [ask('C'), ask('D')];
    const drain = admission.drain();
    expect(parked.map(({ refusal }) => refusal instanceof StoppedError)).toEqual([true, true]);
    expect(ask('E').refusal).toBeInstanceOf(StoppedError);
    clock.advanceTo(5);
    a.release();
    await expect(outcome(drain)).resolves.toBe('pending');
    clock.advanceTo(8);
    b.release();
    await expect(outcome(drain)).resolves.toEqual({ drained: true, refused: 2, took: 8, left: [] });
  });

  it('aborts every signal at the timeout, and reports what is left', async () => {
    const { admission, ask, clock } = scene(2);
    const [a, b] = [ask('A'), ask('B')];
    a.grant.signal.addEventListener('abort', () => a.release());
    const drain = admission.drain({ timeout: 100 });
    expect(clock.pending).toBe(1);
    clock.advanceTo(99);
    expect([a.grant.signal.aborted, b.grant.signal.aborted]).toEqual([false, false]);
    clock.advanceTo(100);
    expect([a.grant.signal.aborted, b.grant.signal.aborted]).toEqual([true, true]);
    expect(b.grant.signal.reason).toBeInstanceOf(StoppedError);
    expect(b.grant.signal.reason).toMatchObject({ cause: expect.objectContaining({ message: expect.stringContaining('100ms') as unknown }) as unknown });
    await expect(drain).resolves.toEqual({
      drained: false,
      refused: 0,
      took: 100,
      left: [{ job: 'B', accounts: ['slot'], age: 100 }],
    });
    // What is left may still settle.
    b.release();
    expect(admission.status().grants).toEqual([]);
  });

  it('has drained when all of them release as they are told to abort', async () => {
    const { admission, ask, clock } = scene(2);
    for (const job of [ask('A'), ask('B')]) job.grant.signal.addEventListener('abort', () => job.release());
    const drain = admission.drain({ timeout: 10 });
    clock.advanceTo(10);
    await expect(drain).resolves.toEqual({ drained: true, refused: 0, took: 10, left: [] });
  });

  it('leaves no timer when the grants end before the timeout', async () => {
    const { admission, ask, clock } = scene();
    const job = ask('A');
    const drain = admission.drain({ timeout: 100 });
    job.release();
    expect(clock.pending).toBe(0);
    await expect(drain).resolves.toMatchObject({ drained: true });
  });

  it('with a timeout of 0 gives nobody time', async () => {
    const { admission, ask, clock } = scene();
    const job = ask('A');
    const drain = admission.drain({ timeout: 0 });
    clock.advanceTo(1);
    await expect(drain).resolves.toMatchObject({ drained: false, left: [{ job: 'A' }] });
    expect(job.grant.signal.aborted).toBe(true);
  });

  it('may be asked for twice, and after a stop', async () => {
    const { admission, ask } = scene();
    const job = ask('A');
    admission.stop();
    const drains = [admission.drain(), admission.drain()];
    job.release();
    const reports = await Promise.all(drains);
    expect(reports.map(({ drained }) => drained)).toEqual([true, true]);
  });

  it('refuses a timeout that is none', () => {
    const { admission } = scene();
    for (const timeout of [-1, Number.NaN]) expect(() => void admission.drain({ timeout })).toThrow(RangeError);
    expect(admission.status().phase).toBe('open');
  });

  it('waits for promises that nobody listens to any more', async () => {
    const { admission, slot } = scene();
    let end: ((value: string) => void) | undefined;
    const work = new Promise<string>((resolve) => (end = resolve));
    admission.defer(demand(slot), () => work).subscribe().unsubscribe();
    const drain = admission.drain();
    await expect(outcome(drain)).resolves.toBe('pending');
    end?.('done');
    await expect(drain).resolves.toMatchObject({ drained: true });
  });

  it('ends though an account cannot tell how it is', async () => {
    const { admission, clock } = scene();
    class Mute extends CountingGate {
      override inUse(): number {
        throw new Error('no idea');
      }
      override get capacity(): number {
        throw new Error('no idea');
      }
    }
    const job = new Job(admission, demand(new Mute({ name: 'mute', capacity: 1 })), { job: 'A' });
    expect(admission.status().accounts).toMatchObject([{ name: 'mute', inUse: NaN, capacity: NaN }]);
    const drain = admission.drain({ timeout: 5 });
    clock.advanceTo(5);
    await expect(drain).resolves.toMatchObject({ drained: false, left: [{ job: 'A', accounts: ['mute'] }] });
    job.release();
  });

  it('is what the end of an await using block does', async () => {
    const { admission, slot } = scene();
    const log: string[] = [];
    {
      await using held = admission;
      const job = new Job(held, demand(slot));
      setTimeout(() => {
        log.push('released');
        job.release();
      });
    }
    log.push('drained');
    expect(log).toEqual(['released', 'drained']);
    let refusal: unknown;
    of(1).pipe(admission.admit(demand(slot), () => NEVER)).subscribe({ error: (error: unknown) => (refusal = error) });
    expect(refusal).toBeInstanceOf(StoppedError);
  });
});
