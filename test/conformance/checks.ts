/** The questions a scenario asks on its way, and when: after the n-th step, at an instant before the next one. */
import { NotUnderstood, countAt, listAt, mapAt, numberAt, onlyKeys, show, textAt, type Fields } from './fields.js';
import type { Given } from './given.js';
import { questionOf, type Question } from './question.js';
import type { Step } from './step.js';

export interface Instant {
  /** How many steps have run. */
  readonly after: number;
  readonly t: number;
}

export interface Asked {
  readonly key: string;
  readonly question: Question;
  readonly expected: unknown;
}

export interface Check {
  /** Where it stands in the file, for messages. */
  readonly where: string;
  /** `null`: when everything has run. */
  readonly when: Instant | null;
  readonly asks: readonly Asked[];
}

export function checksOf(value: unknown, given: Given, steps: readonly Step[]): readonly Check[] {
  const checks = listAt(value, 'expect.checks').map((entry, index) => {
    const where = `expect.checks[${index}]`;
    const fields = mapAt(entry, where);
    return fields.job === undefined ? questionsOf(fields, where, given, steps) : grantOf(fields, where, given, steps);
  });
  return checks.sort(inOrder);
}

function inOrder({ when: one }: Check, { when: other }: Check): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return one.after - other.after || one.t - other.t;
}

function questionsOf(fields: Fields, where: string, given: Given, steps: readonly Step[]): Check {
  const when = instantOf(fields, where, given, steps);
  const asks = Object.entries(fields)
    .filter(([key]) => key !== 't' && key !== 'after')
    .map(([key, expected]) => ({ key, expected, question: questionOf(key, `${where}.${key}`, given, steps, when) }));
  if (asks.length === 0) throw new NotUnderstood(`${where}: asks nothing`);
  return { where, when, asks };
}

function instantOf(fields: Fields, where: string, given: Given, steps: readonly Step[]): Instant {
  const after = countAt(fields.after, `${where}.after`);
  const t = numberAt(fields.t, `${where}.t`);
  if (after > steps.length) throw new NotUnderstood(`${where}.after: there are ${steps.length} steps, not ${after}`);
  const from = steps[after - 1]?.t ?? given.clock;
  const until = steps[after]?.t ?? Infinity;
  if (t < from || t > until) {
    throw new NotUnderstood(`${where}.t: ${t} is not between step ${after} at ${from} and the next at ${until}`);
  }
  return { after, t };
}

const ABOUT_A_GRANT = ['wallWaitMs', 'waitTimesMs', 'isEmpty'] as const;

function grantOf(fields: Fields, where: string, given: Given, steps: readonly Step[]): Check {
  onlyKeys(fields, ['job', 't', 'after', ...ABOUT_A_GRANT], where);
  const job = textAt(fields.job, `${where}.job`);
  if (!steps.some((step) => step.kind === 'arrive' && step.jobs.includes(job))) {
    throw new NotUnderstood(`${where}.job: ${show(job)} never arrives`);
  }
  const timed = fields.t !== undefined || fields.after !== undefined;
  const asks = ABOUT_A_GRANT.filter((about) => fields[about] !== undefined).map((about) => ({
    key: `${job}.${about}`,
    question: { kind: 'grant', job, about } as const,
    expected: fields[about],
  }));
  if (asks.length === 0) throw new NotUnderstood(`${where}: asks nothing`);
  return { where, when: timed ? instantOf(fields, where, given, steps) : null, asks };
}
