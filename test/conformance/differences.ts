/** What a scenario came to, beside what it must come to: the first difference of each part. */
import { RefusedError, AdmissionError, StoppedError } from 'rx-admission';
import { show } from './fields.js';
import { eventLineOf, sameEventLine, showEventLine, type EventLine } from './event-line.js';
import type { Failure, Parked } from './expect.js';
import type { Ended } from './jobs.js';
import { close } from './same.js';
import type { Running } from './scenario.js';
import { ScriptedDouble } from './scripted-double.js';
import type { World } from './world.js';

/** `where`, and what stands there instead. */
export interface Difference {
  readonly where: string;
  readonly expected: string;
  readonly got: string;
}

export function differencesIn(scenario: Running, world: World): readonly Difference[] {
  const { grantedAt, failed, stillParked, events, eventsOn } = scenario.expect;
  const happened = world.events.map(eventLineOf);
  const found = [
    grantedAt && grants(grantedAt, world.jobs.grantedAt),
    failed && failures(failed, world),
    stillParked && parked(stillParked, world),
    events && lines('events', events, happened),
    ...[...eventsOn].map(([account, expected]) =>
      lines(`eventsOn_${account}`, expected, happened.filter((line) => line.account === account)),
    ),
  ];
  return found.filter((difference) => difference !== null);
}

function grants(expected: ReadonlyMap<string, number>, got: ReadonlyMap<string, number>): Difference | null {
  for (const job of new Set([...expected.keys(), ...got.keys()])) {
    const wanted = expected.get(job);
    const at = got.get(job);
    if (wanted === undefined || at === undefined || !close(wanted, at)) {
      return { where: `grantedAt ${job}`, expected: show(wanted), got: show(at) };
    }
  }
  return null;
}

function lines(where: string, expected: readonly EventLine[], got: readonly EventLine[]): Difference | null {
  for (let index = 0; index < Math.max(expected.length, got.length); index += 1) {
    const wanted = expected[index];
    const line = got[index];
    if (!wanted || !line || !sameEventLine(wanted, line)) {
      return {
        where: `${where}[${index}]`,
        expected: wanted ? showEventLine(wanted) : 'no further event',
        got: line ? showEventLine(line) : 'no further event',
      };
    }
  }
  return null;
}

function parked(expected: Parked, world: World): Difference | null {
  const got = world.jobs.parked;
  const inLine = world.admission.status().waiters.map(({ job }) => String(job));
  if (show(inLine) !== show(got)) return { where: 'the line', expected: show(got), got: show(inLine) };
  const wanted = 'names' in expected ? expected.names : expected;
  const seen = 'names' in expected ? got : { count: got.length, first: got[0], last: got.at(-1) };
  return show(wanted) === show(seen) ? null : { where: 'stillParked', expected: show(wanted), got: show(seen) };
}

function failures(expected: ReadonlyMap<string, Failure>, world: World): Difference | null {
  const defects = new Set<unknown>();
  const reasons = reasonsIn(world);
  for (const job of new Set([...expected.keys(), ...world.jobs.ended.keys()])) {
    const wanted = expected.get(job);
    const ended = world.jobs.ended.get(job);
    if (!wanted || !ended) return { where: `failed ${job}`, expected: show(wanted), got: ended ? describe(ended) : 'no failure' };
    const off = misses(wanted, ended, reasons.get(job) ?? [], world);
    if (off !== null) return { where: `failed ${job}`, expected: `${off} of ${show(wanted)}`, got: describe(ended) };
    if (wanted.detail?.startsWith('defect: ')) defects.add((ended.error as Error).cause);
  }
  // All that a defect closes carry the very same object.
  return defects.size > 1 ? { where: 'failed', expected: 'one defect', got: `${defects.size} defects` } : null;
}

/** By job: the reasons of its REJECTED events. */
function reasonsIn(world: World): ReadonlyMap<string, readonly unknown[]> {
  const reasons = new Map<string, unknown[]>();
  for (const { type, job, reason } of world.events) {
    if (type !== 'REJECTED') continue;
    const before = reasons.get(String(job));
    if (before) before.push(reason);
    else reasons.set(String(job), [reason]);
  }
  return reasons;
}

/** The part of the expectation that the end of a job does not meet. */
function misses(wanted: Failure, { at, kind, error }: Ended, reasons: readonly unknown[], world: World): string | null {
  if (!close(wanted.at, at)) return 'at';
  if (wanted.kind !== kind) return 'kind';
  if (wanted.reason === null) {
    // Refused without having waited for anything: nothing is told of it.
    if (reasons.length > 0) return `no reason, but REJECTED ${show(reasons)},`;
  } else {
    if (!reasons.every((reason) => reason === wanted.reason)) return `reason, in REJECTED ${show(reasons)},`;
    if (error instanceof AdmissionError ? error.reason !== wanted.reason : reasons.length === 0) return 'reason';
  }
  const isBug = wanted.reason === 'aborted' || /^(cause|defect): /.test(wanted.detail ?? '');
  if (error instanceof RefusedError && error.readable === isBug) return `readable ${String(!isBug)}`;
  return wanted.detail === null || detailHolds(wanted.detail, error, world) ? null : 'detail';
}

function detailHolds(detail: string, error: unknown, world: World): boolean {
  if (!(error instanceof Error)) return false;
  if (detail === 'shutdown') return error instanceof StoppedError && error.reason === 'shutdown';
  const [, source, message] = /^(cause|defect): (.*)$/.exec(detail) ?? [];
  if (source !== undefined) return error.cause instanceof Error && error.cause.message === message;
  const [, account, words] = /^(\S+?): (.*)$/.exec(detail) ?? [];
  // A scripted double spoke: its message reaches the caller unchanged.
  if (account === undefined || words === undefined || isDouble(account, world)) return error.message === detail;
  return namesAccountAndNumbers(error.message, account, words);
}

function isDouble(name: string, world: World): boolean {
  return world.has(name) && world.watched(name).account instanceof ScriptedDouble;
}

/** A shipped account's words are its own, but they name the account and every number. */
function namesAccountAndNumbers(message: string, account: string, words: string): boolean {
  const name = account.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  if (!new RegExp(`(?<![\\w:-])${name}(?![\\w-])`).test(message)) return false;
  const told = message.match(/\d+(?:\.\d+)?/g) ?? [];
  return (words.match(/\d+(?:\.\d+)?/g) ?? []).every((number) => {
    const index = told.findIndex((one) => Number(one) === Number(number));
    if (index >= 0) told.splice(index, 1);
    return index >= 0;
  });
}

function describe({ at, kind, error }: Ended): string {
  if (!(error instanceof Error)) return `${kind} at ${at}`;
  const reason = error instanceof AdmissionError ? `, reason ${error.reason}` : '';
  const cause = error.cause instanceof Error ? `, cause ${show(error.cause.message)}` : '';
  return `${kind} at ${at}${reason}: ${show(error.message)}${cause}`;
}
