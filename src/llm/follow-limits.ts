/** Keeps a bucket's limits as its provider states them, in both directions. */
import type { Account, TokenBucket, TokenBucketLimits } from '../index.js';
import type { Budget } from './charge.js';
import type { Meter, RateLimit, RateLimitsRead } from './rate-limits.js';

export interface FollowOptions {
  /** The instant its request was sent, on the admission's clock: what was asked earlier than the newest answer is old news. */
  readonly sentAt: number;
  /** What the bucket counts: all tokens, those of the input, or those of the output. `tokens` unless given. */
  readonly budget?: Budget | undefined;
  /**
   * Limits that it is never raised beyond, `Infinity` for any that the provider states. Unless given, those that the bucket
   * was configured with: it is lowered, and comes back up to them.
   */
  readonly most?: Partial<TokenBucketLimits> | undefined;
  /** Tokens of the call that this answer serves: a limit below them is none. 0 unless given, as for one that was refused. */
  readonly served?: number | undefined;
}

const METERS: Readonly<Record<Budget, Meter>> = { tokens: 'tokens', input: 'input-tokens', output: 'output-tokens' };
/** A bucket counts by the minute; a day's limit spread over its minutes would be neither. */
const PERIOD = 60_000;
/** Both bind, and the tighter one first. Others are billed apart, or were stated by old versions. */
const BINDING: ReadonlySet<string | null> = new Set([null, 'project']);

/** What is known of a bucket, whoever read it. */
interface Known {
  readonly sentAt: number;
  /** By its owner: what it had before any answer, or was set to since. */
  readonly configured: TokenBucketLimits;
  /** As we left it. */
  readonly left: TokenBucketLimits;
}

const known = new WeakMap<TokenBucket, Known>();

/**
 * Sets a bucket's limits to what an answer states, keeping its throttle, and takes off its level what the provider has not.
 *
 * What the answer leaves unknown stays as it is. What remains is an upper bound: calls that the provider had not seen yet are
 * taken off the level already, and what the minute added since the request was sent is allowed for; it raises nothing.
 *
 * @example
 * ```ts
 * const sentAt = admission.now();
 * const response = await fetch(url, init);
 * followLimits(gpt, readRateLimits(response.headers), { sentAt });
 * ```
 */
export function followLimits(bucket: TokenBucket, read: RateLimitsRead, { sentAt, budget = 'tokens', most, served = 0 }: FollowOptions): void {
  if (!Number.isFinite(sentAt)) throw new RangeError(`sentAt must be an instant of the bucket's clock (ms), not ${String(sentAt)}`);
  const tokens = tokensOf(read, budget).filter(({ limit }) => (limit ?? Infinity) >= served);
  const requests = bindingOf(read, 'requests');
  if (tokens.length === 0 && requests.length === 0) return;
  const before = known.get(bucket);
  if (before !== undefined && sentAt < before.sentAt) return;
  const { limits } = bucket;
  const configured = before !== undefined && isSame(before.left, limits) ? before.configured : limits;
  bucket.setConfig({
    tokensPerMinute: limitOf(tokens, most?.tokensPerMinute ?? configured.tokensPerMinute) ?? limits.tokensPerMinute,
    requestsPerMinute: limitOf(requests, most?.requestsPerMinute ?? configured.requestsPerMinute) ?? limits.requestsPerMinute,
  });
  bucket.lowerTo({ tokens: remainingOf(tokens), requests: remainingOf(requests) }, sentAt);
  known.set(bucket, { sentAt, configured, left: bucket.limits });
}

/** Five minutes: as long as a bucket waits, in quiet, until it takes back half a step of its throttle. */
const STALE = 300_000;

/**
 * Takes a bucket back up to what it was configured with once no answer has said anything for five minutes. A limit that fell
 * below what every call asks for refuses them all, so that no answer could ever tell that it has risen again.
 */
export function forgetStale(bucket: TokenBucket, at: number): void {
  const news = known.get(bucket);
  if (news === undefined || at - news.sentAt < STALE) return;
  known.delete(bucket);
  const { limits } = bucket;
  if (!isSame(news.left, limits)) return;
  const higher = (stated = Infinity, own = Infinity): number => Math.max(stated, own);
  const requestsPerMinute = higher(limits.requestsPerMinute, news.configured.requestsPerMinute);
  bucket.setConfig({
    tokensPerMinute: higher(limits.tokensPerMinute, news.configured.tokensPerMinute),
    requestsPerMinute: requestsPerMinute === Infinity ? undefined : requestsPerMinute,
  });
}

/** A `TokenBucket`, or an account of one's own with its verbs; asked by what it can, since its class need not be loaded. */
export const canFollow = (account: Account<never>): account is TokenBucket =>
  ['limits', 'setConfig', 'lowerTo'].every((verb) => verb in account);

/** Where input and output are limited apart, the limit of all tokens is whichever of the two is tighter: it says nothing of their sum. */
function tokensOf(read: RateLimitsRead, budget: Budget): readonly RateLimit[] {
  const isApart = read.limits.some(({ meter }) => meter === 'input-tokens' || meter === 'output-tokens');
  return budget === 'tokens' && isApart ? [] : bindingOf(read, METERS[budget]);
}

const bindingOf = ({ limits }: RateLimitsRead, meter: Meter): readonly RateLimit[] =>
  limits.filter((each) => each.meter === meter && each.period === PERIOD && BINDING.has(each.pool));

/** The tightest that is stated, and no more than `bound`; null where none is. */
function limitOf(limits: readonly RateLimit[], bound = Infinity): number | null {
  const tightest = Math.min(...limits.map(({ limit }) => limit ?? Infinity));
  return tightest === Infinity ? null : Math.min(tightest, bound);
}

/** The least that is stated to be left, as much as rounding may have hidden included. */
const remainingOf = (limits: readonly RateLimit[]): number =>
  Math.min(...limits.map(({ remaining, grain }) => (remaining === null ? Infinity : remaining + (grain > 1 ? grain / 2 : 0))));

const isSame = (one: TokenBucketLimits, other: TokenBucketLimits): boolean =>
  one.tokensPerMinute === other.tokensPerMinute && one.requestsPerMinute === other.requestsPerMinute;
