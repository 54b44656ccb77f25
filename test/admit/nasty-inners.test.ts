/** Inners that keep to no more than the letter of what `project` may answer. */
import { config, type ObservableInput } from 'rxjs';
import { demand } from 'rx-admission';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scene } from '../admission/scene.js';

const reported: unknown[] = [];

beforeEach(() => {
  reported.length = 0;
  config.onUnhandledError = (error) => reported.push(error);
});

afterEach(() => {
  config.onUnhandledError = null;
});

/** How an inner ends, and with what values. */
function endOf(inner: unknown): Promise<{ values: unknown[]; end: unknown; inUse: number }> {
  const { admission, slot } = scene();
  const values: unknown[] = [];
  return new Promise((resolve) => {
    const ended = (end: unknown): void => resolve({ values, end, inUse: slot.inUse() });
    admission.defer(demand(slot), () => inner as ObservableInput<unknown>).subscribe({
      next: (value) => values.push(value),
      error: ended,
      complete: () => ended('complete'),
    });
  });
}

describe('a lazy thenable, such as a query builder', () => {
  it('is begun once', async () => {
    let begun = 0;
    const query: PromiseLike<number> = {
      then: (fulfilled, rejected) => {
        begun += 1;
        return Promise.resolve(begun).then(fulfilled, rejected);
      },
    };
    expect(await endOf(query)).toEqual({ values: [1], end: 'complete', inUse: 0 });
    expect(begun).toBe(1);
  });

  it('is begun once where it stands in for a refused item', async () => {
    const { admission, slot } = scene();
    let begun = 0;
    const query: PromiseLike<number> = {
      then: (fulfilled, rejected) => {
        begun += 1;
        return Promise.resolve(begun).then(fulfilled, rejected);
      },
    };
    admission.stop();
    const value = await new Promise((resolve) => {
      admission.defer(demand(slot), () => [0], { onRefused: () => query }).subscribe(resolve);
    });
    expect([value, begun]).toEqual([1, 1]);
  });

  it('may be a function, and may answer nothing to those who ask it', async () => {
    const callable = Object.assign(() => undefined, { then: (fulfilled: (value: string) => void) => fulfilled('called') });
    expect(await endOf(callable)).toEqual({ values: ['called'], end: 'complete', inUse: 0 });
  });

  it('keeps its grant until it fails, and says so', async () => {
    const boom = new Error('boom');
    const query: PromiseLike<number> = { then: (fulfilled, rejected) => Promise.reject<number>(boom).then(fulfilled, rejected) };
    expect(await endOf(query)).toEqual({ values: [], end: boom, inUse: 0 });
    expect(reported).toEqual([]);
  });
});

describe('an async iterator', () => {
  const getter = new Error('a getter throws');
  const answers: [string, unknown, unknown][] = [
    ['nothing', undefined, expect.any(TypeError)],
    ['null', null, expect.any(TypeError)],
    ['a number', 1, expect.any(TypeError)],
    ['what cannot be read', Object.defineProperty({}, 'done', { get: () => { throw getter; } }), getter],
    ['a value that cannot be read', Object.defineProperty({}, 'value', { get: () => { throw getter; } }), getter],
  ];

  it.each(answers)('that answers %s has failed, and holds nothing any more', async (_what, answer, error) => {
    const iterable = { [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve(answer) }) };
    expect(await endOf(iterable)).toEqual({ values: [], end: error, inUse: 0 });
    expect(reported).toEqual([]);
  });

  it.each(answers)('from which `each` pulls %s fails the output', async (_what, answer, error) => {
    const { admission, slot } = scene();
    const iterable = { [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve(answer) }) } as AsyncIterable<number>;
    const end = await new Promise((resolve) => {
      admission.each(iterable, demand(slot), () => [1]).subscribe({ error: resolve });
    });
    expect([end, slot.inUse(), reported]).toEqual([error, 0, []]);
  });

  it.each(answers)('of the plain kind, from which `each` pulls %s, fails the output at once', (_what, answer, error) => {
    const { admission, slot } = scene();
    let pulls = 0;
    const iterable = { [Symbol.iterator]: () => ({ next: () => ((pulls += 1), answer) }) } as Iterable<number>;
    let end: unknown;
    admission.each(iterable, demand(slot), () => [1]).subscribe({ error: (thrown: unknown) => (end = thrown) });
    expect([end, slot.inUse(), pulls]).toEqual([error, 0, 1]);
  });
});
