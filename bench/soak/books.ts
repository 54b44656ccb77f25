/** Our own books of what is out, kept beside the accounts': both must agree whenever somebody looks. */
import { CountingGate, demand, ElasticWindow, TokenBucket, type Demand } from 'rx-admission';
import type { SchedulerLike } from 'rxjs';

export type Random = () => number;
export const upTo = (random: Random, most: number): number => Math.floor(random() * (most + 1));

/** What one job takes: permits of each gate, tokens, requests. */
export interface Taking {
  readonly whole: Demand;
  readonly permits: readonly number[];
  readonly tokens: number;
}

const GATES = 3;
const CAPACITY = 24;
/** A minute's tokens come in a second or so: the bucket is short now and then. */
const TOKENS_PER_MINUTE = 60e6;

export class Books {
  readonly gates: readonly CountingGate[];
  readonly bucket: TokenBucket;
  readonly window: ElasticWindow;
  /** Permits that are out, by gate. */
  readonly #out = Array.from({ length: GATES }, () => 0);
  readonly #began: number;
  #tokens = 0;
  #granted = 0;

  constructor(readonly clock: SchedulerLike) {
    const shared = { scheduler: clock };
    this.gates = this.#out.map((_, index) => new CountingGate({ name: `gate ${index}`, capacity: CAPACITY, ...shared }));
    this.bucket = new TokenBucket({ name: 'bucket', tokensPerMinute: TOKENS_PER_MINUTE, ...shared });
    this.window = new ElasticWindow({ name: 'window', maxRequests: 2_000, baseWindow: 20, ...shared });
    this.#began = clock.now();
  }

  get granted(): number {
    return this.#granted;
  }

  /** A demand over some of the accounts. */
  draw(random: Random): Taking {
    let whole: Demand = demand();
    const permits = this.gates.map((gate) => {
      if (random() < 0.5) return 0;
      // One in fifty wants more than a gate that was resized may have.
      const amount = 1 + upTo(random, random() < 0.02 ? CAPACITY - 1 : 3);
      whole = whole.add(gate, amount);
      return amount;
    });
    const tokens = random() < 0.3 ? upTo(random, 400) : 0;
    if (tokens > 0) whole = whole.add(this.bucket, tokens);
    if (random() < 0.2) whole = whole.add(this.window);
    return { whole, permits, tokens };
  }

  took({ permits, tokens }: Taking): void {
    this.#granted += 1;
    this.#tokens += tokens;
    permits.forEach((amount, gate) => (this.#out[gate] = (this.#out[gate] ?? 0) + amount));
  }

  gave({ permits, tokens }: Taking, verb: 'release' | 'rollback'): void {
    permits.forEach((amount, gate) => (this.#out[gate] = (this.#out[gate] ?? 0) - amount));
    if (verb === 'rollback') this.#tokens -= tokens;
  }

  resize(random: Random): void {
    const gate = this.gates[upTo(random, GATES - 1)];
    gate?.resize(1 + upTo(random, CAPACITY - 1));
  }

  pause(random: Random): void {
    const gate = this.gates[upTo(random, GATES - 1)];
    if (gate?.paused === true) gate.resume();
    else gate?.pause();
  }

  /** Everybody can go. */
  open(): void {
    for (const gate of this.gates) {
      gate.resume();
      gate.resize(CAPACITY);
    }
  }

  /** @throws Error where the accounts and we do not agree, or time has brought less than was taken. */
  check(): void {
    this.gates.forEach((gate, index) => {
      const out = this.#out[index] ?? NaN;
      if (gate.inUse() !== out) throw new Error(`${gate.name}: ${gate.inUse()} permits are out, and ${out} are held`);
    });
    const brought = this.bucket.capacity + ((this.clock.now() - this.#began) * TOKENS_PER_MINUTE) / 60_000;
    if (this.#tokens > brought + 1) throw new Error(`bucket: ${this.#tokens} tokens were taken of ${brought}`);
    const level = this.bucket.tokens();
    if (level < 0 || level > this.bucket.capacity) throw new Error(`bucket: ${level} tokens of ${this.bucket.capacity}`);
    if (this.window.inUse() > this.window.capacity) throw new Error(`window: ${this.window.inUse()} requests at once`);
  }
}
