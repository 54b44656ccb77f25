/** A router: one name in front of several accounts. */
import {
  AbstractAccount,
  CountingGate,
  RefusedError,
  TokenBucket,
  createAdmission,
  demand,
  router,
  type Account,
  type Router,
} from 'rx-admission';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../conformance/virtual-clock.js';
import { RecordedLog, Wakes } from './recorded-log.js';

interface Call {
  readonly model: 'gpt' | 'claude';
  readonly tokens: number;
}

const gpt = (tokens: number): Call => ({ model: 'gpt', tokens });
const claude = (tokens: number): Call => ({ model: 'claude', tokens });

class Two {
  readonly gpt = new TokenBucket({ name: 'gpt', tokensPerMinute: 600, log: new RecordedLog() });
  readonly claude = new TokenBucket({ name: 'claude', tokensPerMinute: 60, log: new RecordedLog() });
  readonly models: Router<Call> = router({
    name: 'models',
    accounts: [this.gpt, this.claude, this.gpt],
    route: (call: Call) => ({ account: call.model === 'gpt' ? this.gpt : this.claude, amount: call.tokens }),
  });
}

describe('a router', () => {
  it('is named, of category router, and replenishes as its accounts do', () => {
    expect(new Two().models).toMatchObject({ name: 'models', category: 'router', replenishment: 'time' });
    const gates = [new CountingGate({ name: 'a', capacity: 1 })];
    expect(
      router({ name: 'r', accounts: gates, route: (account: CountingGate) => ({ account, amount: 1 }) }).replenishment,
    ).toBe('release');
  });

  it('holds and has in use what its accounts do together, each counted once', () => {
    const { models, gpt: bucket } = new Two();
    bucket.tryTake([100], [], 0);
    expect([models.capacity, models.inUse(0)]).toEqual([660, 100]);
  });

  it('refuses to stand in front of nothing', () => {
    expect(() => router({ name: 'r', accounts: [], route: () => ({ account: new Two().gpt, amount: 1 }) })).toThrow(
      new RangeError('router r: name at least one account to route to'),
    );
  });

  it('refuses accounts that replenish differently: a release would be right for some only', () => {
    const accounts: Account[] = [new Two().gpt, new CountingGate({ name: 'a', capacity: 1 })];
    expect(() => router({ name: 'r', accounts, route: () => ({ account: new Two().gpt, amount: 1 }) })).toThrow(
      new RangeError('router r: its accounts must replenish alike, all by release or all by time'),
    );
  });

  it('refuses a route that leads elsewhere, and names it', () => {
    const elsewhere = new TokenBucket({ name: 'elsewhere', tokensPerMinute: 1 });
    const lost = router({
      name: 'r',
      accounts: [new Two().gpt],
      route: (amount: number) => ({ account: elsewhere, amount }),
    });
    for (const ask of [() => lost.fits([1], [], 0), () => demand([lost, 1]), () => lost.accountFor(1)]) {
      expect(ask).toThrow(new TypeError('router r led to "elsewhere", which is not among its accounts'));
    }
  });

  it('has the account behind validate an amount', () => {
    const { models } = new Two();
    expect(() => {
      models.validate(gpt(-1));
    }).toThrow(new RangeError('gpt: an amount of tokens must be zero or a positive number, not -1'));
    expect(() => demand([models, claude(NaN)])).toThrow('claude: an amount of tokens');
  });

  it('announces what any of its accounts announces', () => {
    const { models, gpt: bucket, claude: other } = new Two();
    const wakes = new Wakes(models);
    bucket.give([1], 0);
    other.give([1], 0);
    expect(wakes.take()).toBe(2);
  });
});

describe('a router asked directly', () => {
  it('fits when every account behind it does, and asks each for its own amounts and reservation', () => {
    const { models } = new Two();
    expect(models.fits([gpt(300), claude(60), gpt(300)], [], 0)).toBe(true);
    expect(models.fits([gpt(300), claude(30)], [claude(31)], 0)).toBe(false);
    expect(models.fits([gpt(600)], [claude(60)], 0)).toBe(true);
  });

  it('refuses an impossible amount behind a short one', () => {
    const { models, gpt: bucket } = new Two();
    bucket.tryTake([600], [], 0);
    expect(() => models.fits([gpt(1), claude(61)], [], 0)).toThrow(RefusedError);
  });

  it('takes all or nothing', () => {
    const { models, gpt: bucket, claude: other } = new Two();
    other.tryTake([50], [], 0);
    expect(models.tryTake([gpt(100), claude(20)], [], 0)).toBe(false);
    expect([bucket.tokens(0), other.tokens(0)]).toEqual([600, 10]);
    expect(() => models.tryTake([gpt(100), claude(61)], [], 0)).toThrow(RefusedError);
    expect([bucket.tokens(0), other.tokens(0)]).toEqual([600, 10]);
    expect(models.tryTake([gpt(100), claude(10)], [], 0)).toBe(true);
    expect([bucket.tokens(0), other.tokens(0)]).toEqual([500, 0]);
    models.give([gpt(100), claude(10)], 0);
    expect([bucket.tokens(0), other.tokens(0)]).toEqual([600, 10]);
  });

  it('hands the receipt to every account, for the take, the give and the compensation', () => {
    const seen: string[] = [];
    const receipt = {};
    class Witness extends AbstractAccount {
      readonly capacity = 1;
      inUse(): number {
        return 0;
      }
      fits(): boolean {
        return this.name !== 'full';
      }
      tryTake(_mine: readonly number[], _reserved: readonly number[], _at: number, shown?: object): boolean {
        seen.push(`take ${this.name} ${shown === receipt}`);
        return this.fits();
      }
      give(_amounts: readonly number[], _at: number, shown?: object): void {
        seen.push(`give ${this.name} ${shown === receipt}`);
      }
      earliestFit(): null {
        return null;
      }
    }
    const accounts = [new Witness('free'), new Witness('full')];
    const both = router({
      name: 'r',
      accounts,
      route: (n: number) => ({ account: accounts[n] ?? new Witness('?'), amount: 1 }),
    });
    expect(both.tryTake([0, 1], [], 0, receipt)).toBe(false);
    both.give([0], 0, receipt);
    expect(seen).toEqual(['take free true', 'take full true', 'give free true', 'give free true']);
  });

  it('fits at the last of its accounts’ instants, and at none where one knows none', () => {
    const { models, gpt: bucket, claude: other } = new Two();
    bucket.tryTake([600], [], 0);
    other.tryTake([60], [], 0);
    expect(models.earliestFit([gpt(100)], [], 0)).toBe(10_000);
    expect(models.earliestFit([gpt(100), claude(20)], [], 0)).toBe(20_000);
    expect(models.earliestFit([claude(20), gpt(100)], [], 0)).toBe(20_000);
    expect(models.earliestFit([gpt(100), claude(20)], [claude(41)], 0)).toBeNull();
    expect(models.earliestFit([], [], 7)).toBe(7);
  });
});

describe('a router in a demand', () => {
  it('is resolved where the demand is made: entries, events and reservations speak of the account behind', () => {
    const { models, gpt: bucket, claude: other } = new Two();
    const whole = demand([models, gpt(100), claude(5)], [bucket, 7]);
    expect(whole.entries.map(({ account, key, amounts }) => [account, key, amounts])).toEqual([
      [bucket, bucket, [100, 7]],
      [other, other, [5]],
    ]);
  });

  it('is resolved through routers behind routers', () => {
    const { models, claude: other } = new Two();
    const outer = router({
      name: 'outer',
      accounts: [models],
      route: (tokens: number) => ({ account: models, amount: claude(tokens) }),
    });
    expect(demand([outer, 5]).entries).toEqual([{ account: other, key: other, amounts: [5] }]);
    expect(outer.fits([60], [], 0)).toBe(true);
    expect(outer.accountFor(1)).toBe(models);
  });

  it('has one bucket’s line not wait for another’s', () => {
    const clock = new VirtualClock(0);
    const { models } = new Two();
    const admission = createAdmission({ scheduler: clock });
    const granted: string[] = [];
    for (const call of [gpt(600), gpt(600), claude(60)]) {
      admission
        .defer(demand([models, call]), () => [call])
        .subscribe(({ model }) => granted.push(`${clock.now()} ${model}`));
    }
    expect(granted).toEqual(['0 gpt', '0 claude']);
    clock.advanceTo(60_000);
    expect(granted[2]).toBe('60000 gpt');
  });
});
