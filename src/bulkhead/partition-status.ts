/** What a partitioned capacity and each of its partitions say of themselves, with a line that names the numbers. */
import type { AccountStatus } from '../index.js';

interface PartitionFigures {
  readonly key: string;
  /** Permits guaranteed to it; null for a key that has none of its own and lives on the rest. */
  readonly share: number | null;
  readonly inUse: number;
  /** Jobs held on it. */
  readonly waiting: number;
  /** ms since which it is used beyond its share without a break; null while it is not. */
  readonly borrowedFor: number | null;
}

/** One partition, or the rest as a whole. */
export class PartitionStatus implements AccountStatus, PartitionFigures {
  declare readonly key: string;
  declare readonly share: number | null;
  declare readonly inUse: number;
  declare readonly waiting: number;
  declare readonly borrowedFor: number | null;

  constructor(figures: PartitionFigures) {
    Object.assign(this, figures);
  }

  /** Permits beyond its share. */
  get borrowed(): number {
    return this.share === null ? 0 : Math.max(0, this.inUse - this.share);
  }

  /** Permits of its share that it does not use: idle, or lent. */
  get unused(): number {
    return this.share === null ? 0 : Math.max(0, this.share - this.inUse);
  }

  summary(): string {
    const { share, inUse, borrowed, borrowedFor, waiting } = this;
    const used = share === null ? `${String(inUse)} permits of the rest in use` : `${String(inUse)}/${String(share)} permits in use`;
    const lent = borrowed === 0 ? '' : `, ${String(borrowed)} borrowed for ${String(Math.ceil(Number(borrowedFor)))}ms`;
    return `${used}${lent}${waiting === 0 ? '' : `, ${String(waiting)} waiting`}`;
  }
}

/** The whole: the shares by key, and the keys that live on the rest and are in use. */
export class PartitionedStatus implements AccountStatus {
  constructor(
    readonly capacity: number,
    readonly inUse: number,
    /** Permits that are guaranteed to nobody by name: the keys without a share have them together. */
    readonly rest: number,
    readonly partitions: readonly PartitionStatus[],
  ) {}

  get free(): number {
    return Math.max(0, this.capacity - this.inUse);
  }

  /** Permits out beyond a capacity that was lowered under them; they come back as work ends. */
  get overage(): number {
    return Math.max(0, this.inUse - this.capacity);
  }

  summary(): string {
    const over = this.overage > 0 ? `, ${String(this.overage)} over` : '';
    const lines = this.partitions.map((partition) => `; ${partition.key}: ${partition.summary()}`);
    return `${String(this.inUse)}/${String(this.capacity)} permits in use${over}${lines.join('')}`;
  }
}
