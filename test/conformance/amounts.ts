/** Amounts as files write them: an integer for unit permits, a list of amounts, or `"60 amounts of 100"`. */
import { NotUnderstood, listAt, numberAt, show } from './fields.js';

/** Permits of an integer, or amounts one by one. */
export type Amounts = { readonly units: number } | { readonly list: readonly number[] };

const REPEATED = /^(\d+) amounts of (\d+(?:\.\d+)?)$/;

export function amountsAt(value: unknown, where: string): Amounts {
  if (typeof value === 'number') {
    if (!Number.isInteger(value)) throw new NotUnderstood(`${where}: ${show(value)} is no number of permits`);
    return { units: value };
  }
  if (typeof value === 'string') {
    const [, count, amount] = REPEATED.exec(value) ?? [];
    if (count === undefined) throw new NotUnderstood(`${where}: cannot read the amounts ${show(value)}`);
    return { list: Array.from({ length: Number(count) }, () => Number(amount)) };
  }
  return { list: listAt(value, where).map((amount, index) => numberAt(amount, `${where}[${index}]`)) };
}

export function sameAmounts(one: Amounts, other: Amounts): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
