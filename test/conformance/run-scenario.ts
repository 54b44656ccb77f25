/** Runs one scenario in virtual time and says whether it came to what it must. */
import { ask } from './ask.js';
import type { Asked, Check } from './checks.js';
import { differencesIn, type Difference } from './differences.js';
import { NotUnderstood, show } from './fields.js';
import type { Entry } from './scenario-file.js';
import { holdsAll, same } from './same.js';
import { scenarioOf, type Running, type Scenario } from './scenario.js';
import { World } from './world.js';

export interface Verdict {
  readonly id: string;
  readonly verdict: 'passed' | 'failed' | 'skipped';
  /** What went wrong, one line each. */
  readonly complaints: readonly string[];
}

/** The verdict on an entry of a file; whatever is not understood fails. */
export function judge(entry: Entry): Verdict {
  if ('unreadable' in entry) return failed('(unreadable)', [entry.unreadable]);
  let scenario: Scenario;
  try {
    scenario = scenarioOf(entry.value);
  } catch (error) {
    if (error instanceof NotUnderstood) return failed(idOf(entry.value), [error.message]);
    throw error;
  }
  if (scenario.manual) return { id: scenario.id, verdict: 'skipped', complaints: [] };
  const complaints = complaintsOf(scenario);
  return complaints.length > 0 ? failed(scenario.id, complaints) : { id: scenario.id, verdict: 'passed', complaints };
}

function failed(id: string, complaints: readonly string[]): Verdict {
  return { id, verdict: 'failed', complaints };
}

function idOf(value: unknown): string {
  return typeof value === 'object' && value !== null && 'id' in value ? String(value.id) : '(no id)';
}

/** Runs it: the first difference of each part, nothing when all is as it must be. */
function complaintsOf(scenario: Running): readonly string[] {
  const { result, defects } = withDefectsHeard(() => complaintsOfRun(scenario));
  const { failed: expected } = scenario.expect;
  if (expected === null) return result;
  // A defect closes admission and is logged once; the jobs it fails are always named.
  const wanted = [...expected.values()].some(({ detail }) => detail?.startsWith('defect: ') === true) ? 1 : 0;
  return defects === wanted ? result : [...result, `log of defects: expected ${wanted}, got ${defects}`];
}

/** Counts what is logged of defects while `work` runs; everything else that is logged goes where it always goes. */
function withDefectsHeard<T>(work: () => T): { result: T; defects: number } {
  const { error } = console;
  let defects = 0;
  console.error = (...logged: unknown[]): void => {
    if (String(logged[0]).includes('closed by a defect')) defects += 1;
    else error(...logged);
  };
  try {
    return { result: work(), defects };
  } finally {
    console.error = error;
  }
}

function complaintsOfRun(scenario: Running): readonly string[] {
  let doing = 'before the first step';
  try {
    const world = new World(scenario);
    const found: Difference[] = [];
    const checks = [...scenario.expect.checks];
    const checkUpTo = (step: number): void => {
      for (let check = checks[0]; check && (check.when?.after ?? Infinity) <= step; check = checks[0]) {
        checks.shift();
        doing = check.where;
        if (check.when) world.clock.advanceTo(check.when.t);
        found.push(...missesOf(check, world));
      }
    };
    checkUpTo(0);
    for (const [index, step] of scenario.steps.entries()) {
      doing = `step ${index + 1}`;
      world.run(step, index + 1);
      checkUpTo(index + 1);
    }
    checkUpTo(Infinity);
    doing = 'the end';
    found.push(...differencesIn(scenario, world));
    return found.map(({ where, expected, got }) => `${where}: expected ${expected}, got ${got}`);
  } catch (error) {
    return [`${doing}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`];
  }
}

function missesOf({ where, when, asks }: Check, world: World): readonly Difference[] {
  const at = when ? `, asked at ${when.t} after step ${when.after}` : '';
  return asks.flatMap((asked) => {
    const got = answerTo(asked, world);
    return got === null ? [] : [{ where: `${where}${at}: ${asked.key}`, expected: show(asked.expected), got }];
  });
}

/** What was answered instead of what is expected; null where it is that. */
function answerTo({ question, expected }: Asked, world: World): string | null {
  if (question.kind === 'answer') return toCall(question.step, expected, world);
  let got: unknown;
  try {
    got = ask(question, world);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const isStatus = question.kind === 'property' && question.path.at(-1) === 'status';
  const holds = isStatus && typeof expected === 'object' && expected !== null ? holdsAll(expected, got) : same(expected, got);
  return holds ? null : show(got);
}

/** `"Refused: …"` is an answer too: that kind was thrown. */
function toCall(step: number, expected: unknown, world: World): string | null {
  const answer = world.answers.get(step);
  if (!answer) return 'no answer';
  if ('threw' in answer) {
    const holds = typeof expected === 'string' && expected.startsWith(`${answer.threw}: `);
    return holds ? null : `${answer.threw}: ${answer.message}`;
  }
  return same(expected, answer.value) ? null : show(answer.value);
}
