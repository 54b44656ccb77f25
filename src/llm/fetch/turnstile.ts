/** Lets calls in: estimates each, builds its demand, and waits for its grant. */
import { Demand, type Account, type Admission } from '../../index.js';
import { labelOf, type LlmCall, type Protocol } from '../call.js';
import { charge, type Budget, type Charge, type ChargePolicy } from '../charge.js';
import { canFollow, forgetStale } from '../follow-limits.js';
import type { ForCall, Settings } from './admitted-options.js';
import { Passage } from './passage.js';

/** One account's part of a call: which budget it keeps, and what was reserved there. */
export interface Debit {
  readonly account: Account;
  readonly budget: Budget;
}

const BUDGETS: readonly Budget[] = ['tokens', 'input', 'output'];

/** OpenAI's protocol is spoken by many who count in another way than it does; theirs is named by `charge`. */
const POLICIES: Readonly<Record<Protocol, ChargePolicy>> = {
  openai: charge.openai(),
  anthropic: charge.anthropic(),
  gemini: charge.gemini(),
  bedrock: charge.bedrock(),
};

export class Turnstile {
  readonly #admission: Admission;
  readonly #settings: Settings;

  constructor(admission: Admission, settings: Settings) {
    this.#admission = admission;
    this.#settings = settings;
  }

  /**
   * The passage of one attempt, which stands in line for `patience` ms at most, and for `maxWait`.
   *
   * @throws AdmissionError when it is refused, CancelledError when `signal` aborts while it waits.
   */
  async enter(call: LlmCall, signal?: AbortSignal | null, patience = Infinity): Promise<Passage> {
    const { estimator, maxWait = Infinity, job, spend, demand: whole } = this.#settings;
    const policy = this.#settings.charge ?? POLICIES[call.protocol ?? 'openai'];
    const estimate = estimator.estimate(call);
    const reserved = policy.reserve(estimate);
    const { demand, debits } = this.#metered(call, policy, reserved);
    const spending = spend?.reserveFor(call, estimate) ?? null;
    try {
      const grant = await this.#admission.acquire(whole === undefined ? demand : whole(call, demand), {
        ...(signal ? { signal } : {}),
        maxWait: Math.min(maxWait, patience),
        job: job === undefined ? labelOf(call) : job(call),
      });
      return new Passage({ grant, call, estimate, policy, reserved, debits, spending, settings: this.#settings });
    } catch (error) {
      spending?.cancel();
      throw error;
    }
  }

  #metered(call: LlmCall, policy: ChargePolicy, reserved: Charge): { demand: Demand; debits: readonly Debit[] } {
    let demand = Demand.empty;
    const debits: Debit[] = [];
    for (const budget of BUDGETS) {
      const account = chosen(this.#settings[budget], call);
      if (account === undefined) continue;
      if (this.#settings.follow !== null && canFollow(account)) forgetStale(account, this.#admission.now());
      if (account.adjust === undefined) {
        throw new TypeError(`${account.name} cannot keep a budget of ${budget}, since it cannot be corrected by what was used; give a TokenBucket`);
      }
      // Buckets of whole tokens are the rule; a policy's burndown may be a fraction.
      const amount = Math.ceil(reserved[budget]);
      demand = demand.add(account, policy.clamps.includes(budget) ? Math.min(amount, account.capacity) : amount);
      debits.push({ account, budget });
    }
    for (const account of chosen(this.#settings.permits, call) ?? []) demand = demand.add(account);
    return { demand, debits };
  }
}

const chosen = <T>(option: ForCall<T> | undefined, call: LlmCall): T | undefined =>
  typeof option === 'function' ? (option as (call: LlmCall) => T | undefined)(call) : option;
