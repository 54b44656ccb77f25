/** The live view of the demonstration: what it shows of a scene, and how it redraws. */
import { CountingGate, TokenBucket, createAdmission, demand } from 'rx-admission';
import { NEVER, VirtualTimeScheduler, from } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { labelOf } from '../../examples/provider/calls.js';
import { Board } from '../../examples/start/chat.js';
import { frame, showLive, summary } from '../../examples/start/view.js';
import type { Scene } from '../../examples/start/view.js';

const calls = [1, 2, 3, 4].map((id) => ({ id, messages: [], maxTokens: 0, tokens: 3_000 }));

/** Two of four calls are in flight: a bucket of 9,000 has room for a third, but no place is free. */
function scene(capacity = 2): Scene {
  const quota = new TokenBucket({ name: 'gpt-5', tokensPerMinute: 9_000, requestsPerMinute: 9 });
  const streams = new CountingGate({ name: 'streams', capacity });
  const admission = createAdmission({ scheduler: new VirtualTimeScheduler() });
  const board = new Board();
  from(calls)
    .pipe(
      admission.admit(
        (call) => demand([quota, call.tokens], streams),
        (call) => {
          board.inFlight.set(call, { sentAt: 1_000, pieces: 4 });
          return NEVER;
        },
        { job: labelOf },
      ),
    )
    .subscribe();
  return { title: 'admitted', now: 1_500, startedAt: 300, calls: 4, board, status: admission.status() };
}

describe('the live view', () => {
  it('says in one line how far the burst is, and what the head of the line waits for', () => {
    expect(summary(scene())).toBe(
      'admitted  1.2 s ·    0 completed · 0 429s · 2 in flight · 2 waiting · ' +
        'next #003 (3,000 tokens) waits for streams until one is given back, held by #001 (3,000 tokens) and #002 (3,000 tokens)',
    );
  });

  it('names the instant where the clock decides', () => {
    expect(summary(scene(3))).toMatch(/next #004 \(3,000 tokens\) waits for gpt-5 and streams until one is given back, held by 3 jobs$/);
    expect(summary(scene(4))).toMatch(/next #004 \(3,000 tokens\) waits for gpt-5, 20s more at least$/);
  });

  it('shows the accounts, then who is in flight beside who waits', () => {
    const lines = frame(scene(), 20);
    expect(lines[1]).toBe('░'.repeat(60));
    expect(lines.slice(3)).toEqual([
      `  gpt-5    ${'█'.repeat(16)}${'░'.repeat(8)} 6,000 of 9,000`,
      `  streams  ${'█'.repeat(24)} 2 of 2`,
      '',
      '  in flight                      waiting',
      '  #001 ▪▪             0.5 s      1. #003 (3,000 tokens) waits for streams until one is given back, held by #001 (3,000 tokens) and #002 (3,000 tokens)',
      '  #002 ▪▪             0.5 s      2. #004 (3,000 tokens) waits for gpt-5 and streams until one is given back, held by #001 (3,000 tokens) and #002 (3,000 tokens)',
    ]);
  });

  it('keeps to the height it is given', () => {
    expect(frame(scene(), 8)).toHaveLength(8);
  });

  it('draws each frame over the one before on a terminal, and cuts what is too wide', () => {
    const written: string[] = [];
    const out = { isTTY: true, rows: 24, columns: 40, write: (text: string) => written.push(text) };
    showLive(out as unknown as NodeJS.WriteStream, scene).stop();
    const [first = '', second = ''] = written;
    const lines = first.replace('\x1b[J', '').trimEnd().split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBe(39);
    expect(second.startsWith(`\x1b[${lines.length}F\x1b[J`)).toBe(true);
  });
});
