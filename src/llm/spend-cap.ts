/** A cap on money, consulted before a call asks for anything: what is spent, and what siblings in flight may still cost. */
import { RefusedError } from '../index.js';
import type { Estimate } from './estimate.js';
import { assertKnown, type Known } from './known-options.js';
import type { LlmCall } from './call.js';
import type { Usage } from './usage.js';

export interface Money {
  readonly amount: number;
  /** As ISO 4217 has it, such as `USD`; or a unit of your own. */
  readonly currency: string;
}

/** What tokens of a model cost. A bare number is in the cap's currency. */
export type Price = (usage: Usage, model: string) => number | Money;

export interface SpendCapOptions {
  /** What may be spent in all. */
  readonly limit: number | Money;
  /** What a call costs. Called with the most it may use before it, and with what it used after it. */
  readonly price: Price;
  /** `USD` unless given, or unless the limit says. */
  readonly currency?: string | undefined;
  /** How refusals and status call it; `spend` unless given. */
  readonly name?: string | undefined;
}

/** Something that may cost, set aside until it is known what it did cost. Settled once. */
export interface Spending {
  readonly reserved: number;
  /** It cost that much; more than was reserved is spent too. */
  readonly settle: (actual: number | Money) => void;
  /** It never ran. */
  readonly cancel: () => void;
}

/** What is set aside for one call of a model, settled once by what it used. */
export interface CallSpending {
  /** Null where nobody knows: as with tokens, what was set aside is spent then. */
  readonly used: (usage: Usage | null) => void;
  /** It never ran, or was refused. */
  readonly cancel: () => void;
}

const KNOWN: Known<SpendCapOptions> = { limit: true, price: true, currency: true, name: true };

/** Sums of cents in binary fractions: less than this is no difference. */
const SLACK = 1e-9;

/**
 * Refuses whoever might pass the cap; stops nothing that runs.
 *
 * @throws RangeError when the limit is no amount from zero up; TypeError when limit and currency disagree.
 *
 * @example
 * ```ts
 * // Dollars for a million tokens.
 * const cap = spendCap({ limit: 5, price: ({ input, output }) => (input * 1.25 + output * 10) / 1e6 });
 * const fetch = admittedFetch(admission, { tokens: gpt, spend: cap });
 * console.log(cap.status().summary());
 * ```
 */
export function spendCap(options: SpendCapOptions): SpendCap {
  assertKnown('spendCap', options, KNOWN);
  return new SpendCap(options);
}

export class SpendCap {
  readonly name: string;
  readonly currency: string;
  readonly #price: Price;
  #limit: number;
  #spent = 0;
  #inFlight = 0;

  constructor({ limit, price, name = 'spend', currency = typeof limit === 'object' ? limit.currency : 'USD' }: SpendCapOptions) {
    this.name = name;
    this.currency = currency;
    this.#price = price;
    this.#limit = this.#amount('limit', limit);
  }

  /** A new limit, at any time; what was spent stays spent. */
  setLimit(limit: number | Money): void {
    this.#limit = this.#amount('limit', limit);
  }

  /**
   * Sets aside what a call may cost.
   *
   * @throws RefusedError with the numbers when that, what was spent, and what others have set aside would pass the cap;
   *   RangeError on what is no amount, TypeError on another currency.
   */
  reserve(most: number | Money): Spending {
    const reserved = this.#amount('what a call may cost', most);
    if (reserved + this.#spent + this.#inFlight > this.#limit + SLACK) throw this.#refusal(reserved);
    this.#inFlight += reserved;
    let isOpen = true;
    const close = (cost: number): void => {
      if (!isOpen) return;
      isOpen = false;
      this.#inFlight = Math.max(0, this.#inFlight - reserved);
      this.#spent += cost;
    };
    return {
      reserved,
      settle: (actual) => {
        close(this.#amount('what a call did cost', actual));
      },
      cancel: () => {
        close(0);
      },
    };
  }

  /** Sets aside the most that a call may cost: its estimated prompt, and all that its answers may take. */
  reserveFor({ model }: LlmCall, { input, maxOutput }: Estimate): CallSpending {
    const spending = this.reserve(this.#price({ input, cacheRead: 0, cacheWrite: 0, output: maxOutput }, model));
    return {
      cancel: spending.cancel,
      used: (usage) => {
        try {
          if (usage !== null) spending.settle(this.#price(usage, model));
        } finally {
          // Also where the price could not be told; settled once, it changes nothing else.
          spending.settle(spending.reserved);
        }
      },
    };
  }

  status(): SpendStatus {
    return new SpendStatus(this.name, this.currency, this.#limit, this.#spent, this.#inFlight);
  }

  #refusal(reserved: number): RefusedError {
    const { limit, spent, inFlight } = this.status();
    const money = (amount: number): string => shown(amount, this.currency);
    return new RefusedError(
      `${this.name}: this call may cost ${money(reserved)}; of ${money(limit)} there are ${money(spent)} spent and ` +
        `${money(inFlight)} set aside for calls in flight; ask for less, or raise the cap`,
      { account: this.name },
    );
  }

  /** Of this cap's own currency: there is no rate that would not be a guess. */
  #amount(what: string, money: number | Money): number {
    const { amount, currency } = typeof money === 'object' ? money : { amount: money, currency: this.currency };
    if (currency !== this.currency) {
      throw new TypeError(`${this.name}: ${what} is in ${currency}, and the cap in ${this.currency}; convert it, or keep a cap of its own`);
    }
    if (typeof amount === 'number' && Number.isFinite(amount) && amount >= 0) return amount;
    throw new RangeError(`${this.name}: ${what} must be an amount from zero up, not ${String(amount)}`);
  }
}

/** A cap at one instant. */
export class SpendStatus {
  constructor(
    readonly name: string,
    readonly currency: string,
    readonly limit: number,
    readonly spent: number,
    /** Set aside for calls that have not ended. */
    readonly inFlight: number,
  ) {}

  get available(): number {
    return Math.max(0, this.limit - this.spent - this.inFlight);
  }

  summary(): string {
    const money = (amount: number): string => shown(amount, this.currency);
    return `${this.name}: ${money(this.spent)} of ${money(this.limit)} spent, ${money(this.inFlight)} in flight`;
  }
}

/** Down to a hundredth of a cent: most calls cost less than a cent. */
const shown = (amount: number, currency: string): string => `${amount.toFixed(4)} ${currency}`;
