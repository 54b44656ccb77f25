/** Makes a trace that fails smaller while it still fails. */
import type { Trace } from './trace.js';
import type { Step } from '../conformance/steps.js';

export function shrunk(trace: Trace, fails: (trace: Trace) => boolean): Trace {
  let smallest = trace;
  for (let progress = true; progress;) {
    progress = false;
    for (const smaller of candidates(smallest)) {
      if (!fails(smaller)) continue;
      smallest = smaller;
      progress = true;
      break;
    }
  }
  return smallest;
}

/** The greatest cuts first. */
function* candidates(trace: Trace): Generator<Trace> {
  const { steps, askings } = trace;
  for (let length = steps.length >> 1; length >= 1; length >>= 1) {
    for (let from = steps.length - length; from >= 0; from -= length) yield withoutSteps(trace, from, from + length);
  }
  if (askings.length > 0) yield { ...trace, askings: [] };
  for (let length = askings.length >> 1; length >= 1; length >>= 1) {
    for (let from = 0; from < askings.length; from += length) {
      yield { ...trace, askings: askings.filter((_, index) => index < from || index >= from + length) };
    }
  }
  for (const [index, asking] of askings.entries()) {
    for (const key of asking.keys.length > 1 ? asking.keys : []) {
      const keys = asking.keys.filter((one) => one !== key);
      yield { ...trace, askings: askings.map((one, at) => (at === index ? { ...one, keys } : one)) };
    }
  }
  for (const [index, step] of steps.entries())
    for (const smaller of smallerSteps(step)) yield withStep(trace, index, smaller);
  for (const move of trace.moves) yield { ...trace, moves: trace.moves.filter((one) => one !== move) };
  for (const name of trace.given.accounts.keys()) {
    const accounts = new Map([...trace.given.accounts].filter(([one]) => one !== name));
    if (!mentions(trace, name)) yield { ...trace, given: { ...trace.given, accounts } };
  }
}

function* smallerSteps(step: Step): Generator<Step> {
  if (step.kind === 'arrive') {
    if (step.jobs.length > 1) yield { ...step, jobs: step.jobs.slice(0, -1) };
    for (const name of step.need.keys())
      yield { ...step, need: new Map([...step.need].filter(([one]) => one !== name)) };
  }
  if ('times' in step && step.times > 1) {
    yield { ...step, times: 1 };
    yield { ...step, times: step.times - 1 };
  }
}

function withStep(trace: Trace, index: number, step: Step): Trace {
  const steps = trace.steps.map((one, at) => (at === index ? step : one));
  const arrived = new Set(steps.flatMap((one) => (one.kind === 'arrive' ? one.jobs : [])));
  const orphans = steps.flatMap((one, at) => ('job' in one && !arrived.has(one.job) ? [at] : []));
  return orphans.reverse().reduce<Trace>((left, at) => withoutSteps(left, at, at + 1), { ...trace, steps });
}

function withoutSteps(trace: Trace, from: number, to: number): Trace {
  const gone = new Set(trace.steps.flatMap((_, index) => (index >= from && index < to ? [index] : [])));
  const left = trace.steps.filter((_, index) => !gone.has(index));
  const arrived = new Set(left.flatMap((step) => (step.kind === 'arrive' ? step.jobs : [])));
  for (const [index, step] of trace.steps.entries()) if ('job' in step && !arrived.has(step.job)) gone.add(index);
  const number = (after: number): number => after - [...gone].filter((index) => index < after).length;
  return {
    ...trace,
    steps: trace.steps.filter((_, index) => !gone.has(index)),
    askings: trace.askings
      .filter(({ after }) => !gone.has(after - 1))
      .map((asking) => ({ ...asking, after: number(asking.after) })),
    moves: trace.moves
      .filter(({ after }) => !gone.has(after - 1))
      .map((move) => ({ ...move, after: number(move.after) })),
  };
}

function mentions({ steps, askings, moves }: Trace, name: string): boolean {
  return (
    moves.some(({ gate }) => gate === name) ||
    steps.some(
      (step) =>
        ('account' in step && step.account === name) ||
        (step.kind === 'arrive' && step.need.has(name)) ||
        (step.kind === 'call' && step.call.account === name),
    ) ||
    askings.some(({ keys }) => keys.some((key) => key.includes(name)))
  );
}
