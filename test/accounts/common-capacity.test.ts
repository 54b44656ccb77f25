/** Accounts that draw on one capacity: what the capacity announces is heard once, and what each announces itself is not lost. */
import { AbstractAccount, amountOf, createAdmission, demand, RefusedError, type CommonCapacity } from 'rx-admission';
import { NEVER, Subject, type Observable } from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { CountingScheduler } from '../admit/counting-scheduler.js';
import { Job } from '../admit/job.js';

/** Lets in as many at once as its owner says, and counts how often it is asked. */
class View extends AbstractAccount {
  readonly capacity = 5;
  asked = 0;
  most = 5;
  #used = 5;

  constructor(
    name: string,
    readonly sharedWith: CommonCapacity = {},
    readonly shrinks: Observable<void> = NEVER,
  ) {
    super(name);
  }

  validate(): void {
    // Any amount will do.
  }

  fits(mine: readonly number[], ahead: readonly number[]): boolean {
    this.asked += 1;
    if (amountOf(mine) > this.most) throw new RefusedError(`${this.name}: too many`, { account: this.name });
    return this.most - this.#used - amountOf(ahead) >= amountOf(mine);
  }

  room(ahead: readonly number[]): number {
    this.asked += 1;
    return this.most - this.#used - amountOf(ahead);
  }

  tryTake(mine: readonly number[], ahead: readonly number[]): boolean {
    if (!this.fits(mine, ahead)) return false;
    this.#used += amountOf(mine);
    return true;
  }

  give(amounts: readonly number[]): void {
    this.#used -= amountOf(amounts);
  }

  earliestFit(): number | null {
    return null;
  }

  inUse(): number {
    return this.#used;
  }

  status(): { readonly summary: () => string } {
    return { summary: () => String(this.#used) };
  }

  opened(): void {
    this.#used = 0;
    this.capacityChanged();
  }
}

describe('accounts that draw on one capacity', () => {
  const clock = new CountingScheduler();
  let more: Subject<void>;
  let less: Subject<void>;
  const waiting = (views: readonly View[], ...amounts: readonly number[]): Job[] => {
    const admission = createAdmission({ scheduler: clock });
    const jobs = views.map((view, n) => new Job(admission, demand([view, amounts[n] ?? 2])));
    for (const view of views) view.asked = 0;
    return jobs;
  };

  beforeEach(() => {
    more = new Subject();
    less = new Subject();
  });

  it('are asked once when the capacity announces more, however many they are', () => {
    const common = { capacityChanges: more, shrinks: less };
    const views = Array.from({ length: 5 }, (_, n) => new View(`view ${String(n)}`, common));
    waiting(views);
    more.next();
    expect(views.map(({ asked }) => asked)).toEqual([1, 1, 1, 1, 1]);
  });

  it('lose who can never fit again when the capacity announces less', () => {
    const common = { capacityChanges: more, shrinks: less };
    const views = [new View('a', common), new View('b', common)];
    const jobs = waiting(views);
    for (const view of views) view.most = 1;
    less.next();
    expect(jobs.map(({ state }) => state)).toEqual(['refused', 'refused']);
  });

  it('are listened to until nobody waits on any of them', () => {
    const common = { capacityChanges: more, shrinks: less };
    const jobs = waiting([new View('a', common), new View('b', common)]);
    expect([more.observed, less.observed]).toEqual([true, true]);
    jobs[0]?.unsubscribe();
    expect([more.observed, less.observed]).toEqual([true, true]);
    jobs[1]?.unsubscribe();
    expect([more.observed, less.observed]).toEqual([false, false]);
  });

  it('are heard themselves where the capacity is silent', () => {
    const common = {};
    const views = [new View('a', common), new View('b', common)] as const;
    const jobs = waiting(views);
    views[1].opened();
    expect(jobs.map(({ state }) => state)).toEqual(['waiting', 'granted']);
  });

  it('hear one announcement each where they have but the stream in common', () => {
    const [a, b] = [new View('a', {}, less), new View('b', {}, less)];
    const jobs = waiting([a, b, b], 2, 1, 2);
    for (const view of [a, b]) view.most = 1;
    less.next();
    expect(jobs.map(({ state }) => state)).toEqual(['refused', 'waiting', 'refused']);
  });
});
