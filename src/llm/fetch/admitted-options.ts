/** What every adapter takes: which accounts a call asks, what it costs there, how long it may wait and hold. */
import type { Account, Demand, Log, Outcome } from '../../index.js';
import type { LlmCall } from '../call.js';
import type { ChargePolicy } from '../charge.js';
import { Estimator } from '../estimate.js';
import type { ClassifiedFailure } from '../failure.js';
import { Feedback, type FeedbackOptions } from '../feedback.js';
import type { FollowOptions } from '../follow-limits.js';
import { assertKnown, type Known } from '../known-options.js';
import type { RateLimitsRead } from '../rate-limits.js';
import type { SpendCap } from '../spend-cap.js';

/** One for all calls, or chosen for each; none for a call that `undefined` is answered for. */
export type ForCall<T> = T | ((call: LlmCall) => T | undefined);

export interface AdmittedOptions extends FeedbackOptions {
  /** The budget of all tokens, input and output together. */
  readonly tokens?: ForCall<Account> | undefined;
  /** The budget of input tokens, where it is one of its own. */
  readonly input?: ForCall<Account> | undefined;
  /** The budget of output tokens, where it is one of its own. */
  readonly output?: ForCall<Account> | undefined;
  /** Accounts that give one permit to each call: a gate of calls at once, a window of requests per day. */
  readonly permits?: ForCall<readonly Account[]> | undefined;
  /** Builds the whole demand, from what the options above made of the call. */
  readonly demand?: ((call: LlmCall, metered: Demand) => Demand) | undefined;
  /** What a call reserves and costs; unless given, the policy of whose protocol it speaks. */
  readonly charge?: ChargePolicy | undefined;
  /** Refuses, before anything is asked, a call that might pass a cap on money. */
  readonly spend?: SpendCap | undefined;
  /** Unless given, one of its own: bytes over four, plus the most that was asked for, corrected by what was used. */
  readonly estimator?: Estimator | undefined;
  /**
   * ms to wait at most; then the call is refused. Keep it below the `timeout` of the SDK's client, which runs meanwhile in a
   * `fetch`. Where the request states that (Anthropic's always, OpenAI's and Groq's where the call was given one), it is at
   * most nine tenths of it.
   */
  readonly maxWait?: number | undefined;
  /** ms that an answer may lie unread before it is cut and its permits come back. 300,000 unless given. */
  readonly maxHold?: number | undefined;
  /** What events and status call it; its model and operation unless given. */
  readonly job?: ((call: LlmCall) => unknown) | undefined;
  /** What a failure tells the accounts of the call; as `outcomeOf` says unless given. */
  readonly outcome?: ((failure: ClassifiedFailure, asked: Demand) => Outcome) | undefined;
  /**
   * Whether the buckets keep to the limits that answers state, both ways and at once. `true`: whatever is stated.
   * `{ most }`: no more than that. `false`: no. Unless given, no more than they were configured with: several processes
   * may share what the provider states.
   */
  readonly follow?: boolean | Pick<FollowOptions, 'most'> | undefined;
  /** Hears the rate limits of every answer that states some. */
  readonly onLimits?: ((limits: RateLimitsRead, call: LlmCall) => void) | undefined;
  readonly log?: Log | undefined;
}

/** Five minutes: more than any pause of a reader that still reads, less than the ten minutes after which SDKs give up. */
const MAX_HOLD = 300_000;

/** All that is stated. */
const UNBOUNDED: Pick<FollowOptions, 'most'> = { most: { tokensPerMinute: Infinity, requestsPerMinute: Infinity } };

/** The options with what stands for those left out. */
export type Settings = Omit<AdmittedOptions, 'follow'> & {
  readonly feedback: Feedback;
  /** Null where stated limits are not followed. */
  readonly follow: Pick<FollowOptions, 'most'> | null;
  readonly estimator: Estimator;
  readonly maxHold: number;
  readonly log: Log;
};

/** What every adapter reads. */
export const ADMITTED: Known<AdmittedOptions> = {
  tokens: true,
  input: true,
  output: true,
  permits: true,
  demand: true,
  charge: true,
  spend: true,
  estimator: true,
  maxWait: true,
  maxHold: true,
  job: true,
  classify: true,
  jitter: true,
  random: true,
  outcome: true,
  follow: true,
  onLimits: true,
  log: true,
};

/**
 * @throws TypeError when no account is named, or on an option that nobody reads; RangeError when a time or the jitter is
 *   none.
 */
export function settingsOf(way: string, options: AdmittedOptions, known: Readonly<Record<string, true>> = ADMITTED): Settings {
  assertKnown(way, options, known);
  const { tokens, input, output, permits, demand, maxHold = MAX_HOLD, maxWait = Infinity } = options;
  if ([tokens, input, output, permits, demand].every((each) => each === undefined)) {
    throw new TypeError(`${way} names no account, and would admit everything: give it tokens, permits or a demand`);
  }
  if (permits !== undefined && typeof permits !== 'function' && !Array.isArray(permits)) {
    throw new TypeError(`permits of ${way} is a list of accounts, [places], or how to choose one for each call`);
  }
  for (const [name, ms] of Object.entries({ maxHold, maxWait })) {
    if (!(ms >= 0)) throw new RangeError(`${name} must be zero or a positive number of ms, not ${String(ms)}`);
  }
  const { follow = {}, estimator = new Estimator(), log = console } = options;
  return { ...options, feedback: new Feedback(options), follow: followed(follow), estimator, maxHold, log };
}

function followed(follow: boolean | Pick<FollowOptions, 'most'>): Pick<FollowOptions, 'most'> | null {
  if (follow === false) return null;
  return follow === true ? UNBOUNDED : follow;
}
