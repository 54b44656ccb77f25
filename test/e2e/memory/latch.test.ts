/** End to end on a real heap of 128 MiB: the latch sets, the references are dropped, and the line drains by itself. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Children } from '../../platform/child.js';

const LINE = new URL('./line-on-a-real-heap.ts', import.meta.url);
/** A child waits for the re-check of two seconds, and more on a busy machine. */
const SECONDS = { timeout: 60_000 };
/**
 * V8 begins one marking after another once no more than a young generation is left of the old space, and then ends a
 * program for collecting in vain: with a small young generation that comes after the latch.
 */
const SMALL_YOUNG_GENERATION = '--max-semi-space-size=1';
/** A marking that began while the heap filled would end by itself, and a young generation that is full collects the old one. */
const NO_COLLECTION_UNDER_WAY = ['--no-incremental-marking', '--no-memory-reducer', '--min-semi-space-size=16'];
const GRANTS = ['a', 'b', 'c', 'd', 'e'].map((granted) => ({ granted }));

let children: Children;
beforeAll(async () => {
  children = await Children.of(LINE);
});
afterAll(() => children.remove());

async function lineOn(mode: 'drains' | 'shut', ...flags: string[]): Promise<unknown[]> {
  const { code, lines, errors } = await children.run(LINE, {
    flags: ['--max-old-space-size=128', ...flags],
    args: [mode],
  });
  if (code !== 0) throw new Error(`the child ended with ${String(code)}: ${errors.slice(0, 2_000)}`);
  return lines.map((line) => JSON.parse(line) as unknown);
}

describe('a line on a real heap', SECONDS, () => {
  it.each([
    ['the inspector collects', []],
    ['the exposed gc collects', ['--expose-gc']],
  ])('drains in order with no outside help when nothing is referenced any more: %s', async (_how, flags) => {
    expect(await lineOn('drains', SMALL_YOUNG_GENERATION, ...flags)).toEqual([
      { latch: 'set' },
      { parked: 5 },
      { latch: 'cleared' },
      ...GRANTS,
      { inUse: 0, waiting: 0, latched: false },
    ]);
  });

  it('stays shut with `collect: false`, since nothing allocates and so nothing collects, until it is told to go on', async () => {
    expect(await lineOn('shut', ...NO_COLLECTION_UNDER_WAY)).toEqual([
      { latch: 'set' },
      { parked: 5 },
      { stillParked: 5, latched: true },
      ...GRANTS,
      { inUse: 0, waiting: 0, latched: true },
    ]);
  });
});
