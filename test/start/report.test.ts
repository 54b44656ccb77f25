/** The figures, the verdict and the table of the demonstration, from runs written by hand. */
import { describe, expect, it } from 'vitest';
import type { Ended } from '../../examples/start/chat.js';
import type { Arrival } from '../../examples/provider/quota.js';
import { failuresOf, figuresOf, quantile, table, verdictOn } from '../../examples/start/report.js';
import type { Run } from '../../examples/start/report.js';

const limits = { tokensPerMinute: 6_000, requestsPerMinute: 60, concurrency: 4 };

const end = (over: Partial<Ended> & { tokens?: number } = {}): Ended => ({
  call: { id: 1, messages: [], maxTokens: 0, tokens: over.tokens ?? 1_000 },
  outcome: 'completed',
  waited: 0,
  took: 100,
  sentAt: 0,
  detail: '',
  ...over,
});

const run = (ended: Ended[], log: Arrival[], wall = 10_000): Run => ({
  title: 'admitted',
  wall,
  ended,
  ledger: { limits, log, peak: 3 },
});

/** Seven calls of 1,000 tokens against 6,000 a minute: the seventh can go after 10 s at the earliest. */
const seven = (lastAt: number): Run =>
  run(
    Array.from({ length: 7 }, () => end()),
    Array.from({ length: 7 }, (_, i) => ({ at: 500 + (i === 6 ? lastAt : 0), tokens: 1_000, refused: null })),
  );

describe('the figures of a run', () => {
  it('measure the tokens let in against burst plus rate times elapsed, until the last was let in', () => {
    expect(figuresOf(seven(10_000)).used.tokens).toBe(1);
    expect(figuresOf(seven(40_000)).used.tokens).toBe(0.7);
    expect(figuresOf(seven(10_000)).used.requests).toBe(7 / 70);
  });

  it('leave out what was refused, and count from the first arrival', () => {
    const figures = figuresOf(
      run([end(), end({ outcome: 'limited' })], [
        { at: 0, tokens: 1_000, refused: 'tokens' },
        { at: 30_000, tokens: 1_000, refused: null },
        { at: 50_000, tokens: 1_000, refused: 'requests' },
      ]),
    );
    expect(figures).toMatchObject({ completed: 1, limited: 1, tokens: 1_000, used: { tokens: 1_000 / 9_000 } });
  });

  it('say how long the burst takes at least under each limit', () => {
    expect(figuresOf(seven(10_000)).least.tokens).toBeCloseTo(10_000);
    expect(figuresOf(seven(10_000)).least).toMatchObject({ requests: 0, concurrency: 175 });
  });

  it('are zero where nothing was let in', () => {
    const refused = run([end({ outcome: 'limited' })], [{ at: 5, tokens: 1, refused: 'tokens' }]);
    expect(figuresOf(refused).used).toEqual({ tokens: 0, requests: 0 });
  });
});

describe('the verdict', () => {
  it('is kept with no 429, everything completed and 90 % of the binding limit', () => {
    expect(verdictOn(seven(10_000))).toEqual({
      kept: true,
      line: 'Kept: 7 of 7 completed, 0 429s, at 100.0 % of the tokens allowed; this quota allows it in 10.0 s at best.',
    });
  });

  it('is broken below 90 %', () => {
    const { kept, line } = verdictOn(seven(20_000));
    expect(kept).toBe(false);
    expect(line).toMatch(/^Broken: .* at 87\.5 %/);
  });

  it('is broken by one 429 or one call that did not complete', () => {
    const { ended, ledger } = seven(10_000);
    for (const outcome of ['limited', 'failed', 'withdrawn'] as const) {
      expect(verdictOn({ ...seven(10_000), ended: [...ended.slice(1), end({ outcome })], ledger }).kept).toBe(false);
    }
  });

  it('does not judge the budget of a burst that calls at once hold back', () => {
    const verdict = verdictOn(run([end({ tokens: 10 })], [{ at: 0, tokens: 10, refused: null }]));
    expect(verdict.kept).toBe(true);
    expect(verdict.line).toMatch(/calls at once were the limit/);
  });
});

describe('the table', () => {
  it('sets the runs side by side', () => {
    const bare = run(
      [end(), end({ outcome: 'limited' }), end({ outcome: 'limited' })],
      [
        { at: 0, tokens: 1_000, refused: null },
        { at: 0, tokens: 9_000, refused: 'tokens' },
        { at: 0, tokens: 1_000, refused: 'concurrency' },
      ],
    );
    const lines = table([{ ...bare, title: 'bare' }, seven(10_000)]).split('\n');
    expect(lines.map((line) => line.trim().replace(/ {2,}/g, ' | '))).toEqual([
      'bare | admitted',
      'completed | 1 of 3 | 7 of 7',
      '429s | 2 | 0',
      'for concurrency | 1 | 0',
      'for requests | 0 | 0',
      'for tokens | 1 | 0',
      'wall time | 10.0 s | 10.0 s',
      'wait p50 / p95 | 0.0 s / 0.0 s | 0.0 s / 0.0 s',
      'most calls at once | 3 of 4 | 3 of 4',
      'tokens let in | 1,000 | 7,000',
      'of what was allowed | 16.7 % | 100.0 %',
      'of the refill alone | none needed | 100.0 %',
      'requests let in | 1 | 7',
      'of what was allowed | 1.7 % | 10.0 %',
    ]);
  });

  it('names each other failure once', () => {
    const failed = (detail: string): Ended => end({ outcome: 'failed', detail });
    const ended = [failed('no route'), failed('no route'), failed('cut'), end()];
    expect(failuresOf([run(ended, [])])).toEqual(['no route', 'cut']);
  });
});

describe('quantile', () => {
  it('answers the least value that the share does not exceed', () => {
    const sorted = Array.from({ length: 20 }, (_, i) => i + 1);
    expect([0.5, 0.95, 1].map((share) => quantile(sorted, share))).toEqual([10, 19, 20]);
    expect(quantile([], 0.5)).toBe(0);
  });
});
