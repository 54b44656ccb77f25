/** The live view: who is in flight, who waits for what and until when. Redrawn on a terminal; else a line a second. */
import type { AdmissionStatus } from 'rx-admission';
import type { Call } from '../provider/calls.js';
import type { Board, InFlight } from './chat.js';
import { bar, count, seconds } from '../provider/text.js';

/** What is on show. `status` is null in the bare run, where nobody waits for anything. */
export interface Scene {
  readonly title: string;
  /** The instant it is seen at, and the one the run began at: on the clock of `InFlight.sentAt`. */
  readonly now: number;
  readonly startedAt: number;
  readonly calls: number;
  readonly board: Board;
  readonly status: AdmissionStatus | null;
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
    const lines = frame(scene(), (out.rows || 24) - 2).map((line) => line.slice(0, (out.columns || 80) - 1));
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
export function summary({ title, now, startedAt, board, status }: Scene): string {
  const head = status?.waiters[0];
  const parts = [
    `${title.padEnd(8)} ${seconds(now - startedAt).padStart(6)}`,
    `${String(board.count('completed')).padStart(4)} completed`,
    `${board.count('limited')} 429s`,
    `${board.inFlight.size} in flight`,
    ...(status === null ? [] : [`${status.queueSize} waiting`]),
    ...(head === undefined ? [] : [`next ${head.summary()}`]),
  ];
  return parts.join(' · ');
}

/** Within `height` lines: the counts, the accounts, then those in flight beside those who wait. */
export function frame(scene: Scene, height: number): string[] {
  const { now, board, calls, status } = scene;
  const accounts = (status?.accounts ?? []).map(({ name, capacity, inUse }) =>
    [' ', name.padEnd(8), bar(inUse / capacity, 24), `${count(inUse)} of ${count(capacity)}`].join(' '),
  );
  const top = [summary(scene), bar(board.ended.length / calls, 60), '', ...accounts, ''];
  const left = ['in flight', ...[...board.inFlight].map(([call, flight]) => flying(call, flight, now))];
  const waiters = status?.waiters ?? [];
  const right = waiters.map((waiter) => `${waiter.place}. ${waiter.summary()}`);
  if (waiters.length > 0) right.unshift('waiting');
  const rows = Math.min(height - top.length, Math.max(left.length, right.length), 17);
  return [
    ...top,
    ...Array.from({ length: rows }, (_, row) => `  ${(left[row] ?? '').padEnd(30)} ${right[row] ?? ''}`.trimEnd()),
  ];
}

/** A mark for every two pieces that have come. */
function flying(call: Call, { sentAt, pieces }: InFlight, now: number): string {
  return `#${String(call.id).padStart(3, '0')} ${'▪'.repeat(Math.min(pieces / 2, 14)).padEnd(14)} ${seconds(now - sentAt)}`;
}
