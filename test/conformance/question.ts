/** Keys of a check, understood: whom to ask, and what. */
import { amountsAt, sameAmounts, type Amounts } from './amounts.js';
import type { Instant } from './checks.js';
import { NotUnderstood, show } from './fields.js';
import type { Given } from './given.js';
import type { Call, Step } from './step.js';

export type Question =
  | { readonly kind: 'queueSize' | 'nextDeadline' }
  /** The answer that the n-th step, a call, was given. */
  | { readonly kind: 'answer'; readonly step: number }
  /** Fits and takes put to an account since 0. */
  | { readonly kind: 'questions'; readonly account: string }
  | { readonly kind: 'wake slot'; readonly account: string }
  | { readonly kind: 'property'; readonly account: string; readonly path: readonly string[] }
  | { readonly kind: 'grant'; readonly job: string; readonly about: 'wallWaitMs' | 'waitTimesMs' | 'isEmpty' };

const CALL = /^(.+)\.(fits|tryTake|earliestFit|give)\((.*)\)$/;
const CALL_ARGUMENTS = /^(.*?)(?:, reserved (.*))?$/;
const QUESTIONS_PUT = /^questions put to (.+)$/;
const WAKE_SLOT = /^wake slot of (.+)$/;
/** Of memory, also where a bucket or window is the scenario's only one. */
const OF_MEMORY = ['latched', 'floor', 'penalty', 'zone', 'pacingDelayMs', 'growthPenalty', 'floorRatio', 'usageRatio', 'heldOnMemory'];

export function questionOf(key: string, where: string, given: Given, steps: readonly Step[], when: Instant): Question {
  if (key === 'queueSize' || key === 'nextDeadline') return { kind: key };
  const called = CALL.exec(key);
  if (called) return answerOf(key, called, where, steps, when);
  const [, asked] = QUESTIONS_PUT.exec(key) ?? [];
  if (asked !== undefined) return { kind: 'questions', account: accountNamed(asked, where, given) };
  const [, hooked] = WAKE_SLOT.exec(key) ?? [];
  if (hooked !== undefined) return { kind: 'wake slot', account: accountNamed(hooked, where, given) };
  return propertyOf(key, given);
}

function accountNamed(name: string, where: string, given: Given): string {
  if (name !== 'memory' && !given.accounts.has(name)) throw new NotUnderstood(`${where}: there is no account ${show(name)}`);
  return name;
}

/** A key such as `m.fits([1, 1], reserved [1])` names the call that the check's own step made. */
function answerOf(key: string, called: RegExpExecArray, where: string, steps: readonly Step[], when: Instant): Question {
  const step = steps[when.after - 1];
  if (step?.kind !== 'call' || !isThatCall(step.call, called, where)) {
    throw new NotUnderstood(`${where}: step ${when.after} does not call ${key}`);
  }
  if (step.t !== when.t) throw new NotUnderstood(`${where}: that call is made at ${step.t}, not at ${when.t}`);
  return { kind: 'answer', step: when.after };
}

function isThatCall(call: Call, [, account, method, text]: RegExpExecArray, where: string): boolean {
  const [, mine, reserved] = CALL_ARGUMENTS.exec(text ?? '') ?? [];
  return (
    call.account === account &&
    call.method === method &&
    sameAmounts(call.mine, written(mine, where)) &&
    (call.reserved === null ? reserved === undefined : sameAmounts(call.reserved, written(reserved, where)))
  );
}

function written(text: string | undefined, where: string): Amounts {
  let value: unknown;
  try {
    value = JSON.parse(text ?? '');
  } catch {
    throw new NotUnderstood(`${where}: cannot read the amounts ${show(text)}`);
  }
  return amountsAt(value, where);
}

function propertyOf(key: string, given: Given): Question {
  const named = ['memory', ...given.accounts.keys()]
    .filter((name) => key.startsWith(`${name}.`))
    .sort((one, other) => other.length - one.length)[0];
  if (named !== undefined) return { kind: 'property', account: named, path: key.slice(named.length + 1).split('.') };
  const path = key.split('.');
  const clocked = [...given.accounts].filter(([, spec]) => spec.kind === 'bucket' || spec.kind === 'window');
  const only = clocked.length === 1 && !OF_MEMORY.includes(path[0] ?? '') ? clocked[0] : undefined;
  return { kind: 'property', account: only?.[0] ?? 'memory', path };
}
