/** The jobs of a scenario: asking, granted or failed, each once and at an instant. */
import { CancelledError, Demand, RefusedError, type Account, type Admission, type Grant } from 'rx-admission';
import { NEVER, type Subscription } from 'rxjs';
import type { Amounts } from './amounts.js';
import { ScriptedDouble } from './scripted-double.js';

export interface Ended {
  readonly at: number;
  readonly kind: string;
  /** Absent for an interrupted job: nobody is left to be told. */
  readonly error?: unknown;
}

interface Job {
  /** Only where the scenario cancels it. */
  readonly context: AbortController | null;
  subscription?: Subscription;
  grant?: Grant;
}

export class Jobs {
  readonly grantedAt = new Map<string, number>();
  readonly ended = new Map<string, Ended>();
  readonly #jobs = new Map<string, Job>();

  constructor(
    private readonly admission: Admission,
    private readonly cancelled: ReadonlySet<string>,
  ) {}

  /** In order of arrival: neither granted nor ended. */
  get parked(): readonly string[] {
    return [...this.#jobs].flatMap(([name, job]) =>
      job.subscription === undefined || this.grantedAt.has(name) || this.ended.has(name) ? [] : [name],
    );
  }

  grantOf(name: string): Grant | undefined {
    return this.#jobs.get(name)?.grant;
  }

  arrive(name: string, need: ReadonlyMap<Account, readonly number[]>): void {
    const job = this.#job(name);
    let asked = Demand.empty;
    try {
      for (const [account, amounts] of need) asked = asked.add(account, ...amounts);
    } catch (error) {
      this.#end(name, error);
      return;
    }
    job.subscription = this.admission
      .defer(
        asked,
        (grant) => {
          job.grant = grant;
          if (this.grantedAt.has(name)) throw new Error(`${name} is granted twice`);
          this.grantedAt.set(name, this.admission.now());
          return NEVER;
        },
        { job: name, signal: job.context?.signal },
      )
      .subscribe({
        error: (error: unknown) => {
          this.#end(name, error);
        },
      });
  }

  /** Interrupts a job that still waits; a grant that was delivered is its job's own. */
  unsubscribe(name: string): void {
    if (!this.#waits(name)) return;
    this.ended.set(name, { at: this.admission.now(), kind: 'Interrupted' });
    this.#job(name).subscription?.unsubscribe();
  }

  abortContext(name: string): void {
    this.#job(name).context?.abort(new Error(`the context of ${name} is cancelled`));
  }

  /** Settles a grant; of errors, only those that a double was told to throw are no surprise. */
  settle(name: string, how: 'release' | 'rollback'): void {
    const grant = this.grantOf(name);
    if (!grant) return;
    try {
      if (how === 'release') grant.release();
      else grant.rollback();
    } catch (error) {
      const scripted = [...grant.demand.entries].flatMap(({ account }) =>
        account instanceof ScriptedDouble && account.giveThrows ? [account.cannotGiveBack] : [],
      );
      if (!flat(error).every((one) => one instanceof Error && scripted.includes(one.message))) throw error;
    }
  }

  #waits(name: string): boolean {
    return !this.grantedAt.has(name) && !this.ended.has(name);
  }

  #end(name: string, error: unknown): void {
    if (this.ended.has(name)) throw new Error(`${name} ends twice`);
    this.ended.set(name, { at: this.admission.now(), kind: kindOf(error), error });
  }

  #job(name: string): Job {
    let job = this.#jobs.get(name);
    if (!job) this.#jobs.set(name, (job = { context: this.cancelled.has(name) ? new AbortController() : null }));
    return job;
  }
}

function flat(error: unknown): readonly unknown[] {
  return error instanceof AggregateError ? error.errors.flatMap(flat) : [error];
}

export function kindOf(error: unknown): string {
  if (error instanceof RefusedError) return 'Refused';
  if (error instanceof CancelledError) return 'Cancelled';
  if (error instanceof RangeError || error instanceof TypeError) return 'IllegalArgument';
  return error instanceof Error && error.constructor === Error ? 'IllegalState' : (error as object).constructor.name;
}

/** An integer is that many unit permits: one number for an account that counts permits, ones where amounts are requests. */
export function spelled(amounts: Amounts, eachIsARequest: boolean): readonly number[] {
  if ('list' in amounts) return amounts.list;
  if (amounts.units === 0) return [];
  return eachIsARequest ? Array.from({ length: amounts.units }, () => 1) : [amounts.units];
}
