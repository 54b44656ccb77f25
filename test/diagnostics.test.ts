/** What is published of the life of an ask, in order, and in whose context. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { CHANNELS, CountingGate, QueueFullError, TokenBucket, createAdmission, demand, type AskMessage, type RefusedMessage, type SettledMessage } from 'rx-admission';
import { VirtualTimeScheduler } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const NAMES = Object.values(CHANNELS);
let published: { readonly name: string; readonly message: AskMessage }[];
const listener = (message: unknown, name: string | symbol): void => {
  published.push({ name: String(name), message: message as AskMessage });
};

beforeEach(() => {
  published = [];
  for (const name of NAMES) subscribe(name, listener);
});
afterEach(() => {
  for (const name of NAMES) unsubscribe(name, listener);
});

const told = (): readonly (readonly [string, unknown])[] =>
  published.map(({ name, message }) => [name.replace('rx-admission:', ''), message.job] as const);

const clock = new VirtualTimeScheduler();
const later = (delay: number): void => {
  clock.maxFrames = clock.frame + delay;
  clock.flush();
  clock.frame = clock.maxFrames;
};

describe('what is published of an ask', () => {
  it('is its whole life, with what it asked for, who held it up and for how long', () => {
    const gate = new CountingGate({ name: 'gate', capacity: 1 });
    const bucket = new TokenBucket({ name: 'tokens', tokensPerMinute: 60 });
    const admission = createAdmission({ scheduler: clock });
    const whole = demand(gate, [bucket, 60]);
    const first = admission.tryAcquire(whole, { job: 'first' });
    let second: { release(): void } | null = null;
    void admission.acquire(whole, { job: 'second' }).then((grant) => (second = grant));
    later(1_000);
    first?.release('success');
    later(59_000);
    expect(told()).toEqual([
      ['granted', 'first'],
      ['waiting', 'second'],
      ['settled', 'first'],
      ['granted', 'second'],
    ]);
    expect(second).toBeNull();
    const [granted, waiting, settled, late] = published.map(({ message }) => message);
    expect(granted).toMatchObject({ demand: whole, waited: 0, heldOn: [] });
    expect(granted?.admission).toBe(admission);
    expect(waiting).toMatchObject({ waited: 0, heldOn: ['gate', 'tokens'] });
    expect(settled as SettledMessage).toMatchObject({ verb: 'release', outcome: 'success', held: 1_000, waited: 0 });
    expect(settled?.ask).toBe(granted?.ask);
    expect(late).toMatchObject({ waited: 60_000, heldOn: ['gate', 'tokens'], at: waiting === undefined ? NaN : waiting.at + 60_000 });
    expect(late?.ask).toBe(waiting?.ask);
  });

  it('is how it left ungranted: refused, out of time, cancelled, or with nobody left to tell', () => {
    const gate = new CountingGate({ name: 'gate', capacity: 1 });
    const admission = createAdmission({ scheduler: clock, maxWaiters: 2 });
    const held = admission.tryAcquire(demand(gate), { job: 'held' });
    const ask = (job: string, options: { maxWait?: number; signal?: AbortSignal } = {}): void => {
      admission.acquire(demand(gate), { job, ...options }).catch(() => undefined);
    };
    const controller = new AbortController();
    ask('late', { maxWait: 500 });
    ask('cancelled', { signal: controller.signal });
    ask('too many');
    later(600);
    controller.abort();
    const left = admission.defer(demand(gate), () => [1], { job: 'left' }).subscribe();
    left.unsubscribe();
    admission.acquire(demand([gate, 5]), { job: 'impossible' }).catch(() => undefined);
    admission.stop();
    ask('stopped');
    held?.rollback();
    const refused = published.filter(({ name }) => name === CHANNELS.refused).map(({ message }) => message as RefusedMessage);
    expect(refused.map(({ job, error, waited, heldOn }) => [job, error?.reason ?? null, waited, heldOn])).toEqual([
      ['too many', 'overflow', 0, ['gate']],
      ['late', 'timeout', 500, ['gate']],
      ['cancelled', 'cancelled', 600, ['gate']],
      ['left', null, 0, ['gate']],
      ['impossible', 'circuit_blocked', 0, []],
      ['stopped', 'shutdown', 0, []],
    ]);
    expect(refused[0]?.error).toBeInstanceOf(QueueFullError);
    expect(published.at(-1)?.message).toMatchObject({ job: 'held', verb: 'rollback', outcome: 'ignored', held: 600 });
  });

  it('is told of a waiter in the context of who asks, and of nothing that is granted at once', () => {
    const contexts = new AsyncLocalStorage<string>();
    const gate = new CountingGate({ name: 'gate', capacity: 1 });
    const admission = createAdmission({ scheduler: clock });
    const seen: unknown[] = [];
    const look = (): void => void seen.push(contexts.getStore());
    subscribe(CHANNELS.waiting, look);
    const held = admission.tryAcquire(demand(gate));
    contexts.run('mine', () => void admission.acquire(demand(gate)));
    contexts.run('another', () => held?.release());
    unsubscribe(CHANNELS.waiting, look);
    expect(seen).toEqual(['mine']);
  });

  it('may be answered by whoever hears it: one that withdraws leaves no alarm behind', () => {
    const gate = new CountingGate({ name: 'gate', capacity: 1 });
    const admission = createAdmission({ scheduler: clock });
    const held = admission.tryAcquire(demand(gate));
    const controller = new AbortController();
    const hear = (): void => {
      controller.abort();
    };
    subscribe(CHANNELS.waiting, hear);
    admission.acquire(demand(gate), { signal: controller.signal, maxWait: 500 }).catch(() => undefined);
    unsubscribe(CHANNELS.waiting, hear);
    held?.release();
    later(1_000);
    expect([admission.queueSize, gate.inUse(), clock.actions.length]).toEqual([0, 0, 0]);
  });
});
