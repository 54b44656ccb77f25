/** Numbers among options: read once, checked, and named in the error. */

/** Reads options by name: what is not given is the other number. */
export interface Numbers {
  /** Above `bound`. */
  above(name: string, otherwise: number, bound: number): number;
  /** At or above `bound`. */
  from(name: string, otherwise: number, bound: number): number;
  /** Above `low`, below `high`. */
  within(name: string, otherwise: number, low: number, high: number): number;
  /** Above `bound`; null where it is not given. */
  aboveOrNull(name: string, bound: number): number | null;
}

/** @throws RangeError, from its answers, that names owner, option, value and bound. */
export function numbersOf(owner: string, options: object): Numbers {
  const checked = (name: string, fits: (value: number) => boolean, rule: string): number | null => {
    const value: unknown = Reflect.get(options, name);
    if (value === undefined) return null;
    if (typeof value === 'number' && fits(value)) return value;
    throw new RangeError(`${owner}: ${name} must be a number ${rule}, not ${shown(value)}`);
  };
  const aboveOrNull = (name: string, bound: number): number | null => checked(name, (value) => value > bound, `above ${String(bound)}`);
  return {
    aboveOrNull,
    above: (name, otherwise, bound) => aboveOrNull(name, bound) ?? otherwise,
    from: (name, otherwise, bound) => checked(name, (value) => value >= bound, `from ${String(bound)} up`) ?? otherwise,
    within: (name, otherwise, low, high) =>
      checked(name, (value) => value > low && value < high, `between ${String(low)} and ${String(high)}`) ?? otherwise,
  };
}

const shown = (value: unknown): string => (typeof value === 'string' ? `"${value}"` : String(value));
