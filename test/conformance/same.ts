/** When an answer is the expected one: numbers within 1e-6, everything else exactly. */

const TOLERANCE = 1e-6;

export function close(one: number, other: number): boolean {
  return one === other || Math.abs(one - other) <= TOLERANCE;
}

/** Every key of `expected` is in `actual`, and the same; for a status, which may hold more. */
export function holdsAll(expected: object, actual: unknown): boolean {
  if (typeof actual !== 'object' || actual === null) return false;
  return Object.entries(expected).every(([key, value]) => key in actual && same(value, actual[key as keyof typeof actual]));
}

export function same(expected: unknown, actual: unknown): boolean {
  if (typeof expected === 'number' && typeof actual === 'number') return close(expected, actual);
  if (typeof expected === 'object' && expected !== null) {
    return holdsAll(expected, actual) && Object.keys(actual as object).length === Object.keys(expected).length;
  }
  return expected === actual;
}
