/** The elastic window and its circuit, from the rules. */
import { Refusal, sum, type ModelAccount, type Receipt } from './account.js';
import { Tenths } from './tenths.js';
import type { WindowSpec } from '../conformance/given.js';

const FAILURES_TO_OPEN = 3;

interface Stamp {
  readonly at: number;
  /** Of the take that moved the circuit to PROBING. */
  readonly probe: object | null;
}

interface Probe {
  readonly since: number;
  readonly receipt: Receipt | undefined;
}

export class ModelWindow implements ModelAccount {
  readonly category = 'elastic_window';
  readonly replenishment = 'time';
  wake = (): void => undefined;
  readonly capacity: number;
  readonly #throttle = new Tenths();
  readonly #initial: number;
  readonly #longest: number;
  readonly #timeout: number;
  #stamps: Stamp[] = [];
  #circuit: 'HEALTHY' | 'BLOCKED' | 'PROBING' = 'HEALTHY';
  #failures = 0;
  #cooldown = 0;
  #blockedUntil = 0;
  #probe: Probe | null = null;

  constructor(
    readonly name: string,
    private readonly spec: WindowSpec,
  ) {
    this.capacity = spec.maxRequests;
    this.#initial = spec.initialCooldown ?? 30_000;
    this.#longest = spec.maxCooldown ?? 3_600_000;
    this.#timeout = spec.probeTimeout ?? this.#longest;
  }

  fits(mine: readonly number[], ahead: readonly number[], at: number): boolean {
    this.#noticeSilence(at);
    const own = sum(mine);
    if (own > this.capacity) throw new Refusal(`${this.name}: ${own} can never fit a window of ${this.capacity}`);
    if (this.#circuit === 'PROBING') throw new Refusal(`${this.name}: single probe in flight`);
    if (this.#circuit === 'BLOCKED') {
      if (at < this.#blockedUntil) throw new Refusal(`${this.name}: cooldown active`);
      if (ahead.length > 0) throw new Refusal(`${this.name}: single probe in flight`);
    }
    return this.#live(at).length + own + sum(ahead) <= this.capacity;
  }

  tryTake(mine: readonly number[], ahead: readonly number[], at: number, receipt?: Receipt): boolean {
    if (!this.fits(mine, ahead, at)) return false;
    if (this.#circuit === 'BLOCKED') {
      this.#circuit = 'PROBING';
      this.#probe = { since: at, receipt };
    }
    for (let slot = sum(mine); slot > 0; slot -= 1) this.#stamps.push({ at, probe: this.#probe });
    return true;
  }

  give(amounts: readonly number[], at: number, receipt?: Receipt): void {
    this.#live(at);
    const probe = this.#circuit === 'PROBING' ? this.#probe : null;
    const own = probe !== null && (receipt === undefined || receipt === probe.receipt);
    let left = sum(amounts);
    for (let index = this.#stamps.length - 1; index >= 0 && left > 0; index -= 1) {
      if (probe !== null && !own && this.#stamps[index]?.probe === probe) continue;
      this.#stamps.splice(index, 1);
      left -= 1;
    }
    if (own) this.#block();
  }

  earliestFit(mine: readonly number[], ahead: readonly number[], at: number): number | null {
    const wanted = sum(mine) + sum(ahead);
    if (wanted > this.capacity) return null;
    const live = this.#live(at);
    const deficit = live.length + wanted - this.capacity;
    if (deficit <= 0) return at;
    return (live[deficit - 1]?.at ?? NaN) + this.#width;
  }

  failure(at: number): void {
    this.advisory(at);
    if (this.#circuit === 'HEALTHY') {
      if (!this.#throttle.highest) return;
      this.#failures += 1;
      if (this.#failures < FAILURES_TO_OPEN) return;
      this.#cooldown = this.#initial;
      this.#blockedUntil = at + this.#cooldown;
      this.#block();
    } else if (this.#circuit === 'PROBING') {
      this.#cooldown = Math.min(this.#longest, Math.max(this.#initial, 2 * this.#cooldown));
      this.#blockedUntil = at + this.#cooldown;
      this.#block();
    }
  }

  advisory(at: number): void {
    this.#live(at);
    this.#throttle.raise(10, at);
  }

  success(at: number): void {
    this.#failures = 0;
    const closes = this.#circuit === 'PROBING';
    if (closes) {
      this.#circuit = 'HEALTHY';
      this.#probe = null;
    }
    const relaxed = this.#throttle.success(at);
    if (closes || relaxed) this.wake();
  }

  inUse(at: number): number {
    return this.#live(at).length;
  }

  indicator(): string | null {
    if (this.#circuit === 'BLOCKED') return 'blocked';
    return this.#circuit === 'PROBING' ? 'probing' : this.#throttle.indicator;
  }

  property(name: string, at: number): unknown {
    switch (name) {
      case 'circuit':
        return this.#circuit;
      case 'throttle':
        return this.#throttle.value / 10;
      case 'effectiveWindowMs':
        return this.#width;
      case 'cooldownRemainingMs':
        return this.#circuit === 'BLOCKED' ? Math.max(0, this.#blockedUntil - at) : 0;
      case 'maxRequests':
        return this.capacity;
      case 'availablePermits':
        return Math.max(0, this.capacity - this.inUse(at));
      default:
        return undefined;
    }
  }

  get #width(): number {
    return Math.floor((this.spec.baseWindow * (10 + this.#throttle.value)) / 10);
  }

  /** A stamp has left at exactly its instant plus the width, and stays left. */
  #live(at: number): readonly Stamp[] {
    this.#stamps = this.#stamps.filter((stamp) => stamp.at + this.#width > at);
    return this.#stamps;
  }

  #block(): void {
    this.#circuit = 'BLOCKED';
    this.#probe = null;
  }

  /** A probe that nobody spoke of expires, noticed by a question; the cooldown stays the old one, which is over. */
  #noticeSilence(at: number): void {
    if (this.#circuit === 'PROBING' && this.#probe && at - this.#probe.since >= this.#timeout) this.#block();
  }
}
