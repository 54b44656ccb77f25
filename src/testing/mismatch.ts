/** The one failure of a marble test: what a diagram says and what happened, drawn under each other. */

import { Letters, draw, notifications, subscription, unwritable } from './diagram.js';
import type { Moment, Recorded, Subscribed } from './diagram.js';
import { same } from './same.js';
import { duration, show } from './show.js';

/**
 * Thrown by {@link admissionMarbles} when something happened that its diagram does not say. The message holds both as
 * diagrams on common columns, then one line for each instant at which they differ. What was got can be pasted as the
 * expectation; where no diagram says it, since a group takes as many frames as it has characters, the message says so.
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
  const { lines, columns } = draw(pairs.flat(), frame);
  const body = pairs.flatMap((pair, i) => {
    const [expected = '-', got = '-'] = lines.slice(2 * i, 2 * i + 2);
    if (same(...pair)) return [`  both      ${expected}`];
    const differing = differences(pair);
    const [first] = differing;
    const why = unwritable(pair[1], frame);
    return [
      `  expected  ${expected}`,
      `  got       ${got}`,
      `            ${' '.repeat(columns.get(first?.at ?? 0) ?? 0)}^`,
      ...differing.map(({ at, wanted, happened }) => `  ${duration(at)}: expected ${wanted}, got ${happened}`),
      ...(why === null ? [] : [`  got cannot be written as a diagram: ${why}`]),
    ];
  });
  const scale = frame === 1 ? '' : ` (1 frame = ${duration(frame)})`;
  return [`${title}${scale}`, '', ...body, ...notes.map((note) => `  ${note}`)].join('\n');
}

interface Difference {
  readonly at: number;
  readonly wanted: string;
  readonly happened: string;
}

function differences([expected, got]: Pair): Difference[] {
  const all = [...new Set([...expected, ...got].map(({ at }) => at))].sort((a, b) => a - b);
  const what = (line: readonly Moment[], at: number): string =>
    line.find((moment) => moment.at === at)?.symbols.join(' ') ?? 'nothing';
  return all
    .map((at) => ({ at, wanted: what(expected, at), happened: what(got, at) }))
    .filter(({ wanted, happened }) => wanted !== happened);
}

const listed = (errors: readonly unknown[]): string => errors.map(show).join(', ') || 'none';
