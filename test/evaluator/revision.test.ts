/** Whoever arrives while no account has moved has nobody asked again; whoever arrives after a move has. */
import { AbstractAccount, CountingGate, createAdmission, demand, type Admission } from 'rx-admission';
import { describe, expect, it } from 'vitest';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { Job } from '../admit/job.js';

/** Licences that count how often they are asked. */
class Licences extends AbstractAccount {
  readonly capacity = 3;
  free = 0;
  asked = 0;
  revision = 0;

  constructor() {
    super('licences');
  }

  inUse(): number {
    return this.capacity - this.free;
  }

  fits(mine: readonly number[], reserved: readonly number[]): boolean {
    this.asked += 1;
    return mine.length <= this.room(reserved);
  }

  room(reserved: readonly number[]): number {
    return this.free - reserved.length;
  }

  tryTake(mine: readonly number[], reserved: readonly number[]): boolean {
    if (mine.length > this.room(reserved)) return false;
    this.free -= mine.length;
    this.revision += 1;
    return true;
  }

  give(amounts: readonly number[]): void {
    this.free += amounts.length;
    this.revision += 1;
  }

  earliestFit(): null {
    return null;
  }
}

/** A line of three, short of a licence. */
function scene(licences = new Licences()): { admission: Admission; licences: Licences; line: Job[] } {
  const admission = createAdmission({ scheduler: new CountingScheduler() });
  const line = Array.from({ length: 3 }, () => new Job(admission, demand(licences)));
  licences.asked = 0;
  return { admission, licences, line };
}

const states = (line: readonly Job[]): string[] => line.map(({ state }) => state);

describe('an arrival', () => {
  it('is the only one to be asked as long as no account has moved', () => {
    const { admission, licences, line } = scene();
    line.push(new Job(admission, demand(licences)));
    expect([licences.asked, states(line)]).toEqual([1, ['waiting', 'waiting', 'waiting', 'waiting']]);
  });

  it('has the line asked again once one has, also if nobody was told', () => {
    const { admission, licences, line } = scene();
    licences.free = 1;
    licences.revision += 1;
    line.push(new Job(admission, demand(licences)));
    expect(states(line)).toEqual(['granted', 'waiting', 'waiting', 'waiting']);
  });

  it('has the line asked again where an account does not tell', () => {
    const { admission, licences, line } = scene();
    line.push(new Job(admission, demand(licences, new (class extends Licences { override revision = NaN; })())));
    licences.asked = 0;
    new Job(admission, demand(licences));
    expect(licences.asked).toBeGreaterThan(1);
  });
});

describe('the revision of a gate', () => {
  it('grows with whatever changes what fits', () => {
    const gate = new CountingGate({ name: 'gate', capacity: 4 });
    const moves: (() => void)[] = [
      () => { gate.tryTake([1], [], 0); },
      () => { gate.give([1], 0); },
      () => { gate.resize(2); },
      () => { gate.pause(); },
      () => { gate.resume(); },
    ];
    const revisions = moves.map((move) => {
      move();
      return gate.revision;
    });
    expect([...new Set(revisions)]).toEqual([1, 2, 3, 4, 5]);
    expect([gate.tryTake([2], [], 0), gate.tryTake([1], [], 0), gate.revision]).toEqual([true, false, 6]);
  });

  it('tells nothing of a class that answers in its own way', () => {
    class Office extends CountingGate {
      isOpen = false;
      override fits(mine: readonly number[], reserved: readonly number[]): boolean {
        return this.isOpen && super.fits(mine, reserved);
      }
    }
    expect(new Office({ name: 'office', capacity: 4 }).revision).toBeNaN();
  });
});
