/** What the end of a call tells its accounts: how it went, which of them a failure is about, and until when that one closes. */
import { AbstractAccount, type Account, type DemandEntry, type Ending, type Grant, type Outcome } from '../index.js';
import { classifyFailure, type ClassifyOptions } from './classify-failure.js';
import type { ClassifiedFailure } from './failure.js';

export interface FeedbackOptions {
  /** Whose errors these are, and how long a Retry-After is borne; see `classifyFailure`. */
  readonly classify?: ClassifyOptions | undefined;
  /**
   * The share of a Retry-After that is waited at most in addition, at random: a fleet that was told the same instant does not
   * come back at the same one. 0.1 unless given; 0 for none.
   */
  readonly jitter?: number | undefined;
  /** From 0 to below 1; `Math.random` unless given. */
  readonly random?: (() => number) | undefined;
}

/** Our choice: enough to part a fleet, and little enough to cost nobody throughput, since re-entry is a ramp anyway. */
const JITTER = 0.1;

/** What an account can that closes: a `TokenBucket`, or one of your own. */
interface Closing {
  closeUntil(until: number): void;
}

/** The instant of the last jam that each account was told of. One jam is one signal, whoever noticed it first. */
const jammedAt = new WeakMap<object, number>();

/** The signals of calls that ended, for the accounts of their grants. */
export class Feedback {
  readonly #jitter: number;
  readonly #random: () => number;

  /** @throws RangeError when the jitter is no number from zero up. */
  constructor({ jitter = JITTER, random = Math.random }: FeedbackOptions = {}) {
    if (!(jitter >= 0 && jitter < Infinity)) throw new RangeError(`jitter must be a share of the wait from zero up, not ${String(jitter)}`);
    this.#jitter = jitter;
    this.#random = random;
  }

  /** Of a call that began before the last jam: how it went says nothing about the pace since. */
  success({ demand, grantedAt }: Grant): Outcome {
    const learners = demand.entries.map(({ account }) => account).filter(learns);
    return learners.length > 0 && learners.every((account) => isBeforeJam(account, grantedAt)) ? 'ignored' : 'success';
  }

  /** Our quota slows its bucket down, their trouble the window or the gate that adapts; a wait they name closes a bucket. */
  failure(failure: ClassifiedFailure, grant: Grant): Outcome {
    if (failure.kind !== 'wait' && failure.kind !== 'capacity') return 'ignored';
    const account = aboutOf(failure.kind, grant.demand.entries);
    const { grantedAt } = grant;
    const now = grantedAt + grant.age;
    const wait = failure.retryAfter * 1_000;
    // Also when it comes late: until then, all that enters is refused.
    if (wait > 0) closingOf(account, grant)?.closeUntil(now + wait * (1 + this.#jitter * this.#random()));
    if (account === undefined || isBeforeJam(account, grantedAt)) return 'ignored';
    jammedAt.set(account, now);
    return { pressure: failure, account };
  }
}

/**
 * The `outcome` of calls of a model, for `admit`, `defer`, `run` and `each`.
 *
 * A 429 that means "too fast" is one increment of pressure on the call's token bucket; an overload (529) is three on its
 * window or adaptive gate, and on the bucket only where it names neither. A Retry-After closes the bucket until then, with
 * jitter; above 60 s (`classify.longestWait`) the failure is a `stop`, which tells the accounts nothing, as do errors of the
 * server and of the network. Pressure from calls that were granted before the last one is the same jam, and not told again.
 *
 * @throws RangeError when the jitter is no number from zero up.
 *
 * @example
 * ```ts
 * const outcome = outcomeOf({ classify: { longestWait: 20_000 } });
 * prompts$.pipe(admit((p) => demand([gpt, p.tokens], window), chat, { outcome }));
 * ```
 */
export function outcomeOf(options: FeedbackOptions = {}): (ending: Ending, grant: Grant) => Outcome {
  const feedback = new Feedback(options);
  return (ending, grant) =>
    ending.kind === 'C' ? feedback.success(grant) : feedback.failure(classifyFailure(ending.error, options.classify), grant);
}

/** As `outcomeOf()`: `{ outcome }` is all that a call of a model needs. */
export const outcome = outcomeOf();

function aboutOf(kind: 'wait' | 'capacity', entries: readonly DemandEntry[]): Account<never> | undefined {
  const learners = entries.map(({ account }) => account).filter(learns);
  const isBucket = ({ category }: Account<never>): boolean => category === 'token_bucket';
  return learners.find((account) => isBucket(account) === (kind === 'wait')) ?? learners[0];
}

/** The account that the wait is about; one that cannot close leaves it to whichever of the call can. */
const closingOf = (account: object | undefined, { demand }: Grant): Closing | undefined =>
  [account, ...demand.entries.map((entry): object => entry.account)].find(closes);

const closes = (account: object | undefined): account is Closing => typeof (account as Partial<Closing> | undefined)?.closeUntil === 'function';

const isBeforeJam = (account: object, grantedAt: number): boolean => grantedAt < (jammedAt.get(account) ?? -Infinity);

type Answering = Partial<Pick<AbstractAccount, 'onRateLimitError'>>;

/** A gate of a fixed capacity answers a failure with nothing, as the base class does. */
function learns(account: Account<never>): boolean {
  const { onRateLimitError: own } = account as Answering;
  const { onRateLimitError: none } = AbstractAccount.prototype as Answering;
  return own !== undefined && own !== none;
}
