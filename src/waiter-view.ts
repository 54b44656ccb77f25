/** One who waits, as a status shows it: who, short of what, who holds that, and until when. */
import type { AccountStatus } from './accounts/statuses.js';

export interface WaiterView extends AccountStatus {
  /** From 1, the head; 0 for one that stands in no line. */
  readonly place: number;
  readonly job: unknown;
  /** ms since it asked. */
  readonly waited: number;
  /** Names of the accounts that its latest answer was short of. */
  readonly shortOf: readonly string[];
  /** The jobs that hold what it is short of and give it back when they end; nobody holds what the clock brings. */
  readonly heldBy: readonly unknown[];
  /** Only what the head has reserved keeps it: without the reservation it would fit now. */
  readonly behindHead: boolean;
  /** The earliest instant it could go by the clock alone; null when only an event helps. */
  readonly earliest: number | null;
  /**
   * One line: who waits for what, behind whom, and until when or who holds it. A job is called by its `name` or `id` where
   * it is an object.
   *
   * ```text
   * order lookup waits for db:orders until one is given back, held by nightly report
   * ```
   */
  summary(): string;
}

/** All but the line, which is made of the rest when somebody reads it. */
type WaiterFields = Omit<WaiterView, 'summary'>;

export class WaiterStatus implements WaiterView {
  declare readonly place: number;
  declare readonly job: unknown;
  declare readonly waited: number;
  declare readonly shortOf: readonly string[];
  declare readonly heldBy: readonly unknown[];
  declare readonly behindHead: boolean;
  declare readonly earliest: number | null;
  readonly #at: number;

  constructor(fields: WaiterFields, at: number) {
    Object.assign(this, fields);
    this.#at = at;
  }

  summary(): string {
    const { job, shortOf, behindHead } = this;
    const who = nameOf(job) ?? 'a job';
    // Time has brought it already, and the timer that lets it go is late.
    if (shortOf.length === 0) return `${who} waits for its turn`;
    return `${who} waits for ${shortOf.join(' and ')}${behindHead ? ' behind the head' : ''}${this.#until()}`;
  }

  #until(): string {
    const { earliest, heldBy } = this;
    if (earliest !== null) return `, ${duration(Math.max(0, earliest - this.#at))} more at least`;
    return heldBy.length === 0 ? ' until something changes' : ` until one is given back, held by ${listed(heldBy)}`;
  }
}

/** More names than these say less than their number. */
const MOST_NAMES = 2;

function listed(jobs: readonly unknown[]): string {
  const names = jobs.map(nameOf);
  if (names.length > MOST_NAMES || names.includes(null)) return `${String(jobs.length)} job${jobs.length === 1 ? '' : 's'}`;
  return names.join(' and ');
}

/** A label may be the whole item: as much of it as a line has room for. */
const LONGEST_NAME = 40;

/** What a job is called: its label, or its `name` or `id`; null where it has none. */
export function nameOf(job: unknown): string | null {
  if (typeof job === 'object' && job !== null) {
    const { name, id } = job as { readonly name?: unknown; readonly id?: unknown };
    return [name, id].filter(isPlain).map(nameOf)[0] ?? null;
  }
  if (!isPlain(job)) return null;
  const text = String(job).replace(/\s+/g, ' ');
  return text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME - 1).trimEnd()}…` : text;
}

const isPlain = (value: unknown): value is string | number | bigint | symbol =>
  ['string', 'number', 'bigint', 'symbol'].includes(typeof value);

/** Rounded up: nobody goes before. */
const duration = (ms: number): string =>
  ms < 1_000 ? `${String(Math.ceil(ms))}ms` : `${String(Math.ceil(ms / 100) / 10)}s`;
