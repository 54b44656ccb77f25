/** Reads the rate-limit headers of an answer, whoever sent it. */
import { countOf, sane, type Figures } from './figures.js';
import { headerReader, wallClockOf, type HeaderReader, type HeadersLike } from './header-reader.js';
import { ietfLimits } from './ietf.js';
import { providerOf } from './providers/index.js';
import type { HeaderGroup, ProviderName } from './providers/provider.js';
import type { RateLimit, RateLimitsRead } from './rate-limits.js';
import { timeSpan } from './time-span.js';

export interface ReadOptions {
  /** Whose headers these are; unless given, told from the headers themselves. */
  readonly provider?: ProviderName | undefined;
  /** The wall clock, ms since 1970, where the answer has no `date` of its own; `Date.now` unless given. */
  readonly wallNow?: (() => number) | undefined;
}

/**
 * The limits that an answer's headers state, of OpenAI, Azure, Anthropic, Groq, Mistral, Together, OpenRouter, Cerebras,
 * and of whoever follows the IETF's drafts.
 *
 * What is -1, empty or absurd is unknown (`null`), never a limit; so is a limit of zero.
 *
 * @example
 * ```ts
 * const { limits, retryAfter } = readRateLimits(response.headers);
 * const tokens = limits.find(({ meter }) => meter === 'tokens');
 * ```
 */
export function readRateLimits(headers: HeadersLike | null | undefined, options: ReadOptions = {}): RateLimitsRead {
  const read = headerReader(headers);
  const provider = providerOf(read, options.provider);
  const wallNow = wallClockOf(read, options.wallNow ?? Date.now);
  const own = (provider?.rateLimits ?? []).flatMap((group) => limitOf(group, read, wallNow));
  const limits = own.length > 0 ? own : ietfLimits(read).flatMap((figures) => ietfLimit(figures));
  return {
    provider: provider?.name ?? (limits.length > 0 ? 'ietf' : null),
    limits,
    retryAfter: retryAfterOf(read, wallNow),
    cost: provider?.cost === undefined ? null : countOf(read(provider.cost)),
  };
}

/** ms that the server asks to wait: milliseconds where it says them, else seconds or a date. Zero says nothing. */
export function retryAfterOf(read: HeaderReader, wallNow: number): number | null {
  const ms = Number(read('retry-after-ms') ?? read('x-ms-retry-after-ms') ?? NaN);
  if (ms > 0 && ms < Infinity) return ms;
  const span = timeSpan(read('retry-after'), wallNow);
  return span === null || span === 0 ? null : span;
}

function limitOf(group: HeaderGroup, read: HeaderReader, wallNow: number): RateLimit[] {
  const text = (name: string | undefined): string | null => (name === undefined ? null : read(name));
  const figures = sane(
    {
      period: group.period,
      limit: countOf(text(group.limit)),
      remaining: countOf(text(group.remaining)),
      resetIn: timeSpan(text(group.reset), wallNow),
    },
    text(group.limit),
  );
  if (figures === null) return [];
  const { meter, grain = 1, pool = null, orPeriod } = group;
  return [{ meter, grain, pool, ...figures, period: periodOf(figures, orPeriod) }];
}

const ietfLimit = (figures: Figures): RateLimit[] => {
  const known = sane(figures, figures.limit === null ? null : String(figures.limit));
  return known === null ? [] : [{ meter: 'requests', grain: 1, pool: null, ...known }];
};

/**
 * A reset is the time until full, so that what is missing and how long it takes to come back tell the period: nearer the
 * longer one by far, or as the provider says.
 */
function periodOf({ period, limit, remaining, resetIn }: Figures, longer: number | undefined): number | null {
  if (longer === undefined || limit === null || remaining === null || resetIn === null) return period;
  const missing = limit - remaining;
  return missing > 0 && (resetIn * limit) / missing >= longer / 4 ? longer : period;
}
