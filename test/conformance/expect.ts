/** What a scenario must come to. */
import { checksOf, type Check } from './checks.js';
import { eventLineAt, type EventLine } from './event-line.js';
import { NotUnderstood, countAt, listAt, mapAt, numberAt, onlyKeys, textAt, type Fields } from './fields.js';
import type { Given } from './given.js';
import { namesOf } from './names.js';
import type { Step } from './step.js';

export interface Failure {
  readonly at: number;
  readonly kind: string;
  readonly reason: string | null;
  readonly detail: string | null;
}

export type Parked =
  | { readonly names: readonly string[] }
  | { readonly count: number; readonly first: string; readonly last: string };

/** `null` where a scenario does not speak of it. */
export interface Expect {
  readonly grantedAt: ReadonlyMap<string, number> | null;
  readonly failed: ReadonlyMap<string, Failure> | null;
  readonly stillParked: Parked | null;
  readonly events: readonly EventLine[] | null;
  readonly eventsOn: ReadonlyMap<string, readonly EventLine[]>;
  readonly checks: readonly Check[];
}

const PER_ACCOUNT = 'eventsOn_';

export function expectOf(value: unknown, given: Given, steps: readonly Step[]): Expect {
  const fields = mapAt(value, 'expect');
  const perAccount = Object.keys(fields).filter((key) => key.startsWith(PER_ACCOUNT));
  onlyKeys(fields, ['grantedAt', 'failed', 'stillParked', 'events', 'checks', 'facts', ...perAccount], 'expect');
  for (const fact of listAt(fields.facts ?? [], 'expect.facts')) textAt(fact, 'expect.facts');
  const spoken = Object.keys(fields).filter((key) => key !== 'facts');
  if (spoken.length === 0) throw new NotUnderstood('expect: says nothing that can be asserted');
  const jobs = spoken.some((key) => key === 'grantedAt' || key === 'failed' || key === 'stillParked');
  return {
    grantedAt: fields.grantedAt === undefined ? null : grantedAtOf(fields.grantedAt),
    // Complete: where the jobs are spoken of and no failure is named, none failed.
    failed: jobs ? failedOf(fields.failed ?? {}) : null,
    stillParked: fields.stillParked === undefined ? null : parkedOf(fields.stillParked),
    events: fields.events === undefined ? null : eventsOf(fields.events, 'expect.events'),
    eventsOn: new Map(perAccount.map((key) => [accountOf(key, given), eventsOf(fields[key], `expect.${key}`)])),
    checks: checksOf(fields.checks ?? [], given, steps),
  };
}

function accountOf(key: string, given: Given): string {
  const name = key.slice(PER_ACCOUNT.length);
  if (name !== 'memory' && !given.accounts.has(name)) throw new NotUnderstood(`expect.${key}: there is no such account`);
  return name;
}

function eventsOf(value: unknown, where: string): readonly EventLine[] {
  return listAt(value, where).map((line, index) => eventLineAt(line, `${where}[${index}]`));
}

/** One entry a job, ranges unfolded. */
function perJob<T>(fields: Fields, where: string, read: (value: unknown, where: string) => T): ReadonlyMap<string, T> {
  const jobs = new Map<string, T>();
  for (const [text, value] of Object.entries(fields)) {
    const read1 = read(value, `${where}.${text}`);
    for (const job of namesOf(text, where)) {
      if (jobs.has(job)) throw new NotUnderstood(`${where}: ${job} stands there twice`);
      jobs.set(job, read1);
    }
  }
  return jobs;
}

function grantedAtOf(value: unknown): ReadonlyMap<string, number> {
  return perJob(mapAt(value, 'expect.grantedAt'), 'expect.grantedAt', numberAt);
}

function failedOf(value: unknown): ReadonlyMap<string, Failure> {
  return perJob(mapAt(value, 'expect.failed'), 'expect.failed', (entry, where) => {
    const fields = mapAt(entry, where);
    onlyKeys(fields, ['at', 'kind', 'reason', 'detail'], where);
    const { at, kind, reason, detail } = fields;
    return {
      at: numberAt(at, `${where}.at`),
      kind: textAt(kind, `${where}.kind`),
      reason: reason === undefined ? null : textAt(reason, `${where}.reason`),
      detail: detail === undefined ? null : textAt(detail, `${where}.detail`),
    };
  });
}

function parkedOf(value: unknown): Parked {
  const where = 'expect.stillParked';
  if (Array.isArray(value)) {
    return { names: listAt(value, where).flatMap((name) => namesOf(textAt(name, where), where)) };
  }
  const fields = mapAt(value, where);
  onlyKeys(fields, ['count', 'first', 'last'], where);
  return {
    count: countAt(fields.count, `${where}.count`),
    first: textAt(fields.first, `${where}.first`),
    last: textAt(fields.last, `${where}.last`),
  };
}
