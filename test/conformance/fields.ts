/** Strict reading of untyped values: whatever is not understood is an error that names the key. */

/** A scenario says something that the runner does not understand: the scenario fails, it is never skipped. */
export class NotUnderstood extends Error {
  override name = 'NotUnderstood';
}

export type Fields = Readonly<Record<string, unknown>>;

export function show(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}

function wrong(where: string, wanted: string, value: unknown): NotUnderstood {
  return new NotUnderstood(`${where}: expected ${wanted}, got ${show(value)}`);
}

export function mapAt(value: unknown, where: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(where, 'a map', value);
  return value as Fields;
}

export function listAt(value: unknown, where: string): readonly unknown[] {
  if (!Array.isArray(value)) throw wrong(where, 'a list', value);
  return value as unknown[];
}

export function textAt(value: unknown, where: string): string {
  if (typeof value !== 'string' || value === '') throw wrong(where, 'a word or text', value);
  return value;
}

export function numberAt(value: unknown, where: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw wrong(where, 'a number', value);
  return value;
}

export function countAt(value: unknown, where: string): number {
  const count = numberAt(value, where);
  if (!Number.isInteger(count) || count < 0) throw wrong(where, 'a whole number', value);
  return count;
}

export function flagAt(value: unknown, where: string): boolean {
  if (typeof value !== 'boolean') throw wrong(where, 'true or false', value);
  return value;
}

export function onlyTrueAt(value: unknown, where: string): true {
  if (value !== true) throw wrong(where, 'true', value);
  return true;
}

/** Fails on the first key that nobody has a meaning for. */
export function onlyKeys(fields: Fields, known: readonly string[], where: string): void {
  for (const key of Object.keys(fields)) {
    if (!known.includes(key)) throw new NotUnderstood(`${where}: unknown key ${JSON.stringify(key)}`);
  }
}
