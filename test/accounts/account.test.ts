/** What every account answers unless it says otherwise, and what none of them does: wait. */
import { Observable, VirtualTimeScheduler } from 'rxjs';
import {
  AbstractAccount,
  CountingGate,
  DatabaseGate,
  ElasticWindow,
  MemoryGate,
  ModelGate,
  RefusedError,
  TokenBucket,
  UpstreamFailure,
  amountOf,
  createAdmission,
  demand,
  type Account,
} from 'rx-admission';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { RecordedLog, thrownBy } from './recorded-log.js';

class Licences extends AbstractAccount {
  readonly capacity = 3;
  #free = 3;
  constructor(name = 'licences') {
    super(name);
  }
  inUse(): number {
    return 3 - this.#free;
  }
  fits(mine: readonly number[]): boolean {
    return mine.length <= this.#free;
  }
  tryTake(mine: readonly number[]): boolean {
    if (!this.fits(mine)) return false;
    this.#free -= mine.length;
    return true;
  }
  give(amounts: readonly number[]): void {
    this.#free += amounts.length;
    this.capacityChanged();
  }
  earliestFit(): number | null {
    return null;
  }
  more(): void {
    this.capacityChanged();
  }
}

const log = new RecordedLog();
const families = {
  memory: new MemoryGate({ heap: () => 0.5, log }),
  counting: new CountingGate({ name: 'c', capacity: 1 }),
  database: new DatabaseGate({ name: 'd', capacity: 1 }),
  model: new ModelGate({ name: 'm', capacity: 1 }),
  bucket: new TokenBucket({ name: 'b', tokensPerMinute: 60, log }),
  window: new ElasticWindow({ name: 'w', maxRequests: 1, baseWindow: 1_000, log }),
};
const ofEach = <T>(pick: (account: Account) => T): Record<string, T> =>
  Object.fromEntries(Object.entries(families).map(([family, account]) => [family, pick(account)]));

describe('AbstractAccount', () => {
  it('account-08: accountFor is the account itself, it replenishes by release, its indicator is null', () => {
    const licences = new Licences();
    expect(licences.accountFor(7)).toBe(licences);
    expect(licences.replenishment).toBe('release');
    expect(licences.statusIndicator()).toBeNull();
    expect(licences.category).toBe('custom');
  });

  it('account-08: success and failure learn nothing, no connection is needed, the held supplier is never called', () => {
    const licences = new Licences();
    const failure = new UpstreamFailure({ status: 429, service: 's', detail: 'd' });
    licences.onSuccess(1, 42);
    licences.onRateLimitError(failure, 1, 42);
    expect(licences.requiresHttpConnection).toBe(false);
    const stop = licences.observeHeld(() => {
      throw new Error('it was called');
    });
    expect(stop).toBeUndefined();
    expect(licences.fits([1])).toBe(true);
    expect(licences.tryTake([1])).toBe(true);
  });

  it('account-08: an admission tells the plain onSuccess once, and hands the error call the same failure', async () => {
    const calls: unknown[] = [];
    class Learner extends Licences {
      override readonly replenishment = 'time';
      override onSuccess(at?: number): void {
        calls.push(['success', at]);
      }
      override onRateLimitError(failure: UpstreamFailure, at?: number): void {
        calls.push(['failure', failure, at]);
      }
    }
    const learner = new Learner();
    const admission = createAdmission({ scheduler: new VirtualTimeScheduler() });
    const failure = new UpstreamFailure({ status: 429, service: 's', detail: 'd' });
    (await admission.acquire(demand(learner))).release('success');
    (await admission.acquire(demand(learner))).release({ pressure: failure });
    expect(calls).toEqual([
      ['success', 0],
      ['failure', failure, 0],
    ]);
    expect((calls[1] as unknown[])[1]).toBe(failure);
  });

  it('account-08: each change runs every observer once, and none when both have left', () => {
    const licences = new Licences();
    const calls: string[] = [];
    const f = licences.capacityChanges.subscribe(() => calls.push('f'));
    licences.more();
    const g = licences.capacityChanges.subscribe(() => calls.push('g'));
    licences.more();
    f.unsubscribe();
    g.unsubscribe();
    licences.more();
    expect(calls).toEqual(['f', 'f', 'g']);
    expect(licences.capacityChanges.observed).toBe(false);
  });

  it('has a name, which errors and events call it by', () => {
    const told = (given: string): RangeError =>
      new RangeError(`an account needs a name, such as { name: 'http', … }, not ${given}: events and errors call it by it`);
    expect(() => new Licences('')).toThrow(told('""'));
    expect(() => new CountingGate(4 as never)).toThrow(told('undefined'));
    expect(() => new TokenBucket({ tokensPerMinute: 60 } as never)).toThrow(told('undefined'));
  });
});

describe('the shipped families', () => {
  it('account-09: memory, token_bucket and elastic_window are categories, every gate is a semaphore', () => {
    expect(ofEach(({ category }) => category)).toEqual({
      memory: 'memory',
      counting: 'semaphore',
      database: 'semaphore',
      model: 'semaphore',
      bucket: 'token_bucket',
      window: 'elastic_window',
    });
  });

  it('account-14: memory and the gates replenish by release, the bucket and the window by time', () => {
    expect(ofEach(({ replenishment }) => replenishment)).toEqual({
      memory: 'release',
      counting: 'release',
      database: 'release',
      model: 'release',
      bucket: 'time',
      window: 'time',
    });
  });

  it('account-14: an account of one’s own must state it', () => {
    const { replenishment: _unstated, ...rest } = families.counting;
    // @ts-expect-error the contract has no default: a wrong guess would be silent in both directions
    const account: Pick<Account, 'replenishment'> = rest;
    expect(account).not.toHaveProperty('replenishment');
  });

  it('account-14: no subclass of a window changes its answer', () => {
    class Getter extends ElasticWindow {
      // @ts-expect-error a window replenishes by time, and its type says so
      override get replenishment(): 'release' {
        return 'release';
      }
    }
    expect(new Getter({ maxRequests: 1, baseWindow: 1 }).replenishment).toBe('time');
    class Assigned extends ElasticWindow {
      constructor() {
        super({ maxRequests: 1, baseWindow: 1 });
        Object.assign(this, { replenishment: 'release' });
      }
    }
    expect(() => new Assigned()).toThrow(TypeError);
    class Field extends ElasticWindow {
      // @ts-expect-error a window replenishes by time, and its type says so
      override readonly replenishment = 'release';
    }
    expect(() => new Field({ maxRequests: 1, baseWindow: 1 })).toThrow(TypeError);
  });

  it('only the window needs a connection', () => {
    expect(ofEach((account) => account.requiresHttpConnection)).toMatchObject({
      counting: false,
      bucket: false,
      window: true,
    });
  });
});

describe('an account that is asked', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  const full = new CountingGate({ name: 'full', capacity: 1 });
  const drained = new TokenBucket({ name: 'drained', tokensPerMinute: 60, log });
  const crowded = new ElasticWindow({ name: 'crowded', maxRequests: 1, baseWindow: 1_000, log });
  const blocked = new ElasticWindow({ name: 'blocked', maxRequests: 1, baseWindow: 1_000, log });
  const latched = new MemoryGate({ heap: () => 0.99, log });
  full.tryTake([1], [], 0);
  drained.tryTake([60], [], 0);
  crowded.tryTake([1], [], 0);
  for (let n = 0; n < 12; n += 1) blocked.recordPressure(0);

  it.each([full, drained, crowded, blocked, latched])(
    'account-15: $name answers at once, and makes no timer',
    (account) => {
      const timers = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'setInterval')];
      const answers: unknown[] = [];
      const ask = (call: () => unknown): void => {
        try {
          answers.push(call());
        } catch (error) {
          answers.push(error);
        }
      };
      ask(() => account.inUse(1));
      ask(() => account.fits([1], [], 1));
      ask(() => account.tryTake([1], [], 1));
      ask(() => account.earliestFit([1], [], 1));
      ask(() => {
        account.give([], 1);
      });
      expect(answers).toHaveLength(5);
      for (const answer of answers) {
        expect(answer).not.toBeInstanceOf(Promise);
        expect(answer).not.toBeInstanceOf(Observable);
        const plain = ['boolean', 'number', 'undefined'].includes(typeof answer) || answer === null;
        expect(plain || answer instanceof RefusedError).toBe(true);
      }
      for (const timer of timers) expect(timer).not.toHaveBeenCalled();
    },
  );
});

describe('a deadline that has passed', () => {
  it('account-12: makes the evaluator pass again at once, it never sleeps on it', () => {
    let questions = 0;
    class Late extends Licences {
      override fits(): boolean {
        questions += 1;
        // The inline attempt and the pass of the arrival are told no.
        return questions > 2;
      }
      override earliestFit(): number {
        return -5;
      }
    }
    const clock = new VirtualTimeScheduler();
    const admission = createAdmission({ scheduler: clock });
    let granted = -1;
    admission
      .defer(demand(new Late()), () => [clock.now()])
      .subscribe((at) => {
        granted = at;
      });
    expect([granted, admission.nextDeadline, clock.actions]).toEqual([0, null, []]);
  });
});

describe('amountOf', () => {
  it('status-01: sums numbers and counts one for anything else', () => {
    const unit = Symbol('a unit');
    expect(amountOf([300, 300])).toBe(600);
    expect(amountOf([unit, unit, unit])).toBe(3);
    expect(amountOf([])).toBe(0);
    expect(amountOf([5, unit, 'key'])).toBe(7);
  });
});

describe('thrownBy', () => {
  it('fails where nothing was thrown', () => {
    expect(thrownBy(() => thrownBy(() => 7)).message).toBe('it threw nothing');
  });
});

describe('a refusal that does not say whose it is', () => {
  const refusedBy = (error: Error): unknown => {
    class Refusing extends Licences {
      override fits(): boolean {
        throw error;
      }
    }
    return thrownBy(() => createAdmission().tryAcquire(demand(new Refusing('seats'))));
  };

  it('is told with the name of its account, and as the error that was thrown', () => {
    class Sold extends RefusedError {}
    const error = new Sold('sold out');
    expect(refusedBy(error)).toBe(error);
    expect(error).toMatchObject({ account: 'seats', reason: 'circuit_blocked', readable: true });
  });

  it('keeps the name that it has, and is passed as it is where it is frozen', () => {
    expect(refusedBy(new RefusedError('sold out', { account: 'a seat' }))).toMatchObject({ account: 'a seat' });
    const frozen = Object.freeze(new RefusedError('sold out'));
    expect(refusedBy(frozen)).toBe(frozen);
  });
});
