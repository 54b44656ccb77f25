/** Types of demands: every amount is one that its account counts in. The compiler is the test; running only shows the throws. */
import {
  AbstractAccount,
  CountingGate,
  Demand,
  ElasticWindow,
  TokenBucket,
  demand,
  router,
  type Account,
  type DemandEntry,
} from 'rx-admission';
import { describe, expect, expectTypeOf, it } from 'vitest';

interface Parcel {
  readonly grams: number;
}

/** Counts in parcels, not in numbers. */
class Scales extends AbstractAccount<Parcel> {
  override readonly capacity = 1_000;
  inUse(): number {
    return 0;
  }
  fits(mine: readonly Parcel[]): boolean {
    return mine.every(({ grams }) => grams < this.capacity);
  }
  tryTake(): boolean {
    return true;
  }
  give(): void {
    // Nothing is held.
  }
  earliestFit(): null {
    return null;
  }
}

const slot = new CountingGate({ name: 'slot', capacity: 5 });
const tokens = new TokenBucket({ name: 'tokens', tokensPerMinute: 1_000 });
const window = new ElasticWindow({ name: 'window', maxRequests: 5, baseWindow: 1_000 });
const scales = new Scales('scales');

describe('demand()', () => {
  it('takes accounts, and accounts with amounts of their own kind', () => {
    expectTypeOf(demand(slot, [tokens, 5], [window, 1, 1], [scales, { grams: 5 }])).toEqualTypeOf<Demand>();
    expectTypeOf(demand()).toEqualTypeOf<Demand>();
    expectTypeOf(demand([slot])).toEqualTypeOf<Demand>();
    const parts = [slot, window] as const;
    expectTypeOf(demand(...parts)).toEqualTypeOf<Demand>();
    const gates: CountingGate[] = [slot];
    expectTypeOf(demand(...gates)).toEqualTypeOf<Demand>();
  });

  it('refuses an amount of another kind', () => {
    // @ts-expect-error -- a gate counts in numbers
    expect(() => demand([slot, 'two'])).toThrow(RangeError);
    // @ts-expect-error -- the second amount as well
    expect(() => demand([tokens, 1, { grams: 1 }])).toThrow(RangeError);
    // @ts-expect-error -- scales count in parcels
    demand([scales, 5]);
    // @ts-expect-error -- one permit is no parcel: it has to be said how heavy
    demand(scales);
    // @ts-expect-error -- a number is no account
    expect(() => demand(5)).toThrow();
    // @ts-expect-error -- a name is no account
    expect(() => demand('slot')).toThrow();
  });

  it('checks each part of many', () => {
    // @ts-expect-error -- the last one is wrong
    demand(slot, [tokens, 5], [scales, 5]);
    // @ts-expect-error -- the first one is wrong
    demand([scales, 'heavy'], slot);
  });

  it('add is typed by the account as well', () => {
    expectTypeOf(Demand.empty.add(slot)).toEqualTypeOf<Demand>();
    expectTypeOf(Demand.empty.add(scales, { grams: 1 }, { grams: 2 })).toEqualTypeOf<Demand>();
    // @ts-expect-error -- a parcel, not a number
    Demand.empty.add(scales, 5);
    expectTypeOf(demand(slot).entries).toEqualTypeOf<readonly DemandEntry[]>();
    expectTypeOf(demand(slot).isEmpty).toEqualTypeOf<boolean>();
  });

  it('entries are read-only', () => {
    const made = demand(slot);
    expectTypeOf(made.entries).not.toExtend<DemandEntry[]>();
    // @ts-expect-error -- nor replaced in it
    expect(() => (made.entries = [])).toThrow();
  });

  it('a router is asked in its own amounts', () => {
    const models = router({
      name: 'models',
      accounts: [tokens],
      route: (call: { readonly model: string; readonly tokens: number }) => ({ account: tokens, amount: call.tokens }),
    });
    expectTypeOf(demand([models, { model: 'a', tokens: 5 }])).toEqualTypeOf<Demand>();
    // @ts-expect-error -- a call, not a number
    expect(() => demand([models, 5])).toThrow();
  });

  it('an account of a user is an Account of its amounts', () => {
    expectTypeOf(slot).toExtend<Account>();
    expectTypeOf(scales).toExtend<Account<Parcel>>();
    expectTypeOf(scales).not.toExtend<Account<string>>();
  });
});
