/** One attempt that was let in, from its grant to its end: what it used is charged, and how it went is told, once. */
import type { Account, DemandEntry, Grant, Outcome } from '../../index.js';
import { labelOf, type LlmCall } from '../call.js';
import type { Charge, ChargePolicy } from '../charge.js';
import { classifyFailure } from '../classify-failure.js';
import type { Estimate } from '../estimate.js';
import type { ClassifiedFailure } from '../failure.js';
import { canFollow, followLimits } from '../follow-limits.js';
import type { HeadersLike } from '../header-reader.js';
import { readRateLimits } from '../read-rate-limits.js';
import type { CallSpending } from '../spend-cap.js';
import type { Usage } from '../usage.js';
import type { Settings } from './admitted-options.js';
import type { Debit } from './turnstile.js';

/**
 * How an attempt ended. `answered`: whole. `failed`: an answer that broke, or none at all. `refused`: the provider said
 * no, before it did anything. `left`: the caller lost interest.
 */
export type Ending =
  | { readonly kind: 'answered'; readonly usage: Usage | null }
  | { readonly kind: 'failed' | 'refused'; readonly error: unknown; readonly usage?: Usage | null }
  | { readonly kind: 'left'; readonly usage?: Usage | null };

const DROPPED = 'the answer was dropped without being read to its end';

interface Fields {
  readonly grant: Grant;
  readonly call: LlmCall;
  readonly estimate: Estimate;
  readonly policy: ChargePolicy;
  readonly reserved: Charge;
  readonly debits: readonly Debit[];
  readonly spending: CallSpending | null;
  readonly settings: Settings;
}

export class Passage {
  readonly #fields: Fields;
  #ended = false;

  constructor(fields: Fields) {
    this.#fields = fields;
  }

  /** Aborts with the caller's signal, and when a drain runs out of time. */
  get signal(): AbortSignal {
    return this.#fields.grant.signal;
  }

  get label(): string {
    return labelOf(this.#fields.call);
  }

  /** The headers of the answer, and whether it serves the call: what they say of the limits is followed, and passed on. */
  heard(headers: HeadersLike, isServed: boolean): void {
    const { grant, call, debits, settings } = this.#fields;
    const { classify, follow, onLimits, log } = settings;
    try {
      const read = readRateLimits(headers, { provider: classify?.provider, wallNow: classify?.wallNow });
      if (read.limits.length === 0) return;
      for (const { account, budget } of debits) {
        if (follow === null || !canFollow(account)) continue;
        const served = isServed ? this.#askedOf(account) : 0;
        followLimits(account, read, { sentAt: grant.grantedAt, budget, served, ...follow });
      }
      onLimits?.(read, call);
    } catch (error) {
      // A fault of what was plugged in must not cost the caller an answer that has come.
      log.warn(`${this.label}: its limits could not be told: ${String(error)}`);
    }
  }

  /** The answer broke, or never came; where that is because the caller had left, it says nothing about the provider. */
  broke(error: unknown, usage: Usage | null = null): void {
    this.end(this.signal.aborted ? { kind: 'left', usage } : { kind: 'failed', error, usage });
  }

  /** Nobody reads on. `why` is set where nobody said so: it lay unread for too long; empty where it was dropped. */
  left(usage: Usage | null, why?: string): void {
    if (why !== undefined) this.#fields.settings.log.warn(`${this.label}: ${why === '' ? DROPPED : why}`);
    this.end({ kind: 'left', usage });
  }

  /** The first ending counts; whatever happens to an answer afterwards, its permits are back already. */
  end(ending: Ending): void {
    if (this.#ended) return;
    this.#ended = true;
    const { grant, settings } = this.#fields;
    let outcome: Outcome = 'ignored';
    const settling = [
      () => { this.#spend(ending); },
      () => { this.#charge(ending); },
      () => { outcome = this.#outcome(ending); },
    ];
    for (const settle of settling) {
      try {
        settle();
      } catch (error) {
        // A fault of what was plugged in must not cost the caller an answer that has come, nor the accounts what they learn.
        settings.log.warn(`${this.label}: could not be settled: ${String(error)}`);
      }
    }
    grant.release(outcome);
  }

  #charge(ending: Ending): void {
    const { grant, call, estimate, policy, reserved, debits, settings } = this.#fields;
    const cost = ending.kind === 'refused' ? policy.refused(reserved) : ending.usage ? policy.settle(ending.usage, reserved) : null;
    // Nobody knows what it used: what was reserved stays spent.
    if (cost === null) return;
    for (const { account, budget } of debits) {
      if (this.#entryOf(account) !== undefined) grant.charge(account, cost[budget]);
    }
    if (ending.kind === 'answered' && ending.usage) settings.estimator.learn(call, estimate, ending.usage);
  }

  /** None where the caller's own demand has left the account out. */
  #entryOf(account: Account): DemandEntry | undefined {
    return this.#fields.grant.demand.entries.find((entry) => entry.account === account);
  }

  #askedOf(account: Account): number {
    return (this.#entryOf(account)?.amounts ?? []).reduce<number>((sum, amount) => sum + Number(amount), 0);
  }

  #spend({ kind, usage }: Ending): void {
    const { spending } = this.#fields;
    if (kind === 'refused') spending?.cancel();
    else spending?.used(usage ?? null);
  }

  /** Another attempt would be refused as well, or not before it is too late. */
  isHopeless(error: unknown): boolean {
    return this.#classified(error).kind === 'stop';
  }

  #classified(error: unknown): ClassifiedFailure {
    const { grant, settings } = this.#fields;
    return classifyFailure(error, { now: () => grant.grantedAt + grant.age, ...settings.classify });
  }

  #outcome(ending: Ending): Outcome {
    const { grant, settings } = this.#fields;
    const { feedback } = settings;
    if (ending.kind === 'answered') return feedback.success(grant);
    if (ending.kind === 'left') return 'ignored';
    const failure = this.#classified(ending.error);
    return settings.outcome === undefined ? feedback.failure(failure, grant) : settings.outcome(failure, grant.demand);
  }
}
