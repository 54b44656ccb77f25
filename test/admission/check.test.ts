/** The books of an admission: sound whatever happens, and faults that were planted in an account are found. */
import { AbstractAccount, CountingGate, RefusedError, TokenBucket, amountOf, createAdmission, demand, type AdmissionWarning, type Violation } from 'rx-admission';
import { of } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { Job } from '../admit/job.js';
import { violationsOf } from '../../src/check.js';
import { Desk } from '../../src/desk.js';
import { scene } from './scene.js';

const counts = (accepted: number, granted: number, refused: number, withdrawn: number, settled: number) => ({
  accepted,
  granted,
  refused,
  withdrawn,
  settled,
});

/** An account whose every answer can be bent. */
class Bent extends AbstractAccount {
  capacity = 4;
  taken = 0;
  said = 0;
  constructor(name = 'bent') {
    super(name);
  }
  inUse(): number {
    if (Number.isNaN(this.said)) throw new Error('cannot tell');
    return this.taken + this.said;
  }
  fits(mine: readonly number[], ahead: readonly number[]): boolean {
    return this.taken + amountOf(mine) + amountOf(ahead) <= this.capacity;
  }
  tryTake(mine: readonly number[], ahead: readonly number[]): boolean {
    if (!this.fits(mine, ahead)) return false;
    this.taken += amountOf(mine);
    return true;
  }
  give(amounts: readonly number[]): void {
    this.taken -= amountOf(amounts);
  }
  earliestFit(): null {
    return null;
  }
  adjust(delta: number): void {
    this.taken += delta;
  }
  tell(): void {
    this.capacityChanged();
  }
}

describe('check', () => {
  it('finds nothing on a new admission, a busy one, a drained one', async () => {
    const { admission, slot, ask, clock } = scene(2);
    expect(admission.check()).toEqual([]);
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 600, scheduler: clock });
    ask('H', 2);
    new Job(admission, demand(slot, [tokens, 300]));
    new Job(admission, demand([tokens, 600]));
    expect(admission.check()).toEqual([]);
    slot.resize(1);
    expect(admission.check()).toEqual([]);
    void admission.drain({ timeout: 5 });
    clock.advanceTo(10);
    await Promise.resolve();
    expect(admission.check()).toEqual([]);
  });

  it('counts every ask once as accepted, and once by how it left', () => {
    const { admission, slot, ask, clock } = scene(1);
    const told = (): unknown => admission.status().counts;
    const holder = ask('H');
    expect(told()).toEqual(counts(1, 1, 0, 0, 0));
    ask('A').unsubscribe();
    new Job(admission, demand(slot), { maxWait: 5 });
    new Job(admission, demand(slot), { deadline: -1 });
    expect(ask('TOO MUCH', 2).state).toBe('refused');
    clock.advanceTo(5);
    expect(told()).toEqual(counts(5, 1, 3, 1, 0));
    expect(admission.tryAcquire(demand(slot))).toBe(null);
    expect(() => admission.tryAcquire(demand([slot, 2]))).toThrow(RefusedError);
    holder.release();
    admission.tryAcquire(demand(slot))?.rollback();
    expect(told()).toEqual(counts(7, 2, 4, 1, 2));
    expect(admission.check()).toEqual([]);
    const last = ask('LAST');
    ask('PARKED');
    admission.stop();
    expect(() => admission.tryAcquire(demand(slot))).toThrow('stopped');
    last.unsubscribe();
    expect(told()).toEqual(counts(10, 3, 6, 1, 3));
    expect(admission.check()).toEqual([]);
  });

  it('counts one who is made to leave while it is decided once, whatever was decided', () => {
    for (const decided of ['granted', 'refused', 'short'] as const) {
      for (const way of ['unsubscribe', 'abort'] as const) {
        const { admission, ask, slot } = scene(1);
        const controller = new AbortController();
        class Meddler extends CountingGate {
          act: (() => void) | null = null;
          override fits(mine: readonly number[], ahead: readonly number[]): boolean {
            const { act } = this;
            this.act = null;
            act?.();
            if (act !== null && decided === 'refused') throw new RefusedError('no');
            return !(act !== null && decided === 'short') && super.fits(mine, ahead);
          }
        }
        const meddler = new Meddler({ name: 'meddler', capacity: 1 });
        const holder = ask('H');
        const job = new Job(admission, demand(slot, meddler), { signal: controller.signal });
        meddler.act = () => {
          if (way === 'abort') controller.abort();
          else job.unsubscribe();
        };
        holder.release();
        const { accepted, granted, refused, withdrawn } = admission.status().counts;
        expect([decided, way, accepted, granted, refused + withdrawn, admission.check()]).toEqual([decided, way, 2, 1, 1, []]);
      }
    }
  });

  it('counts a defect as the refusal of all it met', () => {
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const { admission, slot, clock } = scene(1);
    class Broken extends CountingGate {
      override give(): void {
        throw new Error('cannot');
      }
    }
    const broken = new Broken({ name: 'broken', capacity: 5 });
    class Taken extends CountingGate {
      override tryTake(): boolean {
        return false;
      }
    }
    const job = new Job(admission, demand(slot, broken, new Taken({ name: 'taken', capacity: 1 })));
    expect(job.state).toBe('refused');
    expect(admission.status()).toMatchObject({ phase: 'closed', counts: counts(1, 0, 1, 0, 0) });
    expect(admission.check()).toEqual([]);
    const other = createAdmission({ scheduler: clock });
    expect(() => other.tryAcquire(demand(broken, new Taken({ name: 'taken', capacity: 1 })))).toThrow('defect');
    expect([other.status().counts, other.check()]).toEqual([counts(1, 0, 1, 0, 0), []]);
    vi.restoreAllMocks();
  });

  it('finds an account that is wrong about what is in use, both ways', () => {
    const { admission } = scene();
    const bent = new Bent();
    new Job(admission, demand([bent, 3]));
    expect(admission.check()).toEqual([]);
    bent.said = 1;
    const message = 'bent: 4 of 4 are in use by what it says, and 3 are held';
    expect(admission.check()).toEqual([{ rule: 'CAPACITY', accounts: ['bent'], expected: 3, found: 4, message }]);
    bent.said = -3;
    expect(admission.check()).toMatchObject([{ rule: 'CAPACITY', expected: 3, found: 0 }]);
    bent.said = NaN;
    expect(admission.check()).toEqual([]);
    bent.said = 1;
    bent.capacity = Infinity;
    expect(admission.check()).toEqual([]);
  });

  it('counts what other admissions hold, and what a charge corrected', () => {
    const { admission, clock } = scene();
    const other = createAdmission({ scheduler: clock });
    const bent = new Bent();
    const mine = new Job(admission, demand([bent, 1]));
    new Job(other, demand([bent, 2]));
    mine.grant.charge(bent, 1.5);
    expect([bent.inUse(), admission.check(), other.check()]).toEqual([3.5, [], []]);
    bent.taken -= 2;
    expect([admission.check(), other.check()]).toMatchObject([[{ expected: 3.5, found: 1.5 }], [{ expected: 3.5, found: 1.5 }]]);
  });

  it('finds an account that grew and did not say so', () => {
    const { admission, clock } = scene();
    const bent = new Bent();
    new Job(admission, demand([bent, 4]));
    const waiter = new Job(admission, demand([bent, 1], [bent, 1]));
    new Job(admission, demand(bent));
    clock.advanceTo(7);
    expect(admission.check()).toEqual([]);
    bent.capacity = 6;
    const message = 'the head has waited for 7ms for bent, where all of it is free';
    expect(admission.check()).toEqual([{ rule: 'HEAD_COULD_GO', accounts: ['bent'], expected: 0, found: 1, message }]);
    bent.tell();
    expect([waiter.state, admission.check()]).toEqual(['granted', []]);
  });

  it('lets a timer be as late as timers are, and no later', () => {
    const { admission, clock } = scene();
    const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 60_000, scheduler: clock });
    new Job(admission, demand([tokens, 60_000]));
    new Job(admission, demand([tokens, 10]));
    expect(admission.nextDeadline).toBe(10);
    clock.frame = 30;
    expect(admission.check()).toEqual([]);
  });

  it('throws where an account asks for it, and nothing else', () => {
    const { admission } = scene();
    const said: string[] = [];
    class Curious extends CountingGate {
      override inUse(): number {
        try {
          admission.check();
        } catch (error) {
          said.push(String(error));
        }
        return super.inUse();
      }
    }
    new Job(admission, demand(new Curious({ name: 'curious', capacity: 1 })));
    said.length = 0;
    expect(admission.check()).toEqual([]);
    expect(said).toEqual([expect.stringContaining('an account called the admission')]);
  });
});

describe('the watchdog', () => {
  const watched = (report?: (violations: readonly Violation[]) => void) => {
    const lines: string[] = [];
    const made = scene(1, { watchdog: { every: 100, report }, log: { warn: (line) => lines.push(line) } });
    const warnings: AdmissionWarning[] = [];
    made.admission.warnings$.subscribe((warning) => warnings.push(warning));
    return { ...made, lines, warnings };
  };

  it('looks while somebody holds or waits, and costs no timer besides', () => {
    const { admission, clock, ask, slot, warnings } = watched();
    expect(clock.pending).toBe(0);
    const holder = ask('H');
    expect(clock.pending).toBe(1);
    ask('W').unsubscribe();
    clock.advanceTo(1_000);
    expect([clock.pending, warnings]).toEqual([1, []]);
    holder.unsubscribe();
    expect(clock.pending).toBe(0);
    of(1).pipe(admission.admit(demand(slot), () => of(1))).subscribe();
    expect(clock.pending).toBe(0);
    slot.pause();
    ask('W');
    expect(clock.pending).toBe(1);
    admission.stop();
    expect(clock.pending).toBe(0);
  });

  it('tells what it finds once, and again when it is another or came back', () => {
    const reports: (readonly Violation[])[] = [];
    const { admission, clock, lines, warnings } = watched((violations) => reports.push(violations));
    const bent = new Bent();
    new Job(admission, demand([bent, 3]));
    new Job(admission, demand([bent, 2]));
    bent.said = 1;
    clock.advanceTo(500);
    expect(warnings).toMatchObject([{ type: 'UNSOUND', at: 100, violations: [{ rule: 'CAPACITY' }] }]);
    expect(lines).toEqual(['admission: the books do not hold: bent: 4 of 4 are in use by what it says, and 3 are held']);
    bent.capacity = 5;
    clock.advanceTo(600);
    expect(reports.map((found) => found.map(({ rule }) => rule))).toEqual([['CAPACITY'], ['HEAD_COULD_GO', 'CAPACITY']]);
    bent.said = 0;
    bent.tell();
    clock.advanceTo(700);
    bent.said = 1;
    clock.advanceTo(800);
    expect(reports).toHaveLength(3);
  });

  it('warns without a report of its own', () => {
    const { admission, clock, warnings } = watched();
    const bent = new Bent();
    new Job(admission, demand(bent));
    bent.said = 2;
    clock.advanceTo(100);
    expect(warnings).toHaveLength(1);
  });

  it.each([0, -5, NaN])('is refused without an interval: %s', (every) => {
    expect(() => createAdmission({ watchdog: { every } })).toThrow(/watchdog.every \(ms\) must be a positive number/);
  });

  it.each([true, null, 5])('is refused where it is no object: %s', (options) => {
    expect(() => createAdmission({ watchdog: options as never })).toThrow(/watchdog takes \{ every, report \}/);
  });
});

describe('the counts', () => {
  it('that do not add up are found: a defect of ours, planted here', () => {
    const clock = new CountingScheduler();
    const desk = new Desk({
      admission: { name: 'planted' },
      scheduler: clock,
      memory: null,
      http: undefined,
      maxWaiters: Infinity,
      overflow: 'reject',
      lostGrants: 'off',
      maxHold: undefined,
      trace: false,
      log: { warn: () => undefined },
      watchdog: undefined,
      nested: 'off',
    });
    expect(violationsOf(desk)).toEqual([]);
    desk.counts.granted += 1;
    expect(violationsOf(desk)).toEqual([
      { rule: 'ASKS', accounts: [], expected: 0, found: 1, message: '0 asks were accepted, and 1 granted, 0 refused, 0 withdrawn, 0 waiting' },
      { rule: 'GRANTS', accounts: [], expected: 1, found: 0, message: '1 were granted, and 0 settled, 0 held' },
    ]);
  });
});
