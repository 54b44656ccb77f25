/** Little's law as a check of a limit: how many are in flight on average, and how full that makes it. */

export interface AdviceOptions {
  /** Jobs that arrive per second, on average over a long time. */
  readonly arrivalsPerSecond: number;
  /** Seconds that a job holds its permit, on average: from its grant to the end of its work, not its wait. */
  readonly holdSeconds: number;
  /** The greatest share of the limit that may be in use on average: above 0, below 1. */
  readonly target: number;
  /** A limit that you have, in permits; unless given, the least that meets the target. */
  readonly limit?: number | undefined;
}

/**
 * `within`: at or below the target. `above-target`: it serves the load, with less to spare than you asked for.
 * `overload`: more arrives than the limit can serve, so there is no steady state and no average to speak of.
 */
export type AdviceVerdict = 'within' | 'above-target' | 'overload';

/** What an average load makes of a limit. */
export interface Advice {
  /** L = λW: jobs in flight on average. */
  readonly inFlight: number;
  /** Permits. */
  readonly limit: number;
  /** Permits free on average; below zero in overload. */
  readonly headroom: number;
  /** Share of the limit in use on average; above 1 in overload. */
  readonly utilisation: number;
  readonly verdict: AdviceVerdict;
  /** Never: an average says nothing of how long the slow ones take, nor of how long anybody waits. */
  readonly boundsTailLatency: false;
  /** What must be true for these numbers to mean anything. */
  readonly assumptions: readonly string[];
  summary(): string;
}

/** As the proof needs them: Little, "A Proof for the Queuing Formula: L = λW", Operations Research 9(3), 1961. */
const ASSUMPTIONS: readonly string[] = [
  'The load is steady: both averages are taken over the same long time, and are not changing.',
  'Every job that is counted as an arrival is admitted, and ends; jobs that are refused or give up waiting are not counted.',
  'Every job holds one permit; for weights, give the permits that arrive per second.',
  'Holding does not grow with load: below the knee of what is protected, as you measured it.',
  'These are averages. Bursts and slow jobs go above them: this is no bound on a percentile of latency or of waiting.',
];

/**
 * How many are in flight on average, and what that leaves of a limit. A check of a limit that was measured, and never the
 * way to find one: a limit of just λW is full all the time, and what varies then queues.
 *
 * @throws RangeError when a number is out of bounds, or when a percentile is asked for.
 *
 * @example
 * ```ts
 * const { inFlight, limit, utilisation } = advise({ arrivalsPerSecond: 40, holdSeconds: 0.35, target: 0.7 }); // 14, 20, 0.7
 * ```
 */
export function advise(options: AdviceOptions): Advice {
  for (const name of Object.keys(options)) {
    if (!['arrivalsPerSecond', 'holdSeconds', 'target', 'limit'].includes(name)) throw noSuch(name);
  }
  const arrivals = above0('arrivalsPerSecond', options.arrivalsPerSecond);
  const hold = above0('holdSeconds', options.holdSeconds);
  const target = above0('target', options.target);
  if (target >= 1) {
    throw new RangeError(`target must be a share of the limit below 1, such as 0.7, not ${String(target)}: at 1, whatever varies queues`);
  }
  const inFlight = arrivals * hold;
  if (!Number.isFinite(inFlight)) throw new RangeError(`${String(arrivals)} a second for ${String(hold)} s are more than can be counted`);
  const limit = options.limit === undefined ? leastFor(inFlight, target) : above0('limit', options.limit);
  const utilisation = inFlight / limit;
  const verdict = verdictOf(utilisation, target);
  return {
    inFlight,
    limit,
    headroom: limit - inFlight,
    utilisation,
    verdict,
    boundsTailLatency: false,
    assumptions: ASSUMPTIONS,
    summary: () =>
      `on average ${rounded(inFlight)} of ${rounded(limit)} in flight, ${rounded(100 * utilisation)}% in use (target ` +
      `${rounded(100 * target)}%), ${verdict}; an average, and no bound on latency`,
  };
}

/** Two ulps of slack: 7 / 0.7 is 10, which a float quotient may miss by one. */
const SLACK = 2 * Number.EPSILON;

const leastFor = (inFlight: number, target: number): number => Math.max(1, Math.ceil((inFlight / target) * (1 - SLACK)));

function verdictOf(utilisation: number, target: number): AdviceVerdict {
  if (utilisation >= 1) return 'overload';
  return utilisation <= target * (1 + SLACK) ? 'within' : 'above-target';
}

function above0(what: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
  throw new RangeError(`${what} must be a positive number, not ${typeof value === 'string' ? `"${value}"` : String(value)}`);
}

const noSuch = (name: string): RangeError =>
  new RangeError(
    `Little's law relates three long-run averages and answers nothing about ${name}: it bounds no percentile of latency or of ` +
      'waiting; measure those under load',
  );

const rounded = (value: number): string => String(Number(value.toFixed(2)));
