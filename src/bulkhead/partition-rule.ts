/**
 * Who may take now from a capacity that partitions share: the rule, free of state.
 *
 * Within its share a partition takes whatever is free. Beyond it, it borrows, and what others could claim is kept free: of
 * a share that somebody waits on, what he may still take; and for those who wait beyond theirs too, what would raise them
 * to the borrower's level (least borrowed first, then who was served longest ago). This is the progressive filling that
 * makes an allocation max-min fair (Bertsekas and Gallager, Data Networks, 6.5.2), one release at a time.
 *
 * Every order here is strict, so of all who wait there is always one for whom nothing is kept: nobody waits for another
 * in a circle. And nobody asks for more at once than its share, so a share always comes free for it.
 */

/** One partition, as the rule sees it. */
export interface Member {
  readonly share: Share;
  readonly used: number;
  /** The turn of its latest take: the lower, the longer ago. */
  readonly served: number;
  /** The greatest amount that it was ever asked for at once: what its next ask may need. */
  readonly largest: number;
  /** How many wait on it. */
  readonly waiting: number;
}

/** Permits guaranteed to one key, or to all keys together that have none of their own. */
export interface Share {
  readonly permits: number;
  readonly used: number;
  readonly served: number;
  /** Lower ranks borrow first. */
  readonly rank: number;
  /** Its partitions on which somebody may wait. */
  readonly members: ReadonlySet<Member>;
}

export interface SharedCapacity {
  readonly capacity: number;
  readonly used: number;
  /** How far beyond its permits a share may be used. */
  readonly borrow: number;
  /** Permits of each share that are never lent. */
  readonly reserve: number;
  readonly shares: ReadonlySet<Share>;
}

/** Whether `amount` fits now; monotone, so that what does not fit at some amount fits at no greater one. */
export function fitsIn(shared: SharedCapacity, member: Member, amount: number): boolean {
  const own = member.share;
  const beyond = own.used + amount - own.permits;
  if (beyond > shared.borrow) return false;
  let left = shared.capacity - shared.used - amount;
  if (beyond > 0) {
    for (const other of shared.shares) {
      if (left < 0) return false;
      if (other !== own) left -= keptFor(other, own, beyond, shared);
    }
  }
  for (const other of own.members) {
    if (left < 0) return false;
    if (other !== member && other.waiting > 0 && isBefore(other, member)) left -= keptWithin(other, member, amount);
  }
  return left >= 0;
}

/** The greatest amount that fits now, 0 when none does; `most` bounds the search. */
export function roomIn(shared: SharedCapacity, member: Member, most: number): number {
  let fitting = 0;
  let above = Math.max(0, Math.min(most, shared.capacity - shared.used)) + 1;
  // The whole is most often free or taken: asked first, it saves the search.
  for (let amount = above - 1; fitting + 1 < above; amount = (fitting + above) >> 1) {
    if (fitsIn(shared, member, amount)) fitting = amount;
    else above = amount;
  }
  return fitting;
}

/** What is kept of the capacity for another share while this one goes `beyond` its own. */
function keptFor(other: Share, own: Share, beyond: number, { borrow, reserve }: SharedCapacity): number {
  const unused = Math.max(0, other.permits - other.used);
  const wanted = wantedOf(other);
  // A lender: what it may still take of its own. It is never kept waiting for more than that.
  if (unused > 0) return Math.min(unused, Math.max(reserve, wanted.all));
  const borrowed = other.used - other.permits;
  if (wanted.all === 0 || !borrowsBefore(other, own)) return 0;
  const upToLevel = other.rank < own.rank ? wanted.all : beyond - 1 - borrowed;
  return Math.min(borrow - borrowed, Math.max(wanted.atOnce, Math.min(wanted.all, upToLevel)));
}

function wantedOf({ members }: Share): { readonly all: number; readonly atOnce: number } {
  let all = 0;
  let atOnce = 0;
  for (const { waiting, largest } of members) {
    if (waiting === 0) continue;
    // Each may ask as much as any before it: too much is kept of its own share at worst, never too little.
    all += waiting * largest;
    atOnce = Math.max(atOnce, largest);
  }
  return { all, atOnce };
}

function borrowsBefore(one: Share, other: Share): boolean {
  if (one.rank !== other.rank) return one.rank < other.rank;
  const more = one.used - one.permits - (other.used - other.permits);
  return more === 0 ? one.served < other.served : more < 0;
}

const isBefore = (one: Member, other: Member): boolean =>
  one.used === other.used ? one.served < other.served : one.used < other.used;

/** What is kept within a share for a key that has less of it. */
const keptWithin = (other: Member, { used }: Member, amount: number): number =>
  Math.max(other.largest, Math.min(other.waiting * other.largest, used + amount - 1 - other.used));
