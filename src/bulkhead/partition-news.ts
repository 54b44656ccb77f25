/** Who hears what when a partitioned capacity is handed out anew. */
import type { ShareBook } from './partition-seat.js';
import type { SeatBooks } from './partition-seats.js';

/** Makes the change, then tells those who can never have as much at once again, and those for whom there may be more. */
export function toldOf(books: SeatBooks, change: () => void): void {
  const limits = books.seats().map((seat) => [seat, books.limitOf(seat.share)] as const);
  const permits = new Map([...books.shares].map((share) => [share, share.permits]));
  const { capacity } = books;
  change();
  const lost = capacity - books.capacity;
  for (const [seat, limit] of limits) if (books.limitOf(seat.share) < limit) seat.announce.less();
  // What others lost beyond what the whole lost is there to be had, or to be borrowed.
  for (const [seat] of limits) if (lostByOthers(permits, seat.share) > lost) seat.announce.more();
}

function lostByOthers(before: ReadonlyMap<ShareBook, number>, own: ShareBook): number {
  let lost = 0;
  for (const [share, permits] of before) if (share !== own) lost += Math.max(0, permits - share.permits);
  return lost;
}
