/** The live view: who is streaming, who waits, for what and until when. Redrawn on a terminal, one line a second elsewhere. */
import type { Admission } from 'rx-admission';
import type { Board } from './chat.js';
import { bar, count, seconds } from './text.js';

export type Status = ReturnType<Admission['status']>;

/** What is on show. `status` is null in the bare run, where nobody waits for anything. */
export interface Scene {
  readonly title: string;
  readonly elapsed: number;
  readonly calls: number;
  readonly board: Board;
  readonly status: Status | null;
}

export interface View {
  stop(): void;
}

export function showLive(out: NodeJS.WriteStream, scene: () => Scene): View {
  return out.isTTY ? redrawn(out, scene) : lineByLine(out, scene);
}

function redrawn(out: NodeJS.WriteStream, scene: () => Scene): View {
  let height = 0;
  const draw = (): void => {
    const lines = frame(scene(), (out.rows || 24) - 4).map((line) => line.slice(0, (out.columns || 80) - 1));
    out.write(`${height > 0 ? `\x1b[${height}F` : ''}\x1b[J${lines.join('\n')}\n`);
    height = lines.length;
  };
  draw();
  const timer = setInterval(draw, 100);
  return {
    stop: () => {
      clearInterval(timer);
      draw();
    },
  };
}

function lineByLine(out: NodeJS.WriteStream, scene: () => Scene): View {
  const print = (): void => void out.write(`${summary(scene())}\n`);
  const timer = setInterval(print, 1000);
  return {
    stop: () => {
      clearInterval(timer);
      print();
    },
  };
}

/** One line: the counts, and what the head of the line waits for. */
export function summary({ title, elapsed, board, status }: Scene): string {
  const head = status?.waiters[0];
  const parts = [
    `${title.padEnd(8)} ${seconds(elapsed).padStart(6)}`,
    `${String(board.count('completed')).padStart(4)} completed`,
    `${board.count('limited')} 429s`,
    `${board.streaming.size} streaming`,
    ...(status === null ? [] : [`${status.queueSize} waiting`]),
    ...(head === undefined ? [] : [`next: ${name(head.job)} ${waitsFor(head, status?.at ?? 0)}`]),
  ];
  return parts.join(' · ');
}

/** The accounts above, then those who stream beside those who wait, `height` lines at most. */
export function frame(scene: Scene, height: number): string[] {
  const { board, status } = scene;
  const now = performance.now();
  const streaming = [...board.streaming].map(
    ([call, { since, pieces }]) => `${name(call)} ${'▪'.repeat(Math.min(pieces, 14)).padEnd(14)} ${seconds(now - since)}`,
  );
  const waiting = (status?.waiters ?? []).map(
    (waiter) => `${String(waiter.place).padStart(3)}. ${name(waiter.job)} ${waitsFor(waiter, status?.at ?? 0)}`,
  );
  const accounts = (status?.accounts ?? []).map(
    ({ name, capacity, inUse }) =>
      `  ${name.padEnd(8)} ${bar(inUse / capacity, 24)} ${count(inUse)} of ${count(capacity)} in use`,
  );
  const top = [summary(scene), bar(board.ended.length / scene.calls, 60), '', ...accounts, ''];
  const rows = Math.max(0, Math.min(16, height - top.length - 1));
  const columns = Array.from({ length: rows }, (_, row) =>
    `  ${(streaming[row] ?? '').padEnd(30)}  ${waiting[row] ?? ''}`.trimEnd(),
  );
  const heading = `  ${'streaming'.padEnd(30)}  ${status === null ? '' : 'waiting'}`.trimEnd();
  return [...top, heading, ...columns];
}

function waitsFor({ shortOf, earliest }: Status['waiters'][number], now: number): string {
  if (shortOf.length === 0) return 'behind the head of the line';
  const until = earliest === null ? 'until one is given back' : `for another ${seconds(Math.max(0, earliest - now))}`;
  return `waits for ${shortOf.join(' and ')}, ${until}`;
}

/** The ask's `job` is the call itself. */
function name(job: unknown): string {
  return `#${String((job as { id: number }).id).padStart(3, '0')}`;
}
