/** Events as lines: `<ms> <TYPE> <account> <job> waiters=<n> amount=<n> [wait=<ms>] [reason=<word>]`. */
import type { AdmissionEvent } from 'rx-admission';
import { NotUnderstood, show, textAt } from './fields.js';
import { close } from './same.js';

export interface EventLine {
  readonly at: number;
  readonly type: string;
  readonly account: string;
  readonly job: string;
  readonly waiters: number;
  readonly amount: number;
  readonly wait: number | null;
  readonly reason: string | null;
}

const TYPES = ['HELD', 'GRANTED_IMMEDIATE', 'GRANTED_FROM_HOLD', 'REJECTED', 'RELEASED'];
const NUMBER = String.raw`(-?\d+(?:\.\d+)?)`;
const LINE = new RegExp(
  `^${NUMBER} (\\w+) (\\S+) (\\S+) waiters=${NUMBER} amount=${NUMBER}(?: wait=${NUMBER})?(?: reason=(\\w+))?$`,
);

export function eventLineAt(value: unknown, where: string): EventLine {
  const text = textAt(value, where);
  const [, at, type, account, job, waiters, amount, wait, reason] = LINE.exec(text) ?? [];
  if (type === undefined || account === undefined || job === undefined) {
    throw new NotUnderstood(`${where}: cannot read the event ${show(text)}`);
  }
  if (!TYPES.includes(type)) throw new NotUnderstood(`${where}: unknown type of event ${show(type)}`);
  return {
    at: Number(at),
    type,
    account,
    job,
    waiters: Number(waiters),
    amount: Number(amount),
    wait: wait === undefined ? null : Number(wait),
    reason: reason ?? null,
  };
}

/** The line of an event that happened. A wait stands on the two types that end one, elsewhere only where it is not 0. */
export function eventLineOf(event: AdmissionEvent): EventLine {
  const endsWait = event.type === 'GRANTED_FROM_HOLD' || event.type === 'REJECTED';
  return {
    at: event.at,
    type: event.type,
    account: event.account,
    job: String(event.job),
    waiters: event.waiters,
    amount: event.amount,
    wait: endsWait || event.wait !== 0 ? event.wait : null,
    reason: event.reason,
  };
}

export function sameEventLine(one: EventLine, other: EventLine): boolean {
  return (
    close(one.at, other.at) &&
    one.type === other.type &&
    one.account === other.account &&
    one.job === other.job &&
    close(one.waiters, other.waiters) &&
    close(one.amount, other.amount) &&
    (one.wait === null || other.wait === null ? one.wait === other.wait : close(one.wait, other.wait)) &&
    one.reason === other.reason
  );
}

export function showEventLine(line: EventLine): string {
  const wait = line.wait === null ? '' : ` wait=${line.wait}`;
  const reason = line.reason === null ? '' : ` reason=${line.reason}`;
  return `${line.at} ${line.type} ${line.account} ${line.job} waiters=${line.waiters} amount=${line.amount}${wait}${reason}`;
}
