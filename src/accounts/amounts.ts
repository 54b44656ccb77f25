/** What amounts come to, for events and for accounts that count in numbers. */

/** What an event says was asked: numeric amounts summed, anything else counted as one. */
export function amountOf(amounts: readonly unknown[]): number {
  let total = 0;
  for (const amount of amounts) total += typeof amount === 'number' ? amount : 1;
  return total;
}
