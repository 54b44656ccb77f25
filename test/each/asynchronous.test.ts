/** `each` over async iterables and streams: one pull at a time, and told to stop in the turn of the unsubscribe. */
import { CountingGate, StoppedError, createAdmission, demand } from 'rx-admission';
import { NEVER, Subject, firstValueFrom, of, take, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { Job } from '../admit/job.js';

const boom = new Error('boom');
const turns = (count = 10): Promise<void> =>
  count === 0 ? Promise.resolve() : Promise.resolve().then(() => turns(count - 1));

const scene = (capacity = 1) => ({
  admission: createAdmission(),
  slot: new CountingGate({ name: 'slot', capacity }),
});

/** Numbers from 1, each a microtask later; tells how far they were pulled, and whether they were told to return. */
class Numbers implements AsyncIterable<number> {
  pulled = 0;
  returned = 0;
  awaited = 0;
  mostAwaited = 0;

  constructor(
    readonly upTo = Infinity,
    readonly failsAt = Infinity,
  ) {}

  [Symbol.asyncIterator](): AsyncIterator<number> {
    return {
      next: async () => {
        this.awaited += 1;
        this.mostAwaited = Math.max(this.mostAwaited, this.awaited);
        await Promise.resolve();
        this.awaited -= 1;
        if (this.pulled >= this.upTo) return { done: true, value: undefined };
        this.pulled += 1;
        if (this.pulled >= this.failsAt) throw boom;
        return { value: this.pulled };
      },
      return: () => {
        this.returned += 1;
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }
}

describe('each of an async iterable', () => {
  it('runs every item and completes', async () => {
    const { admission, slot } = scene();
    const source = new Numbers(4);
    await expect(firstValueFrom(admission.each(source, demand(slot), (n) => of(n)).pipe(toArray()))).resolves.toEqual([1, 2, 3, 4]);
    expect([source.returned, source.mostAwaited, slot.inUse()]).toEqual([0, 1, 0]);
  });

  it('pulls no more than prefetch ahead of those admitted, one at a time', async () => {
    const { admission, slot } = scene();
    const source = new Numbers();
    const ends: Subject<void>[] = [];
    const subscription = admission
      .each(source, demand(slot), () => {
        const end = new Subject<void>();
        ends.push(end);
        return end;
      }, { prefetch: 3 })
      .subscribe();
    await turns(30);
    expect([source.pulled, admission.queueSize, ends.length]).toEqual([4, 3, 1]);
    ends[0]?.complete();
    await turns(30);
    expect([source.pulled, admission.queueSize, ends.length, source.mostAwaited]).toEqual([5, 3, 2, 1]);
    subscription.unsubscribe();
    expect([slot.inUse(), admission.queueSize, source.returned]).toEqual([0, 0, 1]);
  });

  it('calls return at once on unsubscribe, in the middle of a pull too, and drops what that brings', async () => {
    const { admission, slot } = scene();
    const source = new Numbers();
    const subscription = admission.each(source, demand(slot), () => NEVER).subscribe();
    subscription.unsubscribe();
    expect(source.returned).toBe(1);
    await turns();
    expect([slot.inUse(), admission.queueSize, source.pulled]).toEqual([0, 0, 1]);
  });

  it('calls return when a consumer has had enough', async () => {
    const { admission, slot } = scene();
    const source = new Numbers();
    await firstValueFrom(admission.each(source, demand(slot), (n) => of(n)).pipe(take(2), toArray()));
    expect([source.returned, source.pulled, slot.inUse()]).toEqual([1, 2, 0]);
  });

  it('fails when a pull fails, whether it throws or rejects, and does not call return then', async () => {
    const { admission, slot } = scene(3);
    const source = new Numbers(9, 3);
    const values: number[] = [];
    const error = await new Promise((resolve) => {
      admission.each(source, demand(slot), () => NEVER).subscribe({ next: (n) => values.push(n), error: resolve });
    });
    expect([error, source.returned, slot.inUse()]).toEqual([boom, 0, 0]);
    const throwing: AsyncIterable<number> = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          throw boom;
        },
      }),
    };
    await expect(firstValueFrom(admission.each(throwing, demand(slot), () => NEVER))).rejects.toBe(boom);
  });

  it('returns when admission stops, and tells of it once what runs has ended', async () => {
    const { admission, slot } = scene();
    const source = new Numbers();
    const end = new Subject<void>();
    let error: unknown;
    admission.each(source, demand(slot), () => end).subscribe({ error: (thrown: unknown) => (error = thrown) });
    await turns(30);
    admission.stop();
    await turns();
    expect([error, source.returned]).toEqual([undefined, 1]);
    end.complete();
    expect(error).toBeInstanceOf(StoppedError);
  });

  it('completes once the last of what runs has ended', async () => {
    const { admission, slot } = scene();
    const end = new Subject<void>();
    let completed = false;
    admission.each(new Numbers(1), demand(slot), () => end).subscribe({ complete: () => (completed = true) });
    await turns(30);
    expect(completed).toBe(false);
    end.complete();
    expect(completed).toBe(true);
  });

  it('waits in the one line, behind those who came before', async () => {
    const { admission, slot } = scene();
    const holder = new Job(admission, demand(slot));
    const order: number[] = [];
    admission.each(new Numbers(2), demand(slot), (n) => (order.push(n), of(n))).subscribe();
    await turns(30);
    const behind = new Job(admission, demand(slot), {}, () => (order.push(99), of(99)));
    holder.release();
    await turns(30);
    expect(order).toEqual([1, 99, 2]);
    expect(behind.grant.settled).toBe(true);
  });
});

describe('each of a ReadableStream', () => {
  it('reads it to its end', async () => {
    const { admission, slot } = scene();
    const stream = ReadableStream.from(['a', 'b', 'c']);
    await expect(firstValueFrom(admission.each(stream, demand(slot), (c) => of(c)).pipe(toArray()))).resolves.toEqual(['a', 'b', 'c']);
  });

  it('cancels it in the turn of the unsubscribe, and does not wait for that', () => {
    const { admission, slot } = scene();
    let cancelled = 0;
    const stream = new ReadableStream<string>({
      cancel: () => {
        cancelled += 1;
        return new Promise(() => undefined);
      },
    });
    const subscription = admission.each(stream, demand(slot), () => NEVER).subscribe();
    subscription.unsubscribe();
    expect([cancelled, slot.inUse()]).toEqual([1, 0]);
  });

  it('reads no further than prefetch', async () => {
    const { admission, slot } = scene();
    let pulls = 0;
    const stream = new ReadableStream<number>(
      { pull: (controller) => controller.enqueue((pulls += 1)) },
      { highWaterMark: 0 },
    );
    admission.each(stream, demand(slot), () => NEVER).subscribe();
    await turns(50);
    expect([pulls, admission.queueSize]).toEqual([2, 1]);
  });

  it('passes its failure on', async () => {
    const { admission, slot } = scene();
    const stream = new ReadableStream({ start: (controller) => controller.error(boom) });
    await expect(firstValueFrom(admission.each(stream, demand(slot), () => NEVER))).rejects.toBe(boom);
  });
});
