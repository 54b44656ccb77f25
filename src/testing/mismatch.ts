/** The one failure of a marble test: what a diagram says and what happened, drawn under each other. */

import { Letters, draw, notifications, subscription } from './diagram.js';
import type { Moment, Recorded, Subscribed } from './diagram.js';
import { same } from './same.js';
import { duration, show } from './show.js';

/**
 * Thrown by {@link admissionMarbles} when something happened that its diagram does not say. The message holds both as
 * diagrams on common columns, then one line for each instant at which they differ.
 *
 * ```text
 * the observable differs from its diagram
 *
 *   expected  --x--y|
 *   got       --x---y|
 *                  ^
 *   5ms: expected y, got nothing
 *   6ms: expected |, got y
 *   7ms: expected nothing, got |
 * ```
 */
export class MarbleMismatch extends Error {
  override readonly name = 'MarbleMismatch';
}

/** `null` when the notifications are those expected, else both as a picture. */
export function notificationsDiffer(
  expected: readonly Recorded[],
  got: readonly Recorded[],
  frame: number,
  values?: Readonly<Record<string, unknown>>,
): string | null {
  if (same(expected, got)) return null;
  const letters = new Letters(values);
  const lines = [notifications(expected, letters), notifications(got, letters)] as const;
  const errors = (all: readonly Recorded[]): unknown[] =>
    all.flatMap(({ notification }) => (notification.kind === 'E' ? [notification.error] : []));
  const notes = [...letters.legend];
  if (!same(errors(expected), errors(got))) {
    notes.push(`# expected ${listed(errors(expected))}, got ${listed(errors(got))}`);
  }
  return picture('the observable differs from its diagram', [lines], frame, notes);
}

/** `null` when the subscriptions are those expected, else both as pictures. */
export function subscriptionsDiffer(
  expected: readonly Subscribed[],
  got: readonly Subscribed[],
  frame: number,
): string | null {
  const ends = ({ subscribedFrame, unsubscribedFrame }: Subscribed): number[] => [subscribedFrame, unsubscribedFrame];
  if (same(expected.map(ends), got.map(ends))) return null;
  const count = Math.max(expected.length, got.length);
  const line = (one: Subscribed | undefined): Moment[] => (one === undefined ? [] : subscription(one));
  const pairs = Array.from({ length: count }, (_, i) => [line(expected[i]), line(got[i])] as const);
  return picture('the subscriptions differ from their diagrams', pairs, frame, []);
}

type Pair = readonly [expected: readonly Moment[], got: readonly Moment[]];

function picture(title: string, pairs: readonly Pair[], frame: number, notes: readonly string[]): string {
  const drawn = draw(pairs.flat(), frame);
  const body = pairs.flatMap((pair, i) => {
    const [expected = '-', got = '-'] = drawn.slice(2 * i, 2 * i + 2);
    if (same(...pair)) return [`  both      ${expected}`];
    return [
      `  expected  ${expected}`,
      `  got       ${got}`,
      `            ${pointer(expected, got)}`,
      ...instants(pair),
    ];
  });
  const scale = frame === 1 ? '' : ` (1 frame = ${duration(frame)})`;
  return [`${title}${scale}`, '', ...body, ...notes.map((note) => `  ${note}`)].join('\n');
}

function pointer(expected: string, got: string): string {
  let column = 0;
  while (column < expected.length && expected[column] === got[column]) column++;
  return `${' '.repeat(column)}^`;
}

function instants([expected, got]: Pair): string[] {
  const all = [...new Set([...expected, ...got].map(({ at }) => at))].sort((a, b) => a - b);
  const what = (line: readonly Moment[], at: number): string =>
    line.find((moment) => moment.at === at)?.symbols.join(' ') ?? 'nothing';
  return all.flatMap((at) => {
    const [wanted, happened] = [what(expected, at), what(got, at)];
    return wanted === happened ? [] : [`  ${duration(at)}: expected ${wanted}, got ${happened}`];
  });
}

const listed = (errors: readonly unknown[]): string => errors.map(show).join(', ') || 'none';
