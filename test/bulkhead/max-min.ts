/** The oracle of fairness: what each key should have of a capacity, were it handed out permit by permit. */

export interface Claim {
  /** Permits that it could use at once. */
  readonly wanted: number;
  /** Permits that are guaranteed to it. */
  readonly share: number;
}

/**
 * The max-min fair allocation in whole permits, by progressive filling: everyone gets what is guaranteed to it and wanted,
 * and each further permit goes to one of those who want more and have gone least beyond their share.
 */
export function maxMin(capacity: number, claims: readonly Claim[]): number[] {
  const given = claims.map(({ wanted, share }) => Math.min(wanted, share));
  let left = capacity - given.reduce((sum, permits) => sum + permits, 0);
  for (; left > 0; left -= 1) {
    let next = -1;
    claims.forEach(({ wanted }, index) => {
      if ((given[index] ?? 0) < wanted && (next < 0 || beyond(index) < beyond(next))) next = index;
    });
    if (next < 0) break;
    given[next] = (given[next] ?? 0) + 1;
  }
  return given;

  function beyond(index: number): number {
    return (given[index] ?? 0) - (claims[index]?.share ?? 0);
  }
}

/** Jain's index: 1 where all have the same, 1/n where one has all (R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984). */
export function jain(shares: readonly number[]): number {
  const sum = shares.reduce((total, share) => total + share, 0);
  const squares = shares.reduce((total, share) => total + share * share, 0);
  return squares === 0 ? 1 : (sum * sum) / (shares.length * squares);
}
