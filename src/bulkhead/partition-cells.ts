/** Fixed cells by hash: state for any number of keys, at the price that keys of one cell wait for each other. */

/** 32-bit FNV-1a (Fowler, Noll and Vo; RFC 9923), over UTF-16 code units. */
const OFFSET = 0x811c9dc5;
const PRIME = 0x01000193;

/** The cell of a key; the same one for the same number of cells, in every process. */
export function cellOf(key: string, cells: number): number {
  let hash = OFFSET;
  for (let n = 0; n < key.length; n += 1) hash = Math.imul(hash ^ key.charCodeAt(n), PRIME);
  return (hash >>> 0) % cells;
}
