/** Reads what an error of any SDK means for those who ask next. */
import { monotonicScheduler } from '../index.js';
import { ClassifiedFailure } from './failure.js';
import { factsOf, type FailureFacts } from './failure-facts.js';
import { ruleOf } from './failure-rules.js';
import { headerReader, wallClockOf, type HeaderReader } from './header-reader.js';
import { providerOf } from './providers/index.js';
import type { ProviderName } from './providers/provider.js';
import { retryAfterOf } from './read-rate-limits.js';
import { parseDuration } from './time-span.js';

export interface ClassifyOptions {
  /** Whose error it is; unless given, told from its headers. */
  readonly provider?: ProviderName | undefined;
  /** What the failure calls the upstream; unless given, the provider's name. */
  readonly service?: string | undefined;
  /** The clock of `retryAt`, ms: `admission.now`; the default clock of admissions unless given. */
  readonly now?: (() => number) | undefined;
  /** The wall clock, ms since 1970, where the answer has no `date` of its own; `Date.now` unless given. */
  readonly wallNow?: (() => number) | undefined;
  /** ms: whoever is asked to wait for longer is told to stop. 60,000 unless given, as the SDKs that have a cap. */
  readonly longestWait?: number | undefined;
}

/** As LangChain and the AI SDK have it: a longer wait is no matter of a retry. */
const LONGEST_WAIT = 60_000;

/** A 429 of `admittedFetch`'s own, whatever an SDK made of it; `refusal.ts` sets it. */
const OUR_MARK = 'x-rx-admission';

/** `Please try again in 7.66s`, `Please retry in 10h17m5.72s`. */
const IN_TEXT = /\b(?:try again|retry) in ((?:\d+(?:\.\d+)?(?:ms|[smhd]))+)/i;
/** `Please retry after 6 seconds.` */
const SECONDS_IN_TEXT = /\b(?:try again|retry) (?:in|after) (\d+(?:\.\d+)?) (milli)?seconds?\b/i;

/**
 * What an error means, from the error objects of openai, @anthropic-ai/sdk, ai, @google/genai, groq-sdk,
 * @mistralai/mistralai and AWS Bedrock, a plain `Response`, the parsed body of one, or an error event inside a stream.
 *
 * It is told by names, types and codes before the status: an error inside a stream has none. What admission itself refused
 * is `unrelated`, also where an SDK wrapped it, or made an error of the answer that `admittedFetch` gave it. Where the
 * provider itself says `x-should-retry: false`, it is a `stop`. A `Response` is judged by its status and headers; `classifyResponse` reads
 * its body too.
 *
 * @example
 * ```ts
 * catchError((error) => {
 *   const failure = classifyFailure(error);
 *   return failure.kind === 'stop' ? throwError(() => failure) : of(null);
 * });
 * ```
 */
export function classifyFailure(error: unknown, options: ClassifyOptions = {}): ClassifiedFailure {
  if (error instanceof ClassifiedFailure) return error;
  const facts = factsOf(error);
  const read = headerReader(facts.headers);
  const provider = providerOf(read, options.provider);
  const isOurs = facts.isRefusal || read(OUR_MARK) !== null;
  const named = isOurs ? ({ kind: 'unrelated', reason: 'refused by admission' } as const) : ruleOf(facts, provider);
  const wait = named.kind === 'unrelated' ? null : waitOf(facts, read, options.wallNow ?? Date.now);
  const isInVain = (wait !== null && wait > (options.longestWait ?? LONGEST_WAIT)) || read('x-should-retry') === 'false';
  const now = options.now ?? monotonicScheduler.now.bind(monotonicScheduler);
  return new ClassifiedFailure({
    kind: isInVain && named.kind !== 'unrelated' ? 'stop' : named.kind,
    reason: named.reason,
    status: facts.status,
    service: options.service ?? provider?.name ?? 'upstream',
    detail: facts.messages.at(-1) ?? named.reason,
    retryAfter: (wait ?? 0) / 1_000,
    retryAt: wait === null ? null : now() + wait,
    weight: named.weight ?? 0,
    provider: provider?.name ?? null,
  });
}

/**
 * As `classifyFailure`, with the body of a `Response`, which stays readable: a copy of it is read.
 *
 * @example
 * ```ts
 * const response = await fetch(url, init);
 * if (!response.ok) throw await classifyResponse(response);
 * ```
 */
export async function classifyResponse(response: ResponseLike, options: ClassifyOptions = {}): Promise<ClassifiedFailure> {
  // What is left of a body that breaks, or was read already, is its status.
  const body = response.bodyUsed === true ? '' : await response.clone().text().catch(() => '');
  const { status, headers } = response;
  return classifyFailure({ status, headers, body }, options);
}

/** As much of a `Response` as is read. */
export interface ResponseLike {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly bodyUsed?: boolean;
  clone(): { text(): Promise<string> };
}

/** ms that the upstream asks to wait: in its headers, in its body, or in words. */
function waitOf({ retryDelay, messages }: FailureFacts, read: HeaderReader, wallNow: () => number): number | null {
  return retryAfterOf(read, wallClockOf(read, wallNow)) ?? parseDuration(retryDelay ?? '') ?? waitInText(messages.join('\n'));
}

function waitInText(text: string): number | null {
  const [, seconds, milli] = SECONDS_IN_TEXT.exec(text) ?? [];
  if (seconds !== undefined) return Number(seconds) * (milli === undefined ? 1_000 : 1);
  return parseDuration(IN_TEXT.exec(text)?.[1] ?? '');
}
