/** The figures bite: what fails its bound is told, in JSON and in the verdict of three runs. */
import { describe, expect, it } from 'vitest';
import { alone, beside, holds, median, toJson, type Row } from '../../bench/row.js';
import { growthOf, isFlat } from '../../bench/soak/trend.js';
import { Tally } from '../../bench/tally.js';
import { verdictOf } from '../../bench/verdict.js';

const series = (name: string, ...perJob: number[]) => ({ name, n: 1_000, perJob });
const about = { bench: 'P2', what: 'ten at a time' };

describe('a row', () => {
  it('binds the median of the paired ratios, not the ratio of the medians', () => {
    const row = beside(about, series('ours', 10, 20, 90), series('peer', 10, 40, 30), 1);
    expect(row.ratio).toBe(1);
    expect(holds(row)).toBe(true);
    expect(holds({ ...row, bound: { on: 'ratio', atMost: 0.9 } })).toBe(false);
  });

  it('holds nothing when it measured nothing', () => {
    expect(holds(beside(about, series('ours'), series('peer'), 1))).toBe(false);
    expect(holds(alone(about, series('ours', 5)))).toBeNull();
  });

  it('is written with its unit', () => {
    expect(JSON.parse(toJson(beside(about, series('ours', 2, 4), series('peer', 4, 8), 1)))).toMatchObject({
      bench: 'P2',
      n: 1_000,
      oursNs: 2,
      oursMedianNs: 3,
      peer: 'peer',
      peerNs: 4,
      ratio: 0.5,
      holds: true,
    });
    expect(JSON.parse(toJson(alone({ ...about, unit: 'bytes' }, series('ours', 7), 6)))).toMatchObject({
      oursBytes: 7,
      holds: false,
    });
  });

  it('has the middle of an even number of figures between the two', () => {
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });
});

describe('the verdict of three runs', () => {
  const row = (took: number): Row => alone(about, series('ours', took), 10);

  it.each<[string, number[], number, number]>([
    ['forgives one bad run', [20, 5, 5], 0, 3],
    ['fails what fails twice', [20, 5, 20], 1, 3],
    ['makes no third run that could turn nothing', [5, 5], 0, 2],
    ['fails after two bad runs', [20, 20], 1, 2],
  ])('%s', async (_title, runs, exitCode, made) => {
    let run = 0;
    const next = (): Row[] => [row(runs[run++]!)];
    const runAgain = (ids: readonly string[]): Promise<Row[]> => {
      expect(ids).toEqual(['P2']);
      return Promise.resolve(next());
    };
    const code = await verdictOf(next(), runAgain, () => {});
    expect([code, run]).toEqual([exitCode, made]);
  });
});

describe('a tally', () => {
  const ran = (jobs: number, atOnce: number, lost = 0): Tally => {
    const tally = new Tally();
    for (let job = 0; job < jobs; job += atOnce) {
      for (let one = 0; one < atOnce; one += 1) tally.start();
      for (let one = 0; one < atOnce; one += 1) tally.end();
    }
    for (let one = 0; one < lost; one += 1) tally.start();
    return tally;
  };

  it('finds the lost, the missing, too many at once and too few', () => {
    expect(() => ran(20, 10).check('it', 20, 10)).not.toThrow();
    expect(() => ran(20, 10, 1).check('it', 21, 10)).toThrow('1 have not ended');
    expect(() => ran(20, 10).check('it', 30, 10)).toThrow('20 of 30');
    expect(() => ran(20, 10).check('it', 20, 5)).toThrow('10 jobs ran at once');
    expect(() => ran(20, 2).check('it', 20, 10)).toThrow('2 jobs ran at once');
  });
});

describe('the heap of a soak', () => {
  it('grows where its last third is above its first', () => {
    const noisy = Array.from({ length: 24 }, (_, look) => 8e6 + (look % 3) * 3e5);
    expect(isFlat(growthOf(noisy)!)).toBe(true);
    expect(isFlat(growthOf(noisy.map((heap, look) => heap + look * 2e5))!)).toBe(false);
  });

  it('may settle first, and tells nothing of too few looks', () => {
    expect(isFlat(growthOf([1e6, 2e6, 4e6, 8e6, 9e6, 9e6, ...Array.from({ length: 18 }, () => 9e6)])!)).toBe(true);
    expect(growthOf([1, 2, 3])).toBeNull();
  });
});
