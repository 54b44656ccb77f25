/** Reads headers by name, whatever an SDK keeps them in. */

/** `Headers`, a plain record, or pairs. */
export type HeadersLike =
  | { get(name: string): string | null | undefined }
  | Iterable<readonly [string, string]>
  | Readonly<Record<string, string | readonly string[] | number | null | undefined>>;

/** The trimmed value of a header, null where it is absent or empty. Names are in lower case. */
export type HeaderReader = (name: string) => string | null;

export function headerReader(headers: HeadersLike | null | undefined): HeaderReader {
  if (headers === null || headers === undefined) return () => null;
  if ('get' in headers && typeof headers.get === 'function') {
    const source = headers as { get(name: string): unknown };
    return (name) => said(source.get(name));
  }
  const pairs = Symbol.iterator in headers ? (headers as Iterable<readonly [string, string]>) : Object.entries(headers);
  const known = new Map<string, unknown>();
  for (const [name, value] of pairs) known.set(name.toLowerCase(), value);
  return (name) => said(known.get(name));
}

/** The server's clock where it tells it: its dates are then compared with its own, not with ours. */
export function wallClockOf(read: HeaderReader, wallNow: () => number): number {
  const date = Date.parse(read('date') ?? '');
  return Number.isNaN(date) ? wallNow() : date;
}

function said(value: unknown): string | null {
  const text = Array.isArray(value) ? value.join(', ') : typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  const trimmed = text.trim();
  return trimmed === '' ? null : trimmed;
}
