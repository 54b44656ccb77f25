/** What a picture of a scenario shows: its rows from top to bottom, each with what is drawn on it. */
import type { Line } from './format.js';
import type { DemandPlan } from './plans.js';
import type { Caller, Scenario, Work } from './scenario.js';

/** A part of a row's time: `waits` in line, `holds` a grant, `listens` to an output. Cut: it did not end by itself. */
export interface Span {
  readonly kind: 'waits' | 'holds' | 'listens';
  readonly from: number;
  readonly to: number;
  readonly cut: boolean;
}

/** Marbles that begin at a frame and are drawn no further than `until`. */
export interface Piece {
  readonly marbles: string;
  readonly from: number;
  readonly until: number;
}

export interface Row {
  readonly place: 'above' | 'inside' | 'below' | 'events';
  readonly title: string;
  readonly note: string;
  readonly pieces: readonly Piece[];
  readonly spans: readonly Span[];
  /** What a letter is drawn as, where that is not the letter. */
  readonly legend: ReadonlyMap<string, string>;
  /** Words beside a symbol of the row's marbles. */
  readonly labels: ReadonlyMap<string, string>;
}

const NONE: ReadonlyMap<string, string> = new Map();

/** The rows in the order in which they are drawn; `admit` stands between those above and those inside. */
export function rowsOf(scenario: Scenario): Row[] {
  const { heap, actions, callers, work, events } = scenario;
  const line = (place: Row['place'], title: string, { marbles }: Line, more: Partial<Row> = {}): Row => ({
    place,
    title,
    note: '',
    pieces: [{ marbles, from: 0, until: Infinity }],
    spans: [],
    legend: NONE,
    labels: NONE,
    ...more,
  });
  const source = callers.find(({ line }) => line.kind === 'source');
  const letters = callers
    .flatMap((caller) => [...caller.demands].map(([letter, plan]) => ({ caller, letter, plan })))
    .sort((a, b) => (a.letter < b.letter ? -1 : 1));
  return [
    ...(heap ? [line('above', 'heap', heap.line, { legend: heap.line.legend })] : []),
    ...(actions ? [line('above', 'meanwhile', actions.line, { labels: actions.line.legend })] : []),
    ...(source ? [line('above', 'source', source.line)] : []),
    ...letters.map(({ caller, letter, plan }) => inside(scenario, caller, letter, plan, work)),
    ...callers.map(({ name, output, consumer, onRefused }) =>
      line('below', name === '' ? 'output' : `output ${name}`, output.line, {
        note: onRefused === undefined ? '' : `${onRefused}: refused`,
        spans: gone(consumer).map((to) => ({ kind: 'listens', from: 0, to, cut: true })),
        labels: output.line.legend,
      }),
    ),
    ...events.map((one) => line('events', `events ${one.subject}`, one)),
  ];
}

function inside(scenario: Scenario, caller: Caller, letter: string, plan: DemandPlan, all: readonly Work[]): Row {
  const asked = caller.line.marbles.indexOf(caller.line.kind === 'source' ? frameLetter(caller, letter) : '^');
  const runs = all
    .filter((work) => work.letter === letter)
    .flatMap((work) => work.subs.filter(({ marbles }) => marbles.includes('^')).map((subs) => run(work, subs)));
  const granted = runs[0]?.span.from ?? null;
  const left = granted ?? leftAt(scenario, caller, asked);
  const waits: Span[] = left > asked ? [{ kind: 'waits', from: asked, to: left, cut: granted === null }] : [];
  const refused: Span[] =
    granted === null && left === asked ? [{ kind: 'waits', from: asked, to: asked, cut: true }] : [];
  return {
    place: 'inside',
    title: all.some(({ line }) => line.kind === 'promise' && line.subject === letter) ? `${letter} (promise)` : letter,
    note: [demandText(plan), ...extras(caller), ...all.filter((work) => work.letter === letter).flatMap(charges)].join(
      ', ',
    ),
    pieces: runs.map(({ piece }) => piece),
    spans: [...waits, ...refused, ...runs.map(({ span }) => span)],
    legend: NONE,
    labels: NONE,
  };
}

// A group is drawn at the frame of its bracket.
function frameLetter({ line }: Caller, letter: string): string {
  return /\([a-z]*\)/.exec(line.marbles)?.[0].includes(letter) ? '(' : letter;
}

function run(work: Work, subs: Line): { piece: Piece; span: Span } {
  const from = subs.marbles.includes('(^!)') ? subs.marbles.indexOf('(') : subs.marbles.indexOf('^');
  const closing = subs.marbles.includes('(^!)') ? from : subs.marbles.indexOf('!');
  const to = closing === -1 ? Infinity : closing;
  const ends = work.line.marbles.search(/\([a-z]*[|#]\)|[|#]/);
  return {
    piece: { marbles: work.line.marbles, from, until: to },
    span: { kind: 'holds', from, to, cut: to !== Infinity && (ends === -1 || from + ends > to) },
  };
}

/** When a waiter that was never granted left: the first rejection from its asking on, else its consumer's end. */
function leftAt({ events }: Scenario, { consumer }: Caller, asked: number): number {
  const rejections = events.flatMap(({ marbles }) => [...frames(marbles, 'x')]).filter((at) => at >= asked);
  return Math.min(...rejections, ...gone(consumer));
}

/** When a consumer unsubscribes, if it does. */
const gone = (consumer = ''): number[] => (consumer.includes('!') ? [consumer.indexOf('!')] : []);

function* frames(marbles: string, symbol: string): Generator<number> {
  let group: number | null = null;
  for (const [frame, one] of [...marbles].entries()) {
    if (one === '(') group = frame;
    else if (one === ')') group = null;
    else if (one === symbol) yield group ?? frame;
  }
}

const demandText = (plan: DemandPlan): string =>
  plan.map(({ account, amount }) => (amount === 1 ? account : `${account} ${String(amount)}`)).join(', ') || 'nothing';

const charges = ({ line, charges }: Work): string[] =>
  [...charges.keys()].map((letter) => `${letter}: ${line.legend.get(letter) ?? ''}`);

function extras({ line }: Caller): string[] {
  return ['max wait', 'retry', 'repeat'].flatMap((key) => {
    const value = line.config.get(key);
    return value === undefined ? [] : [`${key} ${value}`];
  });
}
