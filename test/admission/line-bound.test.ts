/** A bounded line: who goes when it is full. */
import { QueueFullError, demand } from 'rx-admission';
import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { Job } from '../admit/job.js';
import { scene } from './scene.js';

describe('maxWaiters', () => {
  it('rejects the newcomer unless told otherwise', () => {
    const { admission, ask, events } = scene(1, { maxWaiters: 2 });
    const holder = ask('H');
    const jobs = ['A', 'B', 'C'].map((name) => ask(name));
    expect(jobs.map(({ state }) => state)).toEqual(['waiting', 'waiting', 'refused']);
    expect(jobs[2]?.refusal).toBeInstanceOf(QueueFullError);
    expect(jobs[2]?.refusal).toMatchObject({ name: 'QueueFullError', reason: 'overflow' });
    expect((jobs[2]?.refusal as Error).message).toContain('2 may wait');
    expect(events.slice(-2)).toEqual(['0 HELD slot C waiters=3 amount=1', '0 REJECTED slot C waiters=2 amount=1 wait=0 reason=overflow']);
    holder.release();
    expect([ask('D').state, admission.queueSize]).toEqual(['waiting', 2]);
  });

  it('drops the one who waited longest when told to', () => {
    const { admission, ask, clock, events } = scene(1, { maxWaiters: 2, overflow: 'drop-oldest' });
    ask('H');
    const jobs = ['A', 'B', 'C'].map((name) => (clock.advanceTo(clock.now() + 1), ask(name)));
    expect(jobs.map(({ state }) => state)).toEqual(['refused', 'waiting', 'waiting']);
    expect(jobs[0]?.refusal).toBeInstanceOf(QueueFullError);
    expect(events.at(-1)).toBe('3 REJECTED slot A waiters=2 amount=1 wait=2 reason=overflow');
    expect(admission.queueSize).toBe(2);
  });

  it('lets those go whom the dropped head held back', () => {
    const { ask, admission, slot } = scene(2, { maxWaiters: 1, overflow: 'drop-oldest' });
    ask('H');
    const big = ask('BIG', 2);
    const small = ask('SMALL');
    expect([big.state, small.state, admission.queueSize, slot.inUse()]).toEqual(['refused', 'granted', 0, 2]);
  });

  it('concerns those who would have to wait, and nobody else', () => {
    const { admission, ask, gate } = scene(1, { maxWaiters: 1 });
    ask('H');
    ask('W');
    expect(new Job(admission, demand(gate('other', 1))).state).toBe('granted');
    expect(new Job(admission, demand()).state).toBe('granted');
    expect(ask('X').state).toBe('refused');
  });

  it('of 0 lets nobody wait', () => {
    const { admission, ask, clock } = scene(1, { maxWaiters: 0 });
    const holder = ask('H');
    expect([ask('A').state, admission.queueSize, clock.pending]).toEqual(['refused', 0, 0]);
    holder.release();
    expect(ask('B').state).toBe('granted');
  });

  it('of 0 with drop-oldest drops the newcomer: there is nobody older', () => {
    const { ask } = scene(1, { maxWaiters: 0, overflow: 'drop-oldest' });
    ask('H');
    expect(ask('A').state).toBe('refused');
  });

  it('fails an operator as any refusal does, unless onRefused stands in', () => {
    const { admission, slot, ask } = scene(1, { maxWaiters: 1 });
    const holder = ask('H');
    const values: unknown[] = [];
    of('a', 'b', 'c')
      .pipe(admission.admit(demand(slot), (item) => of(item), { onRefused: (error, item) => of(`${item}: ${error.reason}`) }))
      .subscribe((value) => values.push(value));
    expect(values).toEqual(['b: overflow', 'c: overflow']);
    holder.release();
    expect(values).toEqual(['b: overflow', 'c: overflow', 'a']);
  });
});
