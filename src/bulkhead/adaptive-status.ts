/** An adaptive gate at one instant: its permits, where its limit comes from, and what it last measured. */
import { SemaphoreStatus } from '../index.js';

export class AdaptiveStatus extends SemaphoreStatus {
  constructor(
    permits: SemaphoreStatus,
    /** How its limit algorithm is called. */
    readonly algorithm: string,
    readonly min: number,
    readonly max: number,
    /** Why the limit is the static one; null while it adapts. */
    readonly failure: string | null,
    /** The limit is held down for a few windows, to measure latency without load. */
    readonly isProbing: boolean,
    /** The mean of the last window, ms; null before the first. */
    readonly latency: number | null,
    /** How often the limit was changed. */
    readonly changes: number,
  ) {
    super(permits.maxConcurrent, permits.availablePermits, permits.lastActivity, permits.overage);
  }

  /** The effective limit, permits. */
  get limit(): number {
    return this.maxConcurrent;
  }

  get mode(): 'adaptive' | 'static' {
    return this.failure === null ? 'adaptive' : 'static';
  }

  override summary(): string {
    const bounds = `${String(this.min)} to ${String(this.max)}`;
    const latency = this.latency === null ? 'nothing measured yet' : `${this.latency.toFixed(1)}ms`;
    const probing = this.isProbing ? ', probing' : '';
    const source = this.failure === null ? `${this.algorithm} ${bounds}, ${latency}${probing}` : `static: ${this.failure}`;
    return `${super.summary()}, ${source}`;
  }
}
