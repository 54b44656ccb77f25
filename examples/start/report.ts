/** The table at the end, and whether the promise was kept. What concerns the quota comes from the quota's own log. */
import type { Ended } from './chat.js';
import type { Books, Reason } from '../provider/quota.js';
import { count, percent, seconds } from '../provider/text.js';

export interface Run {
  readonly title: string;
  readonly wall: number;
  readonly ended: readonly Ended[];
  /** Where the limits were enforced: the books of the proxy's door; for a real provider, what was sent to it. */
  readonly ledger: Books;
}

export interface Figures {
  readonly completed: number;
  readonly limited: number;
  readonly tokens: number;
  /** What was let in, over the burst plus rate times elapsed that the quota allowed until the last was let in. */
  readonly used: { readonly tokens: number; readonly requests: number };
  /** Harsher: the tokens beyond the first bucketful, over what was refilled meanwhile. Null where none were needed. */
  readonly ofRefill: number | null;
  /** The least time this burst can take under each limit: the greatest of them is the one that binds. */
  readonly least: Record<Reason, number>;
}

export function figuresOf({ ended, ledger: { limits, log } }: Run): Figures {
  const letIn = log.filter((arrival) => arrival.refused === null);
  const minutes = Math.max(0, (letIn.at(-1)?.at ?? 0) - (log[0]?.at ?? 0)) / 60_000;
  const allowed = (perMinute: number): number => perMinute * (1 + minutes);
  const least = (demanded: number, perMinute: number): number => Math.max(0, (demanded / perMinute - 1) * 60_000);
  const tokens = sum(letIn.map((arrival) => arrival.tokens));
  const perMinute = limits.tokensPerMinute;
  return {
    completed: ended.filter((end) => end.outcome === 'completed').length,
    limited: ended.filter((end) => end.outcome === 'limited').length,
    tokens,
    used: {
      tokens: tokens / allowed(perMinute),
      requests: letIn.length / allowed(limits.requestsPerMinute),
    },
    ofRefill: tokens > perMinute ? (tokens - perMinute) / (perMinute * minutes) : null,
    least: {
      tokens: least(sum(ended.map((end) => end.call.tokens)), perMinute),
      requests: least(ended.length, limits.requestsPerMinute),
      concurrency: sum(ended.map((end) => end.took)) / limits.concurrency,
    },
  };
}

export interface Verdict {
  readonly kept: boolean;
  readonly line: string;
}

/** Zero 429s, everything completed, and at least 90 % of the limit that binds, where it is one per minute. */
export function verdictOn(run: Run): Verdict {
  const { completed, limited, used, least } = figuresOf(run);
  const counts = `${completed} of ${run.ended.length} completed, ${limited} 429s`;
  if (completed < run.ended.length || limited > 0) return { kept: false, line: `Broken: ${counts}.` };
  const [binding] = (Object.entries(least) as [Reason, number][]).reduce((a, b) => (b[1] > a[1] ? b : a));
  if (binding === 'concurrency') {
    return { kept: true, line: `Kept: ${counts}; calls at once were the limit, not the budget per minute.` };
  }
  const kept = used[binding] >= 0.9;
  const share = `${percent(used[binding])} of the ${binding} allowed`;
  const best = `this quota allows it in ${seconds(least[binding])} at best`;
  return { kept, line: `${kept ? 'Kept' : 'Broken'}: ${counts}, at ${share}; ${best}.` };
}

/**
 * How much longer than others a call may take to arrive before the provider's bucket runs short, in ms. Ours holds
 * `headroom` less; the worst is a full burst that comes late, together with what was let in meanwhile.
 */
export function jitterCovered(headroom: number): number {
  return (headroom / (1 - headroom)) * 60_000;
}

const REASONS: readonly Reason[] = ['concurrency', 'requests', 'tokens'];

export function table(runs: readonly Run[]): string {
  const rows: [string, (run: Run) => string][] = [
    ['', (run) => run.title],
    ['completed', (run) => `${figuresOf(run).completed} of ${run.ended.length}`],
    ['429s', (run) => count(figuresOf(run).limited)],
    ...REASONS.map((reason): [string, (run: Run) => string] => [
      `  for ${reason}`,
      (run) => count(run.ledger.log.filter((arrival) => arrival.refused === reason).length),
    ]),
    ['wall time', (run) => seconds(run.wall)],
    ['wait p50 / p95', (run) => [0.5, 0.95].map((share) => seconds(quantile(waits(run), share))).join(' / ')],
    ['most calls at once', (run) => `${run.ledger.peak} of ${run.ledger.limits.concurrency}`],
    ['tokens let in', (run) => count(figuresOf(run).tokens)],
    ['  of what was allowed', (run) => percent(figuresOf(run).used.tokens)],
    ['  of the refill alone', (run) => orNone(figuresOf(run).ofRefill, percent)],
    ['requests let in', (run) => count(run.ledger.log.filter((arrival) => arrival.refused === null).length)],
    ['  of what was allowed', (run) => percent(figuresOf(run).used.requests)],
  ];
  return rows
    .map(([label, of]) => `  ${label.padEnd(22)}${runs.map((run) => of(run).padStart(18)).join('')}`)
    .join('\n');
}

/** What went wrong other than by a 429, each kind once, three at most. */
export function failuresOf(runs: readonly Run[]): string[] {
  const failed = runs.flatMap((run) => run.ended.filter((end) => end.outcome === 'failed'));
  return [...new Set(failed.map((end) => end.detail))].slice(0, 3);
}

function waits({ ended }: Run): number[] {
  return ended.filter((end) => end.sentAt !== null).map((end) => end.waited).sort((a, b) => a - b);
}

/** The nearest rank: the least wait that `share` of the calls did not exceed. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

function orNone(amount: number | null, text: (amount: number) => string): string {
  return amount === null ? 'none needed' : text(amount);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
