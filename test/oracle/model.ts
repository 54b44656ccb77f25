/** The model's side of a scenario: what must come of it, in the words of a scenario file. */
import { ModelWorld } from './world.js';
import type { ModelEvent } from './books.js';
import { moveInModel, type Move } from './moves.js';
import type { Check } from '../conformance/checks.js';
import type { Given } from '../conformance/given.js';
import type { Step } from '../conformance/steps.js';

export interface Outcome {
  readonly world: ModelWorld;
  readonly grantedAt: Readonly<Record<string, number>>;
  readonly failed: Readonly<Record<string, object>>;
  readonly stillParked: readonly string[];
  readonly events: readonly string[];
  /** By check, then by key. */
  readonly answers: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}

/** Runs the steps in the model, asks the checks on the way, and tells what came of them. */
export function outcomeOf(
  given: Given,
  steps: readonly Step[],
  checks: readonly Check[],
  moves: readonly Move[] = [],
): Outcome {
  const world = new ModelWorld(given);
  const answers = new Map<string, Record<string, unknown>>();
  const left = [...checks];
  const checkUpTo = (step: number): void => {
    for (let check = left[0]; check && (check.when?.after ?? Infinity) <= step; check = left[0]) {
      left.shift();
      if (check.when) world.advanceTo(check.when.t);
      answers.set(check.where, answersOf(check, world));
    }
  };
  checkUpTo(0);
  for (const [index, step] of steps.entries()) {
    world.run(step, index + 1);
    for (const move of moves) if (move.after === index + 1) moveInModel(move, world);
    checkUpTo(index + 1);
  }
  checkUpTo(Infinity);
  const { line, arrived } = world;
  const waits = (job: string): boolean => !line.grants.has(job) && !line.ended.has(job);
  return {
    world,
    grantedAt: Object.fromEntries(
      arrived.flatMap((job) => (line.grants.has(job) ? [[job, line.grants.get(job)?.at ?? NaN]] : [])),
    ),
    failed: Object.fromEntries(
      arrived.flatMap((job) => (line.ended.has(job) ? [[job, line.ended.get(job) ?? {}]] : [])),
    ),
    stillParked: arrived.filter(waits),
    events: line.books.events.map(lineOf),
    answers,
  };
}

function answersOf({ asks }: Check, world: ModelWorld): Record<string, unknown> {
  return Object.fromEntries(
    asks.map(({ key, question, expected }) => {
      const whole = question.kind === 'property' && question.path.join('.') === 'status';
      if (!whole || typeof expected !== 'object' || expected === null) return [key, world.answer(question)];
      // A status is compared by the fields that are spoken of.
      const fields = Object.keys(expected).map((field) => [field, world.property(question.account, field)]);
      return [key, Object.fromEntries(fields) as unknown];
    }),
  );
}

function lineOf({ at, type, account, job, waiters, amount, wait, reason }: ModelEvent): string {
  const endsWait = type === 'GRANTED_FROM_HOLD' || type === 'REJECTED';
  return `${at} ${type} ${account} ${job} waiters=${waiters} amount=${amount}${
    endsWait || wait !== 0 ? ` wait=${wait}` : ''
  }${reason === null ? '' : ` reason=${reason}`}`;
}
