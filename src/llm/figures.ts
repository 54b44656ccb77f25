/** The figures of one limit, before anybody says what they count. */

export interface Figures {
  readonly period: number | null;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly resetIn: number | null;
}

/** What stands for "no limit" where a field has to be a number: the greatest of 32 bits, signed and unsigned. */
const SENTINELS: ReadonlySet<number> = new Set([2 ** 31 - 1, 2 ** 32 - 1]);
/** A million times the largest published limit: above it stand only sentinels of 63 and 64 bits. */
const ABSURD = 1e13;

/** A whole number from zero up; null for anything else: -1, empty, absurd. */
export function countOf(text: string | null | undefined): number | null {
  const trimmed = text?.trim() ?? '';
  if (!/^\d+$/.test(trimmed)) return null;
  const value = Number(trimmed);
  return value >= ABSURD || SENTINELS.has(value) ? null : value;
}

/** A limit of zero means that the server does not know, and what is left of it means nothing either. */
export function sane(figures: Figures, limitText: string | null): Figures | null {
  const limit = figures.limit === 0 ? null : figures.limit;
  if (limit === null && limitText !== null) return null;
  return limit === null && figures.remaining === null ? null : { ...figures, limit };
}
