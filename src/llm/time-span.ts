/** How long from now: whatever a provider writes, from Go durations to epochs, read in full or not at all. */

const SECOND = 1_000;
const DAY = 86_400_000;
/** The longest period that any provider counts in is a month; what lies beyond is no answer. */
const LONGEST = 31 * DAY;
/** Plain numbers from here up are instants: 2001 in seconds, 1973 in milliseconds. */
const EPOCH_SECONDS = 1e9;
const EPOCH_MS = 1e11;

const MS_OF: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: SECOND,
  m: 60 * SECOND,
  h: 3_600 * SECOND,
  d: DAY,
};

/** Two-letter units first: read singly, the `m` of `20ms` would be twenty minutes. */
const PART = /(\d+(?:\.\d+)?)(ns|us|µs|μs|ms|s|m|h|d)/g;
const DURATION = new RegExp(`^(?:${PART.source})+$`);
const NUMBER = /^\d+(?:\.\d+)?$/;
/** RFC 3339, and the HTTP dates of RFC 9110 5.6.7. */
const DATE = /^(?:\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)|[A-Z][a-z]{2,8}, [\w: -]+ GMT)$/;

/** A Go duration such as `6m0s`, `20ms` or `1h2m3.5s`, in ms; null unless all of it is one. */
export function parseDuration(text: string): number | null {
  if (!DURATION.test(text)) return null;
  let total = 0;
  for (const [, figure = '', unit = ''] of text.matchAll(PART)) total += Number(figure) * (MS_OF[unit] ?? NaN);
  return total;
}

/**
 * Ms from `wallNow` to what `text` names: seconds, a duration, an RFC 3339 or HTTP date, an epoch in seconds or ms.
 *
 * An instant that has passed is zero from now. Null for what is none of these, negative, or beyond a month.
 */
export function timeSpan(text: string | null, wallNow: number): number | null {
  const trimmed = text?.trim() ?? '';
  const span = spanOf(trimmed, wallNow);
  return span === null || Number.isNaN(span) || span > LONGEST ? null : Math.max(0, span);
}

function spanOf(text: string, wallNow: number): number | null {
  if (NUMBER.test(text)) {
    const value = Number(text);
    if (value >= EPOCH_MS) return value - wallNow;
    return value >= EPOCH_SECONDS ? value * SECOND - wallNow : value * SECOND;
  }
  return DATE.test(text) ? Date.parse(text) - wallNow : parseDuration(text);
}
