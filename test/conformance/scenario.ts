/** A scenario, understood: every key of it has a meaning here, or it is an error. */
import { expectOf, type Expect } from './expect.js';
import { NotUnderstood, listAt, mapAt, onlyKeys, onlyTrueAt, textAt } from './fields.js';
import { givenOf, type Given } from './given.js';
import type { Step } from './step.js';
import { stepsOf } from './steps.js';

export interface Running {
  readonly manual: false;
  readonly id: string;
  readonly title: string;
  readonly given: Given;
  readonly steps: readonly Step[];
  readonly expect: Expect;
}

/** Written by hand as tests of their own. */
export interface Manual {
  readonly manual: true;
  readonly id: string;
  readonly title: string;
}

export type Scenario = Running | Manual;

const TEXTS = ['rule', 'note', 'contested', 'rejectedReading', 'expectedReading', 'rxjs'];
const KEYS = ['id', 'title', 'manual', 'ruleKeys', 'given', 'steps', 'expect', ...TEXTS];

/** @throws NotUnderstood, naming the key. */
export function scenarioOf(value: unknown): Scenario {
  const fields = mapAt(value, 'scenario');
  onlyKeys(fields, KEYS, 'scenario');
  const id = textAt(fields.id, 'id');
  const title = textAt(fields.title ?? id, 'title');
  for (const key of TEXTS) if (fields[key] !== undefined) textAt(fields[key], key);
  for (const key of listAt(fields.ruleKeys ?? [], 'ruleKeys')) textAt(key, 'ruleKeys');
  if (fields.manual !== undefined) {
    onlyTrueAt(fields.manual, 'manual');
    return { manual: true, id, title };
  }
  const given = givenOf(fields.given ?? {});
  const steps = stepsOf(fields.steps, given);
  if (steps.length === 0) throw new NotUnderstood('steps: nothing happens');
  return { manual: false, id, title, given, steps, expect: expectOf(fields.expect, given, steps) };
}
