/** Completes a trace with what the model expects of it: an entry of a scenario file that the runner can judge. */
import { outcomeOf, type Outcome } from './model.js';
import { rawAskings, rawGiven, rawStep, type Raw, type Trace } from './trace.js';
import { checksOf } from '../conformance/checks.js';

export interface Expected {
  readonly raw: Raw;
  readonly outcome: Outcome;
}

export function expected({ id, given, steps, askings, moves }: Trace): Expected {
  const asked = rawAskings(askings);
  const outcome = outcomeOf(given, steps, checksOf(asked, given, steps), moves);
  const { grantedAt, failed, events, world } = outcome;
  const checks = asked.flatMap((fields, index) => {
    const answers = { ...outcome.answers.get(`expect.checks[${index}]`) };
    // When an account must be listened to is left to the line; when it must not be, the rules say.
    const known = Object.entries(answers).filter(([, answer]) => answer !== 'hooked');
    return known.length === 0 ? [] : [{ t: fields.t, after: fields.after, ...Object.fromEntries(known) }];
  });
  const grants = [...world.line.grants.values()].map(({ job, wallWait, waitTimes, entries }) => {
    const isEmpty = entries.length === 0 ? { isEmpty: true } : {};
    return { job, wallWaitMs: wallWait, waitTimesMs: Object.fromEntries(waitTimes), ...isEmpty };
  });
  const expect = { grantedAt, stillParked: parkedOf(outcome), failed, events, checks: [...checks, ...grants] };
  return {
    outcome,
    raw: {
      id,
      rule: 'monitor: property over random demands: no account goes past its limits, nobody is left waiting',
      ruleKeys: ['M15'],
      title: `random trace ${id}`,
      given: rawGiven(given),
      steps: steps.map(rawStep),
      expect,
    },
  };
}

function parkedOf({ stillParked }: Outcome): unknown {
  if (stillParked.length <= 6) return stillParked;
  return { count: stillParked.length, first: stillParked[0], last: stillParked.at(-1) };
}
