/** An account answers and moves numbers: calling the admission from inside one of its methods throws, and costs that waiter only. */
import { CountingGate, MemoryGate, RefusedError, createAdmission, demand, type Admission, type Grant } from 'rx-admission';
import { NEVER, of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { Job } from '../admit/job.js';

type Method = 'fits' | 'tryTake' | 'earliestFit' | 'give';

/** A gate that does something in one of its methods, once. */
class Meddler extends CountingGate {
  act: (() => void) | null = null;

  constructor(
    readonly method: Method,
    capacity: number,
  ) {
    super({ name: 'meddler', capacity });
  }

  override fits(mine: readonly number[], ahead: readonly number[]): boolean {
    this.#meddle('fits');
    return super.fits(mine, ahead);
  }

  override tryTake(mine: readonly number[], ahead: readonly number[], at: number): boolean {
    this.#meddle('tryTake');
    return super.tryTake(mine, ahead, at);
  }

  override earliestFit(mine: readonly number[], ahead: readonly number[], at: number): number | null {
    this.#meddle('earliestFit');
    return super.earliestFit(mine, ahead, at);
  }

  override give(amounts: readonly number[], at: number): void {
    super.give(amounts, at);
    this.#meddle('give');
  }

  #meddle(method: Method): void {
    if (method !== this.method) return;
    const { act } = this;
    this.act = null;
    act?.();
  }
}

const verbs: [string, (admission: Admission, grant: Grant, gate: CountingGate) => unknown][] = [
  ['tryAcquire', (admission, _grant, gate) => admission.tryAcquire(demand(gate))],
  ['release', (_admission, grant) => grant.release()],
  ['rollback', (_admission, grant) => grant.rollback()],
  ['charge', (_admission, grant, gate) => grant.charge(gate, 1)],
  ['stop', (admission) => admission.stop()],
  ['drain', (admission) => admission.drain()],
  ['status', (admission) => admission.status()],
];

const message = 'an account called the admission while being questioned';

describe('an account that calls the admission', () => {
  it.each(verbs)('from fits is refused with its own bug as the cause: %s', (_verb, call) => {
    for (const method of ['fits', 'tryTake'] as const) {
      const admission = createAdmission({ scheduler: new CountingScheduler() });
      const meddler = new Meddler(method, 9);
      const other = new CountingGate({ name: 'other', capacity: 9 });
      const holder = new Job(admission, demand(other));
      meddler.act = () => call(admission, holder.grant, other);
      const job = new Job(admission, demand(meddler));
      expect(job.refusal).toBeInstanceOf(RefusedError);
      expect(job.refusal).toMatchObject({ reason: 'aborted', account: 'meddler', readable: false });
      expect(((job.refusal as Error).cause as Error).message).toContain(message);
      // Nothing else was harmed: the next one is served, and the grant is whole.
      expect([new Job(admission, demand(meddler)).state, holder.grant.settled, other.inUse()]).toEqual(['granted', false, 1]);
      expect(admission.status().phase).toBe('open');
    }
  });

  it('while a status questions it gets a throw, and not a status in a status for ever', () => {
    const admission = createAdmission({ scheduler: new CountingScheduler() });
    const thrown: unknown[] = [];
    class Curious extends CountingGate {
      override fits(mine: readonly number[], ahead: readonly number[]): boolean {
        try {
          admission.status();
        } catch (error) {
          thrown.push(error);
        }
        return super.fits(mine, ahead);
      }
    }
    const curious = new Curious({ name: 'curious', capacity: 1 });
    new Job(admission, demand(curious));
    new Job(admission, demand(curious));
    thrown.length = 0;
    expect(admission.status().waiters).toMatchObject([{ shortOf: ['curious'] }]);
    expect(thrown.length).toBeGreaterThan(0);
    expect(thrown.every((error) => String(error).includes(message))).toBe(true);
  });

  it('that announces more while a status questions it is heard once the status is made', () => {
    const admission = createAdmission({ scheduler: new CountingScheduler() });
    class Opening extends CountingGate {
      shut = true;
      override fits(mine: readonly number[], ahead: readonly number[]): boolean {
        return !this.shut && super.fits(mine, ahead);
      }
      override status(): ReturnType<CountingGate['status']> {
        if (this.shut) {
          this.shut = false;
          this.capacityChanged();
        }
        return super.status();
      }
    }
    const opening = new Opening({ name: 'opening', capacity: 1 });
    const job = new Job(admission, demand(opening));
    expect(job.state).toBe('waiting');
    expect(admission.status().queueSize).toBe(1);
    expect(job.state).toBe('granted');
  });

  it('from earliestFit, in a pass', () => {
    const admission = createAdmission({ scheduler: new CountingScheduler() });
    const meddler = new Meddler('earliestFit', 1);
    new Job(admission, demand(meddler));
    meddler.act = () => admission.stop();
    const job = new Job(admission, demand(meddler));
    expect(job.refusal).toMatchObject({ reason: 'aborted', account: 'meddler' });
    expect(admission.status().phase).toBe('open');
  });

  it('from give: the one who settles is told, and everything is given back', () => {
    const admission = createAdmission({ scheduler: new CountingScheduler() });
    const meddler = new Meddler('give', 1);
    const other = new CountingGate({ name: 'other', capacity: 1 });
    const holder = new Job(admission, demand(meddler, other));
    meddler.act = () => void admission.tryAcquire(demand(other));
    expect(() => holder.release()).toThrow(message);
    expect([meddler.inUse(), other.inUse(), holder.grant.settled]).toEqual([0, 0, true]);
  });

  it('an ask of the operator fails its own output there', () => {
    const admission = createAdmission({ scheduler: new CountingScheduler() });
    const meddler = new Meddler('fits', 9);
    const errors: unknown[] = [];
    meddler.act = () => {
      of(1).pipe(admission.admit(demand(meddler), () => NEVER)).subscribe({ error: (error: unknown) => errors.push(error) });
    };
    const job = new Job(admission, demand(meddler));
    expect(errors.map(String)).toEqual([expect.stringContaining(message)]);
    expect([job.state, meddler.inUse()]).toEqual(['granted', 1]);
  });

  it('from a heap reading costs the one who was looking', () => {
    let look: () => number = () => 0.5;
    const memory = new MemoryGate({ heap: () => look(), collect: false });
    const admission = createAdmission({ scheduler: new CountingScheduler(), memory });
    const gate = new CountingGate({ name: 'gate', capacity: 1 });
    look = () => (admission.stop(), 0.5);
    const job = new Job(admission, demand(gate));
    expect(job.refusal).toMatchObject({ reason: 'aborted', account: 'memory' });
    look = () => 0.5;
    expect([new Job(admission, demand(gate)).state, admission.status().phase]).toEqual(['granted', 'open']);
  });

  it('another admission is as closed to it as its own', () => {
    const clock = new CountingScheduler();
    const [one, two] = [createAdmission({ scheduler: clock }), createAdmission({ scheduler: clock })];
    const meddler = new Meddler('fits', 9);
    meddler.act = () => void two.tryAcquire(demand(meddler));
    expect(new Job(one, demand(meddler)).refusal).toMatchObject({ reason: 'aborted' });
  });

  it('a waiter that it unsubscribes or aborts leaves the line, and nobody runs inside the questioning', () => {
    for (const [how, way] of [
      ['unsubscribe', 'ask'],
      ['abort', 'ask'],
      ['unsubscribe', 'try'],
      ['abort', 'try'],
    ] as const) {
      const admission = createAdmission({ scheduler: new CountingScheduler() });
      const meddler = new Meddler('fits', 9);
      const slot = new CountingGate({ name: 'slot', capacity: 2 });
      const controller = new AbortController();
      const holder = new Job(admission, demand(slot));
      const head = new Job(admission, demand([slot, 2]), how === 'abort' ? { signal: controller.signal } : {});
      const started: string[] = [];
      let questioning = false;
      const behind = new Job(admission, demand(slot), {}, () => (started.push(`inside: ${questioning}`), NEVER));
      meddler.act = () => {
        questioning = true;
        if (how === 'abort') controller.abort();
        else head.unsubscribe();
        questioning = false;
      };
      if (way === 'ask') expect(new Job(admission, demand(meddler)).state).toBe('granted');
      else expect(admission.tryAcquire(demand(meddler))?.settled).toBe(false);
      expect([behind.state, started, admission.queueSize]).toEqual(['granted', ['inside: false'], 0]);
      holder.release();
      expect(slot.inUse()).toBe(1);
    }
  });

  it('that announces more while it is questioned starts no pass: it has just been asked', () => {
    const admission = createAdmission({ scheduler: new CountingScheduler() });
    let questions = 0;
    class Announcer extends CountingGate {
      override fits(mine: readonly number[], ahead: readonly number[]): boolean {
        questions += 1;
        if (questions > 50) throw new Error('an endless pass');
        this.capacityChanged();
        return super.fits(mine, ahead);
      }
    }
    const gate = new Announcer({ name: 'gate', capacity: 1 });
    const holder = new Job(admission, demand(gate));
    const waiter = new Job(admission, demand(gate));
    // Two for the holder (asked, and taken from); two for the waiter (as it came, and in the pass of its joining).
    expect([waiter.state, questions]).toEqual(['waiting', 4]);
    holder.release();
    expect(waiter.state).toBe('granted');
  });
});
