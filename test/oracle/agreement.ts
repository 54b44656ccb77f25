/** Where the model and the expectations of a scenario file part: how the model is held to the files. */
import { outcomeOf, type Outcome } from './model.js';
import { close, same } from '../conformance/same.js';
import { eventLineAt, sameEventLine, showEventLine, type EventLine } from '../conformance/event-line.js';
import { show } from '../conformance/fields.js';
import type { Running } from '../conformance/scenario.js';

/** One line a difference, none where they agree. */
export function disagreements(scenario: Running): readonly string[] {
  const { given, steps, expect } = scenario;
  const outcome = outcomeOf(given, steps, expect.checks);
  const found: string[] = [];
  for (const check of expect.checks) {
    for (const { key, expected, question } of check.asks) {
      if (question.kind === 'questions') continue;
      const got = outcome.answers.get(check.where)?.[key];
      const refused = typeof expected === 'string' && typeof got === 'string' && /^\w+: /.test(expected);
      const holds = refused ? expected.split(': ')[0] === got.split(': ')[0] : same(expected, got);
      if (!holds) found.push(`${check.where} ${key}: file ${show(expected)}, model ${show(got)}`);
    }
  }
  return [
    ...found,
    ...grants(scenario, outcome),
    ...failures(scenario, outcome),
    ...parked(scenario, outcome),
    ...events(scenario, outcome),
  ];
}

function grants({ expect: { grantedAt } }: Running, outcome: Outcome): readonly string[] {
  if (!grantedAt) return [];
  const jobs = new Set([...grantedAt.keys(), ...Object.keys(outcome.grantedAt)]);
  return [...jobs].flatMap((job) => {
    const [wanted, got] = [grantedAt.get(job), outcome.grantedAt[job]];
    return wanted !== undefined && got !== undefined && close(wanted, got)
      ? []
      : [`grantedAt ${job}: file ${show(wanted)}, model ${show(got)}`];
  });
}

function failures({ expect: { failed } }: Running, outcome: Outcome): readonly string[] {
  if (!failed) return [];
  const jobs = new Set([...failed.keys(), ...Object.keys(outcome.failed)]);
  return [...jobs].flatMap((job) => {
    const wanted = failed.get(job);
    const said = wanted && Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== null));
    const got = outcome.failed[job];
    return said && got && same(said, got) ? [] : [`failed ${job}: file ${show(said)}, model ${show(got)}`];
  });
}

function parked({ expect: { stillParked } }: Running, { stillParked: got }: Outcome): readonly string[] {
  if (!stillParked) return [];
  const seen = 'names' in stillParked ? { names: got } : { count: got.length, first: got[0], last: got.at(-1) };
  return show(stillParked) === show(seen) ? [] : [`stillParked: file ${show(stillParked)}, model ${show(seen)}`];
}

function events({ expect: { events: all, eventsOn } }: Running, outcome: Outcome): readonly string[] {
  const got = outcome.events.map((line, index) => eventLineAt(line, `event ${index}`));
  return [
    ...(all ? firstApart('events', all, got) : []),
    ...[...eventsOn].flatMap(([account, lines]) =>
      firstApart(
        `eventsOn_${account}`,
        lines,
        got.filter((line) => line.account === account),
      ),
    ),
  ];
}

function firstApart(where: string, wanted: readonly EventLine[], got: readonly EventLine[]): readonly string[] {
  const told = (line: EventLine | undefined): string => (line ? showEventLine(line) : 'none');
  for (let index = 0; index < Math.max(wanted.length, got.length); index += 1) {
    const [one, other] = [wanted[index], got[index]];
    if (!one || !other || !sameEventLine(one, other))
      return [`${where}[${index}]: file ${told(one)}, model ${told(other)}`];
  }
  return [];
}
