/** The registry: one account per class, one bucket and one gate per model, however often they are asked for. */
import type { SchedulerLike } from 'rxjs';
import { RefusedError } from '../errors.js';
import type { AnyAccount, Log } from './account.js';
import { ModelGate } from './counting-gate.js';
import type { TokenBucketStatus } from './statuses.js';
import { TokenBucket } from './token-bucket.js';
import { positive } from './validation.js';

/** What a provider publishes of a model. Two specs are equal by `id`; variants of one wire model have ids of their own. */
export interface ModelSpec {
  readonly id: string;
  readonly tokensPerMinute?: number | undefined;
  /** Absent, zero or negative: not published; the budget is then a thousandth of the tokens, and at least one. */
  readonly requestsPerMinute?: number | undefined;
  readonly maxConcurrent?: number | undefined;
}

/** Ceilings that a provider reported. */
export interface ReportedLimits {
  readonly tokensPerMinute: number;
  readonly requestsPerMinute: number;
}

export interface AccountsOptions {
  readonly scheduler?: SchedulerLike | undefined;
  /** Share of every bucket's limits left unused. */
  readonly headroom?: number | undefined;
  readonly log?: Log | undefined;
}

/** A class that the registry can build: its constructor needs no argument. */
export type AccountClass<T> = new () => T;

const TOKENS_PER_REQUEST = 1_000;

/**
 * One instance of every account that is shared by name.
 *
 * @example
 * ```ts
 * const accounts = new Accounts();
 * const spec = { id: 'gpt-5', tokensPerMinute: 200_000, maxConcurrent: 8 };
 * prompts$.pipe(admit((p) => demand([accounts.bucket(spec), p.tokens], accounts.gate(spec)), chat));
 * ```
 */
export class Accounts {
  readonly #options: AccountsOptions;
  readonly #classes = new Map<AccountClass<AnyAccount>, AnyAccount>();
  readonly #buckets = new Map<string, TokenBucket>();
  readonly #gates = new Map<string, ModelGate>();

  constructor(options: AccountsOptions = {}) {
    this.#options = options;
  }

  /**
   * The one instance of a class.
   *
   * @throws RefusedError naming the class and the reason when it cannot be built: a fault of the deployment, not a
   * model's to correct. Nothing is kept of the attempt.
   */
  of<T extends AnyAccount>(Class: AccountClass<T>): T {
    const known = this.#classes.get(Class);
    if (known !== undefined) return known as T;
    if (Class.length > 0) {
      const cause = new TypeError(`${Class.name} declares ${String(Class.length)} constructor parameter(s)`);
      throw unbuildable(Class.name, 'it has no constructor without arguments', cause);
    }
    let built: T;
    try {
      built = new Class();
    } catch (error) {
      throw unbuildable(Class.name, error instanceof Error ? error.message : String(error), error);
    }
    this.#classes.set(Class, built);
    return built;
  }

  /** @throws RangeError when the model publishes no tokens per minute. */
  bucket(spec: ModelSpec): TokenBucket {
    return this.#buckets.get(spec.id) ?? this.#seed(spec.id, spec.tokensPerMinute, spec.requestsPerMinute);
  }

  /** @throws RangeError when the model declares no `maxConcurrent`: its account is then the bucket. */
  gate(spec: ModelSpec): ModelGate {
    const known = this.#gates.get(spec.id);
    if (known) return known;
    if (spec.maxConcurrent === undefined) {
      throw new RangeError(`${spec.id} declares no maxConcurrent, so it has no gate: its account is its bucket`);
    }
    const { scheduler } = this.#options;
    const gate = new ModelGate({ name: spec.id, capacity: spec.maxConcurrent, scheduler });
    this.#gates.set(spec.id, gate);
    return gate;
  }

  /** Applies reported ceilings in place, or seeds the bucket with them; a pair with a number not above zero is ignored. */
  updateLimits(spec: ModelSpec, reported: ReportedLimits): void {
    const { tokensPerMinute, requestsPerMinute } = reported;
    if (!(tokensPerMinute > 0 && requestsPerMinute > 0)) return;
    const bucket = this.#buckets.get(spec.id);
    if (bucket) bucket.setConfig({ tokensPerMinute, requestsPerMinute });
    else this.#seed(spec.id, tokensPerMinute, requestsPerMinute);
  }

  status(spec: ModelSpec): TokenBucketStatus {
    return this.bucket(spec).status();
  }

  /** Forgets every account, for tests. Those still in use go on by themselves. */
  clear(): void {
    this.#classes.clear();
    this.#buckets.clear();
    this.#gates.clear();
  }

  #seed(id: string, tokens: number | undefined, requests: number | undefined): TokenBucket {
    const tokensPerMinute = positive(`${id}: tokensPerMinute`, tokens ?? 0);
    const published = requests !== undefined && requests > 0;
    const requestsPerMinute = published ? requests : Math.max(1, Math.floor(tokensPerMinute / TOKENS_PER_REQUEST));
    const bucket = new TokenBucket({ name: id, tokensPerMinute, requestsPerMinute, ...this.#options });
    this.#buckets.set(id, bucket);
    return bucket;
  }
}

const unbuildable = (name: string, reason: string, cause: unknown): RefusedError =>
  new RefusedError(`the account class ${name} cannot be built: ${reason}`, { reason: 'aborted', cause });
