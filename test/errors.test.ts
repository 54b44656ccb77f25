/** Every way an ask ends without a grant: reason, account, remedy, cause. */
import {
  AdmissionError,
  CancelledError,
  CountingGate,
  QueueFullError,
  RefusedError,
  StoppedError,
  WaitTimeoutError,
  createAdmission,
  demand,
} from 'rx-admission';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from './conformance/virtual-clock.js';

describe('AdmissionError', () => {
  it('carries reason, account, instant and cause', () => {
    const cause = new Error('why');
    const error = new AdmissionError('no', { reason: 'timeout', account: 'gpt', retryAt: 7, cause });
    expect(error).toMatchObject({
      name: 'AdmissionError',
      message: 'no',
      reason: 'timeout',
      account: 'gpt',
      retryAt: 7,
    });
    expect(error.cause).toBe(cause);
  });

  it('has no cause where there is none, not an undefined one', () => {
    const error = new AdmissionError('no', { reason: 'timeout' });
    expect(Object.hasOwn(error, 'cause')).toBe(false);
    expect([error.account, error.retryAt]).toEqual([undefined, undefined]);
  });

  it.each([
    [new RefusedError('r'), 'RefusedError', 'circuit_blocked'],
    [new CancelledError(), 'AbortError', 'cancelled'],
    [new StoppedError(), 'AbortError', 'shutdown'],
    [new WaitTimeoutError('w'), 'WaitTimeoutError', 'timeout'],
    [new QueueFullError(3), 'QueueFullError', 'overflow'],
  ])('is the base of %s', (error, name, reason) => {
    expect(error).toBeInstanceOf(AdmissionError);
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name, reason });
    expect(String(error)).toBe(`${name}: ${error.message}`);
  });
});

describe('RefusedError', () => {
  it('is readable by a model unless a bug caused it', () => {
    expect(new RefusedError('no').readable).toBe(true);
    expect(new RefusedError('no', { reason: 'aborted' }).readable).toBe(false);
  });
});

describe('CancelledError', () => {
  it('says so unless told otherwise, and is what a stop ends in', () => {
    expect(new CancelledError().message).toBe('the ask was cancelled');
    expect(new CancelledError('gone').message).toBe('gone');
    expect(new StoppedError()).toBeInstanceOf(CancelledError);
    expect(new StoppedError('maintenance')).toMatchObject({
      message: 'admission has been stopped (shutdown): nothing new is admitted',
      cause: 'maintenance',
    });
  });
});

describe('QueueFullError', () => {
  it('names how many may wait, and the remedy', () => {
    expect(new QueueFullError(3).message).toBe('the line is full: 3 may wait; ask later, or raise maxWaiters');
  });
});

describe('what an ask is told', () => {
  const clock = new VirtualClock(0);
  const admission = createAdmission({ scheduler: clock, maxWaiters: 1 });
  const slot = new CountingGate({ name: 'slot', capacity: 1 });
  admission.tryAcquire(demand(slot));

  const told = async (ask: Promise<unknown>): Promise<unknown> => ask.catch((error: unknown) => error);

  it('is the account it was short of when its wait was over', async () => {
    const waits = told(admission.acquire(demand(slot), { maxWait: 30 }));
    clock.advanceTo(30);
    expect(await waits).toMatchObject({
      message: 'not granted within 30ms: it was short of slot',
      account: 'slot',
      reason: 'timeout',
    });
  });

  it('is the reason of its signal', async () => {
    const controller = new AbortController();
    const waits = told(admission.acquire(demand(slot), { signal: controller.signal }));
    controller.abort('bored');
    expect(await waits).toMatchObject({ name: 'AbortError', reason: 'cancelled', cause: 'bored' });
  });

  it('is that the line is full, or that admission has stopped', async () => {
    const waits = told(admission.acquire(demand(slot)));
    expect(await told(admission.acquire(demand(slot)))).toBeInstanceOf(QueueFullError);
    admission.stop('bye');
    expect(await waits).toMatchObject({ reason: 'shutdown', cause: 'bye' });
    expect(await told(admission.acquire(demand(slot)))).toBeInstanceOf(StoppedError);
  });
});
