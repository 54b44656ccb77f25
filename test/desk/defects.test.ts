/** Who pays for a throw: the waiter it is about, or, where nobody is to blame, everyone. And no more than that. */
import {
  type AdmissionError,
  CountingGate,
  MemoryGate,
  RefusedError,
  StoppedError,
  createAdmission,
  demand,
  type Admission,
} from 'rx-admission';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { Job } from '../admit/job.js';
import { scene } from '../admission/scene.js';
import { Scripted } from './scripted.js';

afterEach(() => {
  vi.restoreAllMocks();
});

const logged = (): unknown[][] => vi.spyOn(console, 'error').mockImplementation(() => undefined).mock.calls;

describe('an account that throws about a waiter', () => {
  it('monitor-21: the error is the uncorrectable kind, names the account, and carries the bug as its cause', () => {
    const { admission, slot, ask, events, clock } = scene();
    const broken = new Scripted('broken', 'broken');
    const holder = ask('H');
    clock.advanceTo(1);
    const victim = new Job(admission, demand(slot, broken), { job: 'V' });
    expect(victim.refusal).toBeInstanceOf(RefusedError);
    expect(victim.refusal).toMatchObject({ reason: 'aborted', account: 'broken', readable: false });
    expect((victim.refusal as Error).message).toContain('"broken"');
    expect((victim.refusal as Error).cause).toEqual(new Error('broken is broken'));
    expect(events.slice(1)).toEqual([
      '1 HELD slot V waiters=1 amount=1',
      '1 REJECTED broken V waiters=0 amount=1 wait=0 reason=aborted',
      '1 REJECTED slot V waiters=0 amount=1 wait=0 reason=aborted',
    ]);
    clock.advanceTo(5);
    holder.release();
    expect(ask('A').state).toBe('granted');
  });

  it.each(['broken', 'takeBroken', 'deadlineBroken'] as const)('costs that waiter only, and gives back what was taken: %s', (mode) => {
    const { admission, slot } = scene(2);
    const account = new Scripted('account', mode);
    const victim = new Job(admission, demand(slot, account));
    expect(victim.refusal).toMatchObject({ reason: 'aborted', account: 'account' });
    expect([slot.inUse(), account.inUse(), admission.queueSize]).toEqual([0, 0, 0]);
    account.mode = 'fits';
    expect(new Job(admission, demand(slot, account)).state).toBe('granted');
  });

  it('in a pass, in the middle of the line, costs nobody else', () => {
    const { admission, slot, ask } = scene();
    const account = new Scripted('account', 'short');
    const holder = ask('H');
    const [a, victim, b] = [ask('A'), new Job(admission, demand(account)), ask('B')];
    expect(victim.state).toBe('waiting');
    account.mode = 'broken';
    account.wake();
    expect([a.state, victim.state, b.state, admission.status().phase]).toEqual(['waiting', 'refused', 'waiting', 'open']);
    holder.release();
    a.release();
    expect([b.state, slot.inUse()]).toEqual(['granted', 1]);
  });

  it('passes a refusal that is meant untouched, and says what is not an Error too', () => {
    const { admission } = scene();
    const refusing = new Scripted('account', 'refuse');
    expect(new Job(admission, demand(refusing)).refusal).toMatchObject({ message: 'account is refusing everyone', reason: 'circuit_blocked', readable: true });
    class Odd extends Scripted {
      override fits(): boolean {
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- what is thrown need not be an Error
        throw 'a string';
      }
    }
    const odd = new Job(admission, demand(new Odd('odd'))).refusal;
    expect(odd).toMatchObject({ reason: 'aborted', cause: 'a string' });
    expect((odd as Error).message).toContain('a string');
  });
});

describe('a heap that cannot be read', () => {
  const heaped = (): { admission: Admission; slot: CountingGate; heap: { read: () => number }; clock: CountingScheduler } => {
    const clock = new CountingScheduler();
    const heap = { read: (): number => 0.5 };
    const memory = new MemoryGate({ heap: () => heap.read(), collect: false, log: { warn: () => undefined, info: () => undefined } });
    const admission = createAdmission({ scheduler: clock, memory });
    return { admission, slot: new CountingGate({ name: 'slot', capacity: 1, scheduler: clock }), heap, clock };
  };
  const unreadable = (): number => {
    throw new Error('no heap today');
  };

  it('monitor-46, W6: refuses that waiter only, as aborted with the error as cause, on the memory account', () => {
    const { admission, slot, heap } = heaped();
    const events: string[] = [];
    admission.events$.subscribe(({ type, account, reason }) => events.push([type, account, reason].join(' ').trim()));
    const holder = new Job(admission, demand(slot));
    const a = new Job(admission, demand(slot));
    heap.read = unreadable;
    holder.release();
    expect(a.refusal).toMatchObject({ reason: 'aborted', account: 'memory', cause: new Error('no heap today') });
    expect(events.slice(-2)).toEqual(['REJECTED memory aborted', 'REJECTED slot aborted']);
    expect(admission.status().phase).toBe('open');
    heap.read = () => 0.5;
    expect(new Job(admission, demand(slot)).state).toBe('granted');
  });

  it('W6: refuses it on the inline path as well', () => {
    const { admission, slot, heap } = heaped();
    heap.read = unreadable;
    const a = new Job(admission, demand(slot));
    expect(a.refusal).toMatchObject({ reason: 'aborted', account: 'memory' });
    expect([slot.inUse(), admission.status().phase, new Job(admission, demand()).state]).toEqual([0, 'open', 'granted']);
  });

  it('W6: gives back what was taken when it fails at the take', () => {
    const { admission, slot, heap } = heaped();
    let looks = 0;
    heap.read = () => ((looks += 1) > 2 ? unreadable() : 0.5);
    const a = new Job(admission, demand(slot));
    expect(a.refusal).toMatchObject({ reason: 'aborted', account: 'memory' });
    expect([looks, slot.inUse()]).toEqual([3, 0]);
  });

  it('gives back what was taken when it says no at the take', () => {
    const { admission, slot, heap, clock } = heaped();
    let looks = 0;
    heap.read = () => ((looks += 1) > 2 ? 0.96 : 0.5);
    const a = new Job(admission, demand(slot));
    expect([a.state, slot.inUse(), admission.status().waiters[0]?.shortOf]).toEqual(['waiting', 0, ['memory']]);
    heap.read = () => 0.5;
    clock.advanceTo(2_000);
    expect(a.state).toBe('granted');
  });
});

describe('a throw that no waiter is to blame for', () => {
  const broken = (): { first: Scripted; second: Scripted } => {
    const first = new Scripted('first');
    first.giveThrows = true;
    return { first, second: new Scripted('second', 'takeFails') };
  };

  it('monitor-24, W6: closes admission; head, bystander and late comer carry the very same defect, which is logged once', () => {
    const log = logged();
    const { admission, slot, ask } = scene();
    const { first, second } = broken();
    first.giveThrows = false;
    second.mode = 'short';
    const holder = ask('H');
    const head = new Job(admission, demand(first, second));
    const bystander = ask('BY');
    second.mode = 'takeFails';
    first.giveThrows = true;
    second.wake();
    const late = ask('LATE');
    const causes = [head, bystander, late].map(({ refusal }) => (refusal as Error).cause);
    expect(causes[0]).toEqual(new Error('first cannot give back'));
    expect(new Set(causes).size).toBe(1);
    for (const { refusal } of [head, bystander, late]) {
      expect(refusal).toBeInstanceOf(RefusedError);
      expect((refusal as RefusedError).readable).toBe(false);
      expect((refusal as Error).message).toContain('closed by a defect: first cannot give back');
    }
    expect(log).toEqual([[expect.stringContaining('defect'), causes[0]]]);
    // The error itself is logged, so its stack is.
    expect((causes[0] as Error).stack).toContain('defects.test.ts'.replace('defects.test', 'scripted'));
    // What was admitted settles as ever.
    holder.release();
    expect([slot.inUse(), admission.status().phase, ask('LATER').state]).toEqual([0, 'closed', 'refused']);
  });

  it('monitor-25, W6: closes admission on the inline path as in a pass', () => {
    logged();
    const { admission, ask } = scene();
    const { first, second } = broken();
    const a = new Job(admission, demand(first, second));
    const late = ask('LATE');
    expect([a, late].map(({ refusal }) => (refusal as AdmissionError).reason)).toEqual(['aborted', 'aborted']);
    expect((a.refusal as Error).cause).toBe((late.refusal as Error).cause);
    expect(admission.status().phase).toBe('closed');
  });

  it('closes admission when a try meets it, and the try throws it', () => {
    logged();
    const { admission, ask } = scene();
    const { first, second } = broken();
    const bystanders = [ask('H'), ask('BY')];
    expect(() => admission.tryAcquire(demand(first, second))).toThrow('closed by a defect');
    expect([bystanders[1]?.state, admission.status().phase]).toEqual(['refused', 'closed']);
    expect(() => admission.tryAcquire(demand())).toThrow('closed by a defect');
  });

  it('closes admission when a newcomer behind others meets it, and tells that one too', () => {
    logged();
    const { admission, ask } = scene();
    const { first, second } = broken();
    ask('H');
    const waiter = ask('W');
    const newcomer = new Job(admission, demand(first, second));
    expect([waiter, newcomer].map(({ refusal }) => (refusal as AdmissionError).reason)).toEqual(['aborted', 'aborted']);
    expect(admission.queueSize).toBe(0);
  });

  it('tells of the defect every time after it, also after a stop', () => {
    logged();
    const { admission, ask } = scene();
    const { first, second } = broken();
    new Job(admission, demand(first, second));
    admission.stop();
    expect(ask('LATE').refusal).not.toBeInstanceOf(StoppedError);
  });

  it('gives back every account though the first of them throws, and names all that could not', () => {
    const log = logged();
    const { admission, slot } = scene();
    const [one, two] = [new Scripted('one'), new Scripted('two')];
    one.giveThrows = two.giveThrows = true;
    new Job(admission, demand(one, slot, two, new Scripted('declines', 'takeFails')));
    expect(slot.inUse()).toBe(0);
    expect((log[0]?.[1] as AggregateError).errors.map(String)).toEqual(['Error: one cannot give back', 'Error: two cannot give back']);
  });

  it('says what is no Error as well', () => {
    logged();
    const { admission } = scene();
    class Odd extends Scripted {
      override give(): void {
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- what is thrown need not be an Error
        throw 'a string';
      }
    }
    const job = new Job(admission, demand(new Odd('odd'), new Scripted('declines', 'takeFails')));
    expect((job.refusal as Error).message).toContain('a string');
  });
});

describe('compensation', () => {
  it('monitor-05, W3: HELD once, on the one that declined; and no further pass until it wakes', () => {
    const { admission, gate, events, clock } = scene();
    const first = gate('first', 1);
    const second = new Scripted('second', 'takeFails');
    const job = new Job(admission, demand(first, second), { job: 'A' });
    const asked = second.questions;
    expect([first.inUse(), admission.queueSize]).toEqual([0, 1]);
    second.mode = 'fits';
    clock.advanceTo(8);
    expect([job.state, second.questions, clock.pending]).toEqual(['waiting', asked, 0]);
    clock.advanceTo(9);
    second.wake();
    expect([job.state, second.takes]).toEqual(['granted', 1]);
    expect(events).toEqual([
      '0 HELD second A waiters=1 amount=1',
      '9 GRANTED_IMMEDIATE first A waiters=0 amount=1',
      '9 GRANTED_FROM_HOLD second A waiters=0 amount=1 wait=9',
    ]);
  });

  it('takes nothing from anybody when a later account declines', () => {
    const { admission, gate } = scene();
    const gates = ['a', 'b', 'c'].map((name) => gate(name, 1));
    new Job(admission, demand(...gates, new Scripted('declines', 'takeFails')));
    expect(gates.map((one) => one.inUse())).toEqual([0, 0, 0]);
  });
});
