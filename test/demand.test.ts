/** Demands are immutable values, and a grant tells how long each account kept the job. */
import { NEVER } from 'rxjs';
import {
  AbstractAccount,
  CountingGate,
  Demand,
  ElasticWindow,
  HttpGate,
  TokenBucket,
  createAdmission,
  demand,
  type Account,
  type Admission,
  type Grant,
} from 'rx-admission';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from './conformance/virtual-clock.js';

const gate = (name: string, capacity = 3): CountingGate => new CountingGate({ name, capacity });
const slot = gate('slot');
const bucket = new TokenBucket({ name: 'm', tokensPerMinute: 1_000 });

/** Asks, and keeps what came of it; grants arrive in the same turn. */
function asked(admission: Admission, whole: Demand): { grant: Grant | null } {
  const held: { grant: Grant | null } = { grant: null };
  admission
    .defer(whole, (grant) => {
      held.grant = grant;
      return NEVER;
    })
    .subscribe();
  return held;
}

describe('demand', () => {
  it('asks one permit of an account that stands alone, and the amounts of a list', () => {
    expect(demand(slot, [bucket, 300, 20]).entries).toEqual([
      { account: slot, key: slot, amounts: [1] },
      { account: bucket, key: bucket, amounts: [300, 20] },
    ]);
    expect(demand([slot]).entries).toEqual([{ account: slot, key: slot, amounts: [1] }]);
  });

  it('merges amounts on one account into the entry of the first, and keeps first-added order', () => {
    const other = gate('other');
    const whole = demand(slot, other).add(slot, 2).add(bucket, 1).add(other);
    expect(whole.entries.map(({ account, amounts }) => [account.name, amounts])).toEqual([
      ['slot', [1, 2]],
      ['other', [1, 1]],
      ['m', [1]],
    ]);
  });

  it.each<[string, (...parts: unknown[]) => unknown[], RegExp]>([
    ['a bare amount', (gate) => [gate, 500], /not the number 500: write \[account, 500\]$/],
    ['a list of parts', (gate) => [[[gate, 1], [gate, 2]]], /not a list in a list: spread it, demand\(\.\.\.parts\)$/],
    ['an object of parts', (gate) => [{ gate, tokens: 5 }], /not an object of gate, tokens: write demand\(\[gpt, 500\], http\)$/],
    ['an empty object', () => [{}], /not an object of nothing: write/],
    ['a class', () => [CountingGate], /not the function CountingGate: make one of it, or call it$/],
  ])('says what to write in place of %s', (_what, parts, message) => {
    const loose = demand as (...given: unknown[]) => unknown;
    expect(() => loose(...parts(new CountingGate({ name: 'gate', capacity: 1 })))).toThrow(TypeError);
    expect(() => loose(...parts(new CountingGate({ name: 'gate', capacity: 1 })))).toThrow(message);
  });

  it('names accounts, and says at once what is none', () => {
    const parts = [undefined, null, 5, 'slot', [], [undefined, 1]] as unknown as CountingGate[];
    for (const part of parts) expect(() => demand(part)).toThrow(/^a demand names accounts, alone or in a list/);
    abstract class Unfinished extends AbstractAccount {
      override readonly capacity = 1;
      override inUse(): number {
        return 0;
      }
    }
    const half = new (Unfinished as unknown as new (name: string) => CountingGate)('half');
    expect(() => demand(half)).toThrow('"half" is no account, it lacks fits(), tryTake(), give(), earliestFit(): extend');
    const guessed = Object.assign(gate('guessed'), { replenishment: undefined, capacityChanges: undefined });
    expect(() => demand(guessed as unknown as CountingGate)).toThrow(
      `"guessed" is no account, it lacks capacityChanges, an observable, replenishment, 'release' or 'time'`,
    );
  });

  it('is a value: add answers a new demand, and nothing changes one that was made', () => {
    const first = demand(slot);
    const second = first.add(slot, 2);
    expect(second).not.toBe(first);
    expect(first.entries[0]?.amounts).toEqual([1]);
    for (const frozen of [first, first.entries, first.entries[0], first.entries[0]?.amounts]) {
      expect(Object.isFrozen(frozen)).toBe(true);
    }
    expect(() => (first.entries as unknown[]).push(0)).toThrow(TypeError);
  });

  it('has the account validate every amount at once, never inside the line', () => {
    expect(() => demand([slot, 1, 0])).toThrow(RangeError);
    expect(() => Demand.empty.add(slot, -1)).toThrow(RangeError);
    // @ts-expect-error a gate counts in numbers
    expect(() => demand([slot, 'two'])).toThrow(RangeError);
  });

  it('demand-03: an empty demand is empty before any add, its grant is empty, waited nothing and was kept by none', () => {
    expect([Demand.empty.isEmpty, demand().isEmpty, demand(slot).isEmpty]).toEqual([true, true, false]);
    const grant = createAdmission({ scheduler: new VirtualClock(5) }).tryAcquire(Demand.empty);
    expect(grant).toMatchObject({ isEmpty: true, wallWait: 0, waitTimes: new Map() });
    expect(grant?.demand).toBe(Demand.empty);
  });

  it('demand-06: two accounts that resolve to one key stay two entries, and the head’s reservation sets both aside', () => {
    class Half extends AbstractAccount {
      static taken = 0;
      readonly capacity = 4;
      inUse(): number {
        return Half.taken;
      }
      fits(mine: readonly number[], reserved: readonly number[]): boolean {
        const sum = [...mine, ...reserved].reduce((total, amount) => total + amount, 0);
        return Half.taken + sum <= this.capacity;
      }
      tryTake(mine: readonly number[], reserved: readonly number[]): boolean {
        if (!this.fits(mine, reserved)) return false;
        for (const amount of mine) Half.taken += amount;
        return true;
      }
      give(amounts: readonly number[]): void {
        for (const amount of amounts) Half.taken -= amount;
      }
      earliestFit(): null {
        return null;
      }
      override accountFor(): string {
        return 'K';
      }
    }
    const [l1, l2] = [new Half('l1'), new Half('l2')];
    const whole = demand(l1, l2);
    expect(whole.entries.map(({ account, key }) => [account.name, key])).toEqual([
      ['l1', 'K'],
      ['l2', 'K'],
    ]);
    const admission = createAdmission({ scheduler: new VirtualClock(0) });
    const busy = asked(admission, demand([l1, 2]));
    const blocker = asked(admission, demand(slot).add(slot, 2));
    // The head needs 1 + 1 on K and a permit that is out: two of K's four are taken, two are the head's, none is left.
    const head = asked(admission, whole.add(slot));
    const follower = asked(admission, demand(l2));
    expect([busy, blocker, head, follower].map(({ grant }) => grant !== null)).toEqual([true, true, false, false]);
    busy.grant?.release();
    expect([head, follower].map(({ grant }) => grant !== null)).toEqual([false, true]);
    expect(Half.taken).toBe(1);
  });

  it('demand-07: a demand that is added to after its grant leaves the grant as it was: exactly the one permit returns', () => {
    const three = gate('three');
    const whole = demand(three);
    const grant = createAdmission({ scheduler: new VirtualClock(0) }).tryAcquire(whole);
    whole.add(three);
    grant?.release();
    expect(three.inUse()).toBe(0);
  });

  it('takes an account of one’s own that states no identity for its own key', () => {
    const account: Account = {
      name: 'bare',
      replenishment: 'release',
      capacity: 1,
      capacityChanges: slot.capacityChanges,
      inUse: () => 0,
      fits: () => true,
      tryTake: () => true,
      give: () => undefined,
      earliestFit: () => null,
    };
    expect(demand(account).entries).toEqual([{ account, key: account, amounts: [1] }]);
    expect(demand(account).requiresHttpConnection).toBe(false);
  });
});

describe('a demand that needs a connection', () => {
  const search = new ElasticWindow({ name: 'search', maxRequests: 9, baseWindow: 1_000 });

  it('gets a place in the admission’s HTTP pool, once, and keeps one that it asks for itself', () => {
    const http = new HttpGate({ capacity: 4 });
    const admission = createAdmission({ http, scheduler: new VirtualClock(0) });
    const names = (whole: Demand): unknown =>
      admission.tryAcquire(whole)?.demand.entries.map(({ account, amounts }) => [account.name, amounts]);
    expect(names(demand(search))).toEqual([
      ['search', [1]],
      ['http', [1]],
    ]);
    expect(names(demand([http, 2], search))).toEqual([
      ['http', [2]],
      ['search', [1]],
    ]);
    expect(names(demand(gate('other')))).toEqual([['other', [1]]]);
  });

  it('gets one of each admission that it is asked of, and the same demand the second time', () => {
    const whole = demand(new ElasticWindow({ name: 'search', maxRequests: 9, baseWindow: 1_000 }));
    const pools = [new HttpGate({ name: 'http-a', capacity: 4 }), new HttpGate({ name: 'http-b', capacity: 4 })];
    const grants = [...pools, ...pools].map((http) => createAdmission({ http }).tryAcquire(whole)?.demand);
    expect(grants.map((granted) => granted?.entries[1]?.account.name)).toEqual([
      'http-a',
      'http-b',
      'http-a',
      'http-b',
    ]);
    expect(grants[2]).toBe(grants[0]);
    expect(createAdmission().tryAcquire(whole)?.demand).toBe(whole);
  });
});

describe('the waits of a grant', () => {
  it('grant-06: are whole milliseconds: 1.9 on slot is a wall wait of 1 and a wait time of 1', () => {
    const clock = new VirtualClock(0);
    const admission = createAdmission({ scheduler: clock });
    const one = gate('slot', 1);
    const first = admission.tryAcquire(demand(one));
    const second = asked(admission, demand(one));
    clock.advanceTo(1.9);
    first?.release();
    expect(second.grant).toMatchObject({ wallWait: 1, waitTimes: new Map([['slot', 1]]) });
  });
});
