/** Who hears what when a partitioned capacity is handed out anew. */
import type { Seat, ShareBook } from './partition-seat.js';
import type { SeatBooks } from './partition-seats.js';

interface Before {
  readonly seat: Seat;
  readonly permits: number;
  readonly limit: number;
}

/** Makes the change, then tells those who can never have as much at once again, and those for whom there may be more. */
export function toldOf(seats: readonly Seat[], books: SeatBooks, change: () => void): void {
  const befores = seats.map((seat): Before => ({ seat, permits: seat.share.permits, limit: books.limitOf(seat.share) }));
  const shares = new Map<ShareBook, number>([...books.shares].map((share) => [share, share.permits]));
  const { capacity } = books;
  change();
  const lost = capacity - books.capacity;
  for (const { seat, limit } of befores) if (books.limitOf(seat.share) < limit) seat.announce.less();
  for (const { seat, permits } of befores) {
    // What others lost beyond what the whole lost is there to be had, or to be borrowed.
    if (seat.share.permits > permits || lostByOthers(shares, seat.share) > lost) seat.announce.more();
  }
}

function lostByOthers(before: ReadonlyMap<ShareBook, number>, own: ShareBook): number {
  let lost = 0;
  for (const [share, permits] of before) if (share !== own) lost += Math.max(0, permits - share.permits);
  return lost;
}
