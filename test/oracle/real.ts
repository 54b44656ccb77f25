/** The other side: the same trace against the real admission, through the runner, and every field of every event besides. */
import { AdmissionError } from 'rx-admission';
import type { ModelEvent } from './books.js';
import { expected } from './expectation.js';
import type { Outcome } from './model.js';
import { moveInReal } from './moves.js';
import { rawAskings, type Trace } from './trace.js';
import { ask } from '../conformance/ask.js';
import { checksOf, type Check } from '../conformance/checks.js';
import { show } from '../conformance/fields.js';
import { judge } from '../conformance/run-scenario.js';
import { same } from '../conformance/same.js';
import { World } from '../conformance/world.js';

interface Run {
  readonly world: World;
  readonly answers: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}

/** Where the two part, the first of each kind; none where they agree. */
export function differences(trace: Trace): readonly string[] {
  const { raw, outcome } = expected(trace);
  // The runner knows no moves: without them it has the first word.
  const { complaints } = trace.moves.length === 0 ? judge({ value: raw }) : { complaints: [] };
  if (complaints.length > 0) return complaints;
  const run = silently(() => runOf(trace));
  return [...answersApart(outcome, run), ...jobsApart(outcome, run), ...eventsApart(outcome, run)];
}

function runOf({ given, steps, askings, moves }: Trace): Run {
  const world = new World({ given, steps });
  const answers = new Map<string, Record<string, unknown>>();
  const checks = [...checksOf(rawAskings(askings), given, steps)];
  for (const [index, step] of steps.entries()) {
    world.run(step, index + 1);
    for (const move of moves) if (move.after === index + 1) moveInReal(move, world);
    for (let check = checks[0]; check?.when?.after === index + 1; check = checks[0]) {
      checks.shift();
      world.clock.advanceTo(check.when.t);
      answers.set(check.where, answersTo(check, world));
    }
  }
  return { world, answers };
}

function answersTo({ asks }: Check, world: World): Record<string, unknown> {
  return Object.fromEntries(
    asks.map(({ key, question }) => {
      if (question.kind !== 'answer') return [key, ask(question, world)];
      const answer = world.answers.get(question.step);
      return [key, answer && 'threw' in answer ? answer.threw : answer?.value];
    }),
  );
}

function answersApart(outcome: Outcome, { answers }: Run): readonly string[] {
  return [...outcome.answers].flatMap(([where, wanted]) =>
    Object.entries(wanted).flatMap(([key, answer]) => {
      const got = answers.get(where)?.[key];
      const kind = typeof answer === 'string' ? (/^(\w+): /.exec(answer)?.[1] ?? answer) : answer;
      if (answer === 'hooked' || same(kind, got)) return [];
      return [`${where}: ${key}: expected ${show(answer)}, got ${show(got)}`];
    }),
  );
}

function jobsApart({ world: model, stillParked }: Outcome, { world }: Run): readonly string[] {
  const { grantedAt, ended, parked } = world.jobs;
  return [
    ...model.arrived.flatMap((job) => {
      const end = model.line.ended.get(job);
      const wanted = [model.line.grants.get(job)?.at, end?.at, end?.kind, end?.reason];
      const real = ended.get(job);
      const reason = real?.error instanceof AdmissionError && end?.reason ? real.error.reason : end?.reason;
      const got = [grantedAt.get(job), real?.at, real?.kind, reason];
      return show(wanted) === show(got) ? [] : [`${job}: expected ${show(wanted)}, got ${show(got)}`];
    }),
    ...(show(stillParked) === show(parked) ? [] : [`parked: expected ${show(stillParked)}, got ${show(parked)}`]),
  ];
}

function eventsApart({ world: model }: Outcome, { world: { events } }: Run): readonly string[] {
  const wanted = model.line.books.events;
  for (let index = 0; index < Math.max(wanted.length, events.length); index += 1) {
    const [one, other] = [wanted[index], events[index]];
    if (!one || !other) return [`event ${index}: expected ${show(one)}, got ${show(other)}`];
    const field = FIELDS.find((name) => !isLeftOpen(one, name) && one[name] !== other[name]);
    if (field) return [`event ${index}: ${field} of ${show(one)}, got ${show(other)}`];
  }
  return [];
}

const FIELDS = [
  ...['at', 'type', 'account', 'category', 'job', 'waiters', 'amount', 'wait', 'reason'],
  ...['capacity', 'inUse', 'indicator'],
] as (keyof ModelEvent)[];

/** Memory has no amount of its own: what stands there is the gate's business. */
function isLeftOpen({ account }: ModelEvent, field: keyof ModelEvent): boolean {
  return account === 'memory' && (field === 'capacity' || field === 'inUse' || field === 'indicator');
}

/** A defect is logged, once a run: the runner has counted it. */
function silently<T>(work: () => T): T {
  const { error } = console;
  console.error = () => undefined;
  try {
    return work();
  } finally {
    console.error = error;
  }
}
