/** When a failed call of an upstream is tried again, and when it is not: in virtual time. */
import { CountingGate, RefusedError, createAdmission, demand } from 'rx-admission';
import { ClassifiedFailure, retryUpstream, retryWindow, type FailureKind, type RetryOptions } from 'rx-admission/llm';
import { Observable, VirtualTimeScheduler, concat, defer, of } from 'rxjs';
import { describe, expect, it } from 'vitest';

const failureOf = (kind: FailureKind, fields: { weight?: number; retryAfter?: number; status?: number } = {}): ClassifiedFailure =>
  new ClassifiedFailure({ kind, reason: 'as told', status: 429, service: 'test', detail: 'as told', ...fields });
const slowDown = failureOf('wait');
const overload = failureOf('capacity', { weight: 3 });

const failing = (failure: unknown): Observable<never> =>
  new Observable((subscriber) => {
    subscriber.error(failure);
  });

/** Subscribes a call that fails as told, attempt by attempt, and then answers; `random` is a constant. */
function run(failures: readonly unknown[], options: RetryOptions = {}) {
  const scheduler = new VirtualTimeScheduler();
  const started: number[] = [];
  const call = new Observable<string>((subscriber) => {
    started.push(scheduler.now());
    const failure = failures[started.length - 1];
    if (failure === undefined) of('answer').subscribe(subscriber);
    else subscriber.error(failure);
  });
  const told: unknown[] = [];
  const subscription = call.pipe(retryUpstream({ scheduler, random: () => 0, ...options })).subscribe({
    next: (value) => told.push(value),
    error: (error: unknown) => told.push(error),
  });
  return { scheduler, started, told, subscription };
}

describe('retry-02: the window of a retry', () => {
  it.each([
    ['a rate limit', slowDown, 0, 5_000, 30_000],
    ['a rate limit', slowDown, 1, 10_000, 60_000],
    ['a rate limit', slowDown, 3, 20_000, 120_000],
    ['a rate limit', slowDown, 9, 50_000, 300_000],
    ['a rate limit', slowDown, 20, 50_000, 300_000],
    ['an overload', overload, 0, 15_000, 90_000],
    ['an overload', overload, 1, 30_000, 180_000],
    ['an overload', overload, 3, 60_000, 300_000],
    ['an overload', overload, 9, 150_000, 300_000],
    ['an overload', overload, 20, 150_000, 300_000],
    ['a server error', failureOf('transient', { weight: 0, status: 500 }), 0, 5_000, 30_000],
  ])('after %s at attempt %#', (_what, failure, attempt, from, to) => {
    expect(retryWindow(failure, attempt)).toEqual({ from, to });
  });

  it('moves to a Retry-After that lies beyond its start, and keeps its width', () => {
    expect(retryWindow(failureOf('wait', { retryAfter: 2 }), 0)).toEqual({ from: 5_000, to: 30_000 });
    expect(retryWindow(failureOf('wait', { retryAfter: 40 }), 0)).toEqual({ from: 40_000, to: 65_000 });
  });

  it('holds nothing while it waits, and asks for admission anew', () => {
    const scheduler = new VirtualTimeScheduler();
    const admission = createAdmission({ scheduler });
    const gate = new CountingGate({ name: 'places', capacity: 1, scheduler });
    const seen: number[] = [];
    let attempts = 0;
    const call = admission.defer(demand(gate), () => {
      attempts += 1;
      return attempts === 1 ? failing(slowDown) : of('answer');
    });
    scheduler.schedule(() => seen.push(gate.inUse(), admission.queueSize), 1_000);
    call.pipe(retryUpstream({ scheduler, random: () => 0 })).subscribe((value) => seen.push(gate.inUse(), scheduler.now(), value.length));
    scheduler.flush();
    expect([attempts, seen, gate.inUse()]).toEqual([2, [0, 0, 1, 5_000, 6], 0]);
  });
});

describe('retryUpstream', () => {
  it('comes somewhere in the window, wider each time', () => {
    const { scheduler, started, told } = run([slowDown, overload, slowDown], { random: () => 0.5 });
    scheduler.flush();
    expect([started, told]).toEqual([[0, 17_500, 122_500, 175_000], ['answer']]);
  });

  it.each([
    ['what can never succeed', failureOf('stop')],
    ['what is not the upstream’s', failureOf('unrelated')],
    ['a refusal of admission', new RefusedError('no')],
    ['a bug', new TypeError('undefined is not a function')],
  ])('leaves %s alone, and hands the error on as it is', (_what, error) => {
    const { scheduler, started, told } = run([error]);
    scheduler.flush();
    expect([started.length, told]).toEqual([1, [error]]);
  });

  it('never retries once a value was delivered', () => {
    const scheduler = new VirtualTimeScheduler();
    const told: unknown[] = [];
    concat(of('half'), failing(slowDown))
      .pipe(retryUpstream({ scheduler, maxAttempts: 3 }))
      .subscribe({ next: (value) => told.push(value), error: (error: unknown) => told.push(error) });
    scheduler.flush();
    expect(told).toEqual(['half', slowDown]);
  });

  it('ends with the last error after maxAttempts, and before a retry that maxElapsed has no time for', () => {
    const few = run([slowDown, overload, slowDown], { maxAttempts: 2 });
    few.scheduler.flush();
    expect([few.started.length, few.told]).toEqual([2, [overload]]);
    const late = run([slowDown, overload, slowDown], { maxElapsed: 34_999 });
    late.scheduler.flush();
    expect([late.started, late.told]).toEqual([[0, 5_000], [overload]]);
  });

  it('is over at once when it is unsubscribed while it waits', () => {
    const { scheduler, started, subscription } = run([slowDown]);
    subscription.unsubscribe();
    scheduler.flush();
    expect(started).toHaveLength(1);
  });

  it('starts afresh with each subscription', () => {
    let attempts = 0;
    const scheduler = new VirtualTimeScheduler();
    const call = defer(() => {
      attempts += 1;
      return failing(slowDown);
    }).pipe(retryUpstream({ scheduler, maxAttempts: 3 }));
    for (let n = 0; n < 2; n += 1) call.subscribe({ error: () => undefined });
    scheduler.flush();
    expect(attempts).toBe(6);
  });

  it.each([{ maxAttempts: 0 }, { maxAttempts: 1.5 }, { maxElapsed: -1 }, { maxElapsed: NaN }])('refuses %o', (options) => {
    expect(() => retryUpstream(options)).toThrow(RangeError);
  });
});
