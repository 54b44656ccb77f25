/** Who hears what when a partitioned capacity is handed out anew. */
import type { Seat, ShareBook } from './partition-seat.js';
import type { SeatBooks } from './partition-seats.js';

/** Tells each line once, and whoever listens to one account. */
export function announce(books: SeatBooks, more: readonly Seat[], less: readonly Seat[]): void {
  for (const seat of less) seat.announce.less();
  if (less.length > 0) books.announceLess();
  for (const seat of more) seat.announce.more();
  if (more.length > 0) books.announceMore();
}

/** Makes the change, then tells those who can never have as much at once again, and those for whom there may be more. */
export function toldOf(books: SeatBooks, change: () => void): void {
  const seats = books.seats();
  const limits = limitsIn(books);
  const limitsBefore = seats.map((seat) => limits(seat));
  const permits = new Map([...books.shares].map((share) => [share, share.permits]));
  const { capacity } = books;
  change();
  const lossOf = (share: ShareBook): number => Math.max(0, (permits.get(share) ?? 0) - share.permits);
  let lostByAll = 0;
  for (const share of permits.keys()) lostByAll += lossOf(share);
  const lost = capacity - books.capacity;
  const limitsAfter = limitsIn(books);
  const less = seats.filter((seat, n) => limitsAfter(seat) < (limitsBefore[n] ?? 0));
  // What others lost beyond what the whole lost is there to be had, or to be borrowed.
  const more = seats.filter(({ share }) => lostByAll - lossOf(share) > lost);
  announce(books, more, less);
}

/** The limit of a seat, found once a share: keys without one share theirs. */
function limitsIn(books: SeatBooks): (seat: Seat) => number {
  const known = new Map<ShareBook, number>();
  return ({ share }) => {
    const limit = known.get(share) ?? books.limitOf(share);
    known.set(share, limit);
    return limit;
  };
}
