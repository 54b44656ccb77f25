/** A bounded line: who goes when it is full. */
import { CountingGate, QueueFullError, demand } from 'rx-admission';
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

describe('maxWaiters of an account', () => {
  const bounded = (name: string, maxWaiters: number): CountingGate => new CountingGate({ name, capacity: 1, maxWaiters });

  it('refuses the newcomer who names it when that many who name it wait, and nobody else', () => {
    const { admission, slot, ask, events } = scene();
    const [small, held] = [bounded('small', 2), new Job(admission, demand(slot), { job: 'H' })];
    new Job(admission, demand(small), { job: 'S' });
    const jobs = ['A', 'B', 'C'].map((job) => new Job(admission, demand(small), { job }));
    expect([...jobs, ask('D')].map(({ state }) => state)).toEqual(['waiting', 'waiting', 'refused', 'waiting']);
    expect(jobs[2]?.refusal).toBeInstanceOf(QueueFullError);
    expect(jobs[2]?.refusal).toMatchObject({ reason: 'overflow', account: 'small' });
    expect((jobs[2]?.refusal as Error).message).toBe('the line for small is full: 2 may wait; ask later, or raise its maxWaiters');
    expect(events.filter((line) => line.includes('REJECTED'))).toEqual(['0 REJECTED small C waiters=2 amount=1 wait=0 reason=overflow']);
    held.release();
  });

  it('counts those who are short of something else, as the head and under several keys of one account', () => {
    const { admission, slot } = scene();
    const small = bounded('small', 1);
    new Job(admission, demand(slot));
    expect(new Job(admission, demand(slot, small), { job: 'A' }).state).toBe('waiting');
    // It would go beside the head if the head had not reserved the only permit.
    const second = new Job(admission, demand(small), { job: 'B' });
    expect([second.state, (second.refusal as QueueFullError).account]).toEqual(['refused', 'small']);
    class Keyed extends CountingGate {
      override accountFor(amount: number): object {
        return keys[amount] ?? this;
      }
    }
    const keys: Record<number, object> = { 1: {}, 2: {} };
    const keyed = new Keyed({ name: 'keyed', capacity: 2, maxWaiters: 1 });
    const holder = new Job(admission, demand([keyed, 2]));
    expect([holder.state, new Job(admission, demand([keyed, 1, 2])).state]).toEqual(['granted', 'waiting']);
    expect(new Job(admission, demand([keyed, 1])).state).toBe('refused');
    expect(admission.status().accounts.find(({ name }) => name === 'keyed')).toMatchObject({ queued: 1 });
  });

  it('says who refuses it also where the account had not held it', () => {
    const { admission, slot, events } = scene();
    const small = bounded('small', 0);
    new Job(admission, demand(slot));
    expect(new Job(admission, demand(slot, small), { job: 'A' }).state).toBe('refused');
    expect(events.slice(-3)).toEqual([
      '0 HELD slot A waiters=1 amount=1',
      '0 REJECTED small A waiters=0 amount=1 wait=0 reason=overflow',
      '0 REJECTED slot A waiters=0 amount=1 wait=0 reason=overflow',
    ]);
  });

  it('with drop-oldest drops the oldest who names it, wherever that one stands', () => {
    const { admission, slot, clock } = scene(1, { overflow: 'drop-oldest' });
    const [small, odd] = [bounded('small', 2), bounded('odd', 1)];
    const ask = (job: string, needs = demand(small)): Job => (clock.advanceTo(clock.now() + 1), new Job(admission, needs, { job }));
    ask('H', demand(slot, small, odd));
    const first = ask('FIRST', demand(slot));
    const jobs = ['A', 'B', 'C'].map((job) => ask(job));
    expect([first, ...jobs].map(({ state }) => state)).toEqual(['waiting', 'refused', 'waiting', 'waiting']);
    // Two amounts on one account are asked for one by one, outside the groups.
    const two = ask('TWO', demand([odd, 1], [odd, 1]).add(slot, 1));
    expect(two.state).toBe('refused');
    const [one, other] = [ask('ONE', demand(odd, small)), ask('OTHER', demand(odd))];
    expect([one.state, other.state, jobs[1]?.state, jobs[2]?.state]).toEqual(['refused', 'waiting', 'refused', 'waiting']);
  });

  it('lets those go whom the dropped head held back', () => {
    const { admission, slot, gate } = scene(1, { overflow: 'drop-oldest' });
    const [small, free] = [bounded('small', 1), gate('free', 2)];
    new Job(admission, demand(slot, small));
    const head = new Job(admission, demand(small, [free, 2]));
    const behind = new Job(admission, demand(free));
    expect(behind.state).toBe('waiting');
    expect([new Job(admission, demand(small)).state, head.state, behind.state]).toEqual(['waiting', 'refused', 'granted']);
  });

  it.each([-1, NaN, '3'])('is refused where it is no number: %s', (maxWaiters) => {
    expect(() => bounded('small', maxWaiters as number)).toThrow(/^small: maxWaiters must be zero or a positive number/);
  });
});

describe('the age of the queue', () => {
  it('is the wait of the first who names an account, and of the head', () => {
    const { admission, slot, gate, clock } = scene();
    const other = gate('other', 1);
    new Job(admission, demand(slot, other));
    const ages = (): unknown[] => {
      const { queueAge, accounts } = admission.status();
      return [queueAge, ...accounts.map((account) => [account.name, account.queued, account.queueAge])];
    };
    expect(ages()).toEqual([0, ['slot', 0, 0], ['other', 0, 0]]);
    clock.advanceTo(10);
    const first = new Job(admission, demand(slot));
    clock.advanceTo(15);
    new Job(admission, demand(slot, other));
    clock.advanceTo(40);
    expect(ages()).toEqual([30, ['slot', 2, 30], ['other', 1, 25]]);
    first.unsubscribe();
    expect(ages()).toEqual([25, ['slot', 1, 25], ['other', 1, 25]]);
  });
});
