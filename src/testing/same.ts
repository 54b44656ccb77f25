/** Whether two recorded values are the same, by structure: a helper for every framework borrows the equality of none. */

interface AsymmetricMatcher {
  asymmetricMatch(value: unknown): boolean;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

// jest, vitest and jasmine share this protocol, so `expect.objectContaining(…)` may stand in a values map.
const isAsymmetric = (value: unknown): value is AsymmetricMatcher =>
  isObject(value) && typeof (value as Partial<AsymmetricMatcher>).asymmetricMatch === 'function';

/**
 * Deep equality of what was expected and what was recorded. Errors are compared by class, message and their own fields,
 * never by stack; anything with an `asymmetricMatch` method decides for itself.
 */
export function same(expected: unknown, got: unknown): boolean {
  return compare(expected, got, new Map());
}

function compare(expected: unknown, got: unknown, seen: Map<object, object>): boolean {
  if (Object.is(expected, got)) return true;
  if (isAsymmetric(expected)) return expected.asymmetricMatch(got);
  if (!isObject(expected) || !isObject(got)) return false;
  if (Object.getPrototypeOf(expected) !== Object.getPrototypeOf(got)) return false;
  // A cycle was either equal all the way round or some other field tells the two apart.
  if (seen.get(expected) === got) return true;
  seen.set(expected, got);

  if (expected instanceof Date) return Object.is(expected.getTime(), (got as Date).getTime());
  if (expected instanceof Map) return sameEntries([...expected], [...(got as Map<unknown, unknown>)], seen);
  if (expected instanceof Set) return sameEntries([...expected], [...(got as Set<unknown>)], seen);
  if (expected instanceof Error && expected.message !== (got as Error).message) return false;

  const keys = ownKeys(expected);
  return (
    keys.length === ownKeys(got).length &&
    keys.every((key) => Object.hasOwn(got, key) && compare(field(expected, key), field(got, key), seen))
  );
}

function sameEntries(expected: readonly unknown[], got: readonly unknown[], seen: Map<object, object>): boolean {
  return expected.length === got.length && expected.every((entry, i) => compare(entry, got[i], seen));
}

const ownKeys = (value: object): string[] => Object.keys(value).filter((key) => key !== 'stack');

const field = (value: object, key: string): unknown => (value as Record<string, unknown>)[key];
