/** The status records of the shipped accounts, each with a one-line `summary()` that names its numbers. */

/** What an account says of itself at one instant. */
export interface AccountStatus {
  summary(): string;
}

/** A gate's permits. `lastActivity` is the instant of the last take or give. */
export class SemaphoreStatus implements AccountStatus {
  constructor(
    readonly maxConcurrent: number,
    readonly availablePermits: number,
    readonly lastActivity: number,
    /** Permits out beyond a capacity that was lowered under them; they come back as work ends. */
    readonly overage = 0,
  ) {}

  get activeCount(): number {
    return this.maxConcurrent - this.availablePermits + this.overage;
  }

  summary(): string {
    const over = this.overage > 0 ? `, ${String(this.overage)} over` : '';
    return `${String(this.activeCount)}/${String(this.maxConcurrent)} permits in use${over}`;
  }
}

/** A bucket's two levels, floored, at one instant. */
export class TokenBucketStatus implements AccountStatus {
  constructor(
    readonly maxRequests: number,
    readonly availableRequests: number,
    readonly maxTokens: number,
    readonly availableTokens: number,
    readonly instant: number,
    /** The instant until which it is closed; null when it is open. */
    readonly closedUntil: number | null = null,
  ) {}

  /** A request slot and at least `tokens` tokens. */
  hasCapacity(tokens: number): boolean {
    return this.closedUntil === null && this.availableRequests >= 1 && this.availableTokens >= tokens;
  }

  summary(): string {
    const tokens = `${String(this.availableTokens)}/${String(this.maxTokens)} tokens`;
    const closed = this.closedUntil === null ? '' : `, closed for ${String(Math.ceil(this.closedUntil - this.instant))}ms more`;
    return `${tokens}, ${String(this.availableRequests)}/${String(this.maxRequests)} requests available${closed}`;
  }
}

export type CircuitName = 'HEALTHY' | 'BLOCKED' | 'PROBING';

/** A window's free slots, how far it is stretched, and its circuit. */
export class ElasticWindowStatus implements AccountStatus {
  constructor(
    readonly maxRequests: number,
    readonly availablePermits: number,
    readonly throttle: number,
    readonly effectiveWindowMs: number,
    readonly circuit: CircuitName,
  ) {}

  summary(): string {
    const slots = `${String(this.availablePermits)}/${String(this.maxRequests)} requests available`;
    return `${slots} per ${String(this.effectiveWindowMs)}ms, throttle ${this.throttle.toFixed(1)}, ${this.circuit}`;
  }
}

export type MemoryZone = 'CRITICAL' | 'DRAINING' | 'GREEN';

/** The heap as the memory gate reads it, and how it paces its line. */
export class MemoryStatus implements AccountStatus {
  constructor(
    readonly heapUsedBytes: number,
    readonly heapMaxBytes: number,
    readonly usageRatio: number,
    readonly floorRatio: number,
    readonly zone: MemoryZone,
    readonly heldOnMemory: number,
    readonly pacingDelayMs: number,
    readonly growthPenalty: number,
  ) {}

  summary(): string {
    const percent = (ratio: number): string => `${(ratio * 100).toFixed(1)}%`;
    return (
      `heap ${percent(this.usageRatio)}, floor ${percent(this.floorRatio)}, zone ${this.zone}, ` +
      `${String(this.heldOnMemory)} in the line of memory, ${String(this.pacingDelayMs)}ms to the next release, ` +
      `penalty x${String(Number(this.growthPenalty.toFixed(2)))}`
    );
  }
}
