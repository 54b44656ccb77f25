/** The contract bites: each rule catches the account that breaks it, and says what is wrong. */
import { NEVER, Observable, Subject, of } from 'rxjs';
import { CountingGate, RefusedError, TokenBucket, amountOf, type Account } from 'rx-admission';
import { ContractViolation, accountContract, type AccountContractOptions } from 'rx-admission/testing';
import { describe, expect, it } from 'vitest';
import { RecordedLog, thrownBy } from './recorded-log.js';

type Mutable = { -readonly [K in keyof Account]: Account[K] };
/** The answers that replace those of a sound gate of ten. */
type Break = (sound: CountingGate) => object;
type Asked<Answer> = (sound: CountingGate, mine: readonly number[], reserved: readonly number[], at: number) => Answer;

function broken(change: Break): Account {
  const sound = new CountingGate({ name: 'gate', capacity: 10 });
  const account: Mutable = {
    name: sound.name,
    replenishment: 'release',
    capacity: 10,
    capacityChanges: sound.capacityChanges,
    inUse: () => sound.inUse(),
    fits: (mine, reserved) => sound.fits(mine, reserved),
    tryTake: (mine, reserved, at) => sound.tryTake(mine, reserved, at),
    give: (amounts, at) => {
      sound.give(amounts, at);
    },
    earliestFit: (mine, reserved, at) => sound.earliestFit(mine, reserved, at),
    accountFor: () => account,
    validate: (amount) => {
      sound.validate(amount);
    },
    status: () => sound.status(),
    statusIndicator: () => null,
  };
  return Object.assign(account, change(sound));
}

const method =
  <Answer>(name: keyof Account, answer: Asked<Answer>): Break =>
  (sound) => ({
    [name]: (mine: number[], reserved: number[], at: number) => answer(sound, mine, reserved, at),
  });
const fits = (answer: Asked<boolean>): Break => method('fits', answer);
const takes = (answer: Asked<boolean>): Break => method('tryTake', answer);
const instant = (answer: Asked<number | null>): Break => method('earliestFit', answer);
/** `give` gets its amounts, the instant and the receipt. */
const gives =
  (give: (sound: CountingGate, amounts: number[], at: number, receipt?: object) => void): Break =>
  (sound) => ({
    give: (amounts: number[], at: number, receipt?: object) => {
      give(sound, amounts, at, receipt);
    },
  });

/** What the case of that title finds wrong. */
function found(title: RegExp, make: () => Account, options: Partial<AccountContractOptions<number>> = {}): Error {
  const cases = accountContract({ make, amounts: [1, 4], ...options });
  const rule = cases.find((one) => title.test(one.title));
  if (rule === undefined) throw new Error(`no case ${title.source} among ${cases.map((one) => one.title).join('; ')}`);
  return thrownBy(rule.run);
}

const bug = (): never => {
  throw new TypeError('bug');
};
const says = (line: string) => () => ({ summary: () => line });
const promise = Promise.resolve(true) as unknown as boolean;

/** Replenished by the clock every full minute; `gives` says what it does wrong. */
function minute(change: Partial<Account> = {}): Account {
  let taken = 0;
  let since = 0;
  const turn = (at: number): number => Math.floor(at / 60_000);
  const used = (at: number): number => (turn(at) === since ? taken : 0);
  const account: Account = {
    name: 'minute',
    replenishment: 'time',
    capacity: 10,
    capacityChanges: NEVER,
    inUse: used,
    fits: (mine, reserved, at) => {
      if (amountOf(mine) > 10) throw new RefusedError('too many');
      return used(at) + amountOf(mine) + amountOf(reserved) <= 10;
    },
    tryTake: (mine, reserved, at) => {
      if (!account.fits(mine, reserved, at)) return false;
      taken = used(at) + amountOf(mine);
      since = turn(at);
      return true;
    },
    give: (amounts, at) => {
      taken = Math.max(0, used(at) - amountOf(amounts));
    },
    earliestFit: (mine, reserved, at) => {
      if (amountOf(mine) + amountOf(reserved) > 10) return null;
      return used(at) + amountOf(mine) + amountOf(reserved) <= 10 ? at : (turn(at) + 1) * 60_000;
    },
    ...change,
  };
  return account;
}

describe('the sound accounts that the broken ones are made of', () => {
  it.each([
    ['the gate', () => broken(() => ({}))],
    ['the minute', () => minute()],
  ])('%s passes', (_name, make) => {
    for (const { run } of accountContract({ make, amounts: [1, 4] })) run();
  });
});

describe('the contract finds an account', () => {
  it.each<[string, RegExp, Break, RegExp]>([
    ['without a name', /has a name/, () => ({ name: '' }), /its name is ""/],
    [
      'that hides how it replenishes',
      /has a name/,
      () => ({ replenishment: undefined }),
      /its replenishment is undefined/,
    ],
    ['without capacity', /has a name/, () => ({ capacity: NaN }), /its capacity is NaN/],
    ['without announcements', /has a name/, () => ({ capacityChanges: null }), /its capacityChanges is no observable/],

    [
      'that answers by a promise',
      /at once/,
      fits(() => promise),
      /fits\(\[1\], \[\], 1000\) answers \{\}: true or false/,
    ],
    ['that takes by a promise', /at once/, takes(() => promise), /tryTake\(\[1\], \[\], 1000\) answers/],
    ['that gives by a promise', /at once/, () => ({ give: () => promise }), /give\(\[1\], 1000\) answers/],
    ['whose instant is no number', /at once/, instant(() => NaN), /earliestFit.* answers NaN: an instant or null/],
    ['whose instant is infinite', /at once/, instant(() => Infinity), /answers Infinity: an instant or null/],
    ['whose use is no number', /at once/, () => ({ inUse: () => null }), /inUse\(1000\) answers null: a number/],
    [
      'with words of its own',
      /at once/,
      () => ({ statusIndicator: () => 'busy' }),
      /statusIndicator\(1000\) answers "busy"/,
    ],
    ['with a status of two lines', /at once/, () => ({ status: says('1 of 2\n3') }), /one line that names its numbers/],
    ['with a status without numbers', /at once/, () => ({ status: says('fine') }), /one line that names its numbers/],
    ['that throws what is no refusal', /at once/, fits(bug), /fits.* throws TypeError: bug: an account answers, or/],

    [
      'that its own questions change',
      /not changed by being asked/,
      instant((sound, mine, reserved, at) => {
        sound.give([1], at);
        return sound.earliestFit(mine, reserved, at);
      }),
      /being asked changed it.*\(seed \d+\)/,
    ],
    [
      'that its own status changes',
      /not changed by being asked/,
      method('status', (sound) => {
        sound.tryTake([1], [], 0);
        return sound.status();
      }),
      /being asked changed it/,
    ],

    [
      'that takes what does not fit',
      /takes exactly/,
      takes((sound, mine, _reserved, at) => sound.tryTake(mine, [], at)),
      /tryTake.* answers true where fits answered false \(seed \d+\)/,
    ],
    [
      'that takes half of what it declines',
      /takes exactly/,
      takes((sound, mine, reserved, at) => {
        if (sound.tryTake(mine, reserved, at)) return true;
        sound.tryTake([1], [], at);
        return false;
      }),
      /took nothing, yet it changed the account/,
    ],
    [
      'that forgets a give',
      /once a take is given/,
      gives(() => undefined),
      /was given back, yet the account is another/,
    ],
    [
      'that gives back one permit of however many',
      /once a take is given back/,
      gives((sound, amounts, at) => {
        sound.give(amounts.slice(0, 1), at);
      }),
      /was given back, yet the account is another/,
    ],
    [
      'that lends more than it has',
      /never has more out/,
      (sound) => {
        sound.resize(13);
        return { inUse: () => Math.min(10, sound.inUse()) };
      },
      /1[123] are out of a capacity of 10/,
    ],

    [
      'that says yes for a reservation',
      /beside a reservation/,
      fits((sound, mine, reserved) => reserved.length > 0 || sound.fits(mine, [])),
      /answers true where it answers (?:false|"refused") with less set aside/,
    ],
    [
      'that counts no reservation beyond the first',
      /beside a reservation/,
      fits((sound, mine, reserved) => reserved.length > 1 || sound.fits(mine, reserved)),
      /with less set aside, \[\d\]/,
    ],
    [
      'that refuses for a reservation',
      /beside a reservation/,
      fits((sound, mine, reserved) => sound.fits([...mine, ...reserved], [])),
      /is not refused for a reservation, the answer is a plain no/,
    ],

    [
      'that says no to the impossible',
      /impossible/,
      fits((sound, mine, reserved) => amountOf(mine) <= 10 && sound.fits(mine, reserved)),
      /fits\(\[11\], \[\], 1000\) answers false: .* refused with a RefusedError/,
    ],
    [
      'that declines the impossible',
      /impossible/,
      takes((sound, mine, reserved, at) => amountOf(mine) <= 10 && sound.tryTake(mine, reserved, at)),
      /tryTake\(\[11\], \[\], 1000\) answers false/,
    ],
    [
      'that refuses the impossible only while it is free',
      /impossible/,
      fits((sound, mine, reserved) => sound.inUse() < 10 && sound.fits(mine, reserved)),
      /fits\(\[11\], \[\], 1000\) answers false/,
    ],
    [
      'that names an instant for the impossible',
      /impossible/,
      instant((sound, mine, reserved, at) => (amountOf(mine) > 10 ? at : sound.earliestFit(mine, reserved, at))),
      /earliestFit\(\[11\]\) answers 1000: it never fits/,
    ],
    [
      'that refuses a clash',
      /clash/,
      fits((sound, mine, reserved) => {
        if (!sound.fits(mine, reserved)) throw new RefusedError('no room');
        return true;
      }),
      /with 11 of 1 set aside answers "refused": a plain no/,
    ],
    [
      'that names an instant for a clash',
      /clash/,
      instant((sound, mine, _reserved, at) => sound.earliestFit(mine, [], at)),
      /together they exceed the capacity, so it is null/,
    ],

    ['that knows no instant for what fits', /names the instant/, instant(() => null), /answers null, but it fits now/],
    [
      'that names now for what is short',
      /names the instant/,
      instant((_sound, _mine, _reserved, at) => at),
      /but it does not fit now/,
    ],
    [
      'that names an instant at which nothing comes back',
      /names the instant/,
      instant((sound, mine, reserved, at) => sound.earliestFit(mine, reserved, at) ?? at + 5),
      /but it does not fit then/,
    ],
    [
      'of the clock that says it is of the work',
      /replenishes/,
      () => ({ ...minute(), replenishment: 'release' }),
      /it says 'release', but \d+ ms later the clock has brought something back/,
    ],
    [
      'of the work that says it is of the clock',
      /replenishes/,
      () => ({ replenishment: 'time' }),
      /it says 'time', but knows no instant/,
    ],
    [
      'that keeps the last permit',
      /replenishes/,
      gives((sound, amounts, at) => {
        if (sound.inUse() > 1) sound.give(amounts, at);
      }),
      /everything was given back, yet it is not free/,
    ],

    [
      'that knows its takes by their receipts alone',
      /receipt/,
      gives((sound, amounts, at, receipt) => {
        if (receipt) sound.give(amounts, at);
      }),
      /taken and given back without a receipt/,
    ],
    [
      'that writes on the receipts',
      /receipt/,
      (sound) => ({
        tryTake: (mine: number[], reserved: number[], at: number, receipt?: object) => {
          if (receipt) Object.assign(receipt, { at });
          return sound.tryTake(mine, reserved, at);
        },
      }),
      /throws TypeError/,
    ],
    [
      'that accepts what it does not count in',
      /validates/,
      () => ({ validate: () => undefined }),
      /validate\(NaN\) accepts it: what it does not count in is a RangeError/,
    ],
    [
      'that refuses it with another error',
      /validates/,
      method('validate', (_sound, amount) => (Number(amount) > 0 ? undefined : bug())),
      /validate\(NaN\) throws TypeError: bug/,
    ],
    [
      'with a key for each question',
      /identity/,
      () => ({ accountFor: () => ({}) }),
      /answers \{\}, then \{\}: one key/,
    ],
    ['with a number for a key', /identity/, () => ({ accountFor: () => 7 }), /accountFor\(1\) answers 7/],
    ['with no key', /identity/, () => ({ accountFor: () => null }), /accountFor\(1\) answers null/],
    [
      'whose room is not what fits',
      /room/,
      (sound) => ({ room: (reserved: number[]) => sound.room(reserved) - 1 }),
      /room\(.*\) answers -?\d+, but fits.* answers true/,
    ],
    [
      'whose revision stays although it moved',
      /revision/,
      () => ({ revision: 0 }),
      /^at revision 0 it fits .* of \[1,4\], and later, at the same one, .*: revision grows with whatever changes that/,
    ],
    ['whose room is no number', /room/, () => ({ room: () => null }), /answers null: the greatest amount that fits/],
    [
      'whose corrections do not cancel out',
      /correction/,
      (sound) => ({
        adjust: (delta: number, at: number) => {
          if (delta < 0) sound.give([-delta], at);
        },
      }),
      /adjust\(\d\) and adjust\(-\d\) leave another account/,
    ],
  ])('%s', (_what, title, change, message) => {
    const error = found(title, () => broken(change));
    expect(error).toBeInstanceOf(ContractViolation);
    expect(error.name).toBe('ContractViolation');
    expect(error.message).toMatch(message);
  });

  /** A minute that names its instants otherwise. */
  const naming = (rename: (named: number, at: number) => number | null): (() => Account) => {
    return () => {
      const sound = minute();
      return minute({
        ...sound,
        earliestFit: (mine, reserved, at) => {
          const named = sound.earliestFit(mine, reserved, at);
          return named === null || named <= at ? named : rename(named, at);
        },
      });
    };
  };

  it.each([
    ['too late', naming((named) => named + 40_000), /but it fits at [\d.]+ already/],
    ['two milliseconds too late', naming((named) => named + 2), /but it fits at [\d.]+ already/],
    ['too early', naming((named, at) => Math.max(at + 1, named - 2)), /but it does not fit then/],
    ['not at all', naming(() => null), /answers null, but it fits at [\d.]+ already/],
  ])('that names its instant %s', (_how, make, message) => {
    expect(found(/names the instant/, make).message).toMatch(message);
  });

  it('that can never be filled, and asks for larger amounts', () => {
    const endless = (): Account => broken(() => ({ tryTake: () => true }));
    expect(found(/never has more/, endless).message).toMatch(/10000 takes of \[1,4\] do not fill the account/);
  });

  it('that goes on lending as its walks go on, and owns up to nothing', () => {
    let count = 0;
    // Full once, for the look at its pace; without end from then on.
    const lending = takes((sound, mine, reserved, at) => (count += 1) > 20 || sound.tryTake(mine, reserved, at));
    const make = (): Account => broken(lending);
    expect(found(/never has more/, make).message).toMatch(/are out of a capacity of 10/);
  });
});

describe('the contract finds announcements', () => {
  const announcing = (wire: (heard: Subject<void>, sound: CountingGate) => object): (() => Account) => {
    return () => {
      const heard = new Subject<void>();
      return broken((sound) => ({ capacityChanges: heard, ...wire(heard, sound) }));
    };
  };

  /** Hears all of it, and passes it on to its first listener only. */
  const favouring = (): Account => {
    const listeners: (() => void)[] = [];
    const capacityChanges = {
      subscribe: ({ next }: { next: () => void }) => {
        listeners.push(next);
        return { unsubscribe: () => undefined };
      },
    };
    return broken((sound) => ({
      capacityChanges: Object.assign(Object.create(Observable.prototype), capacityChanges) as unknown,
      give: (amounts: number[], at: number) => {
        sound.give(amounts, at);
        listeners[0]?.();
      },
    }));
  };

  it.each<[string, () => Account, RegExp]>([
    [
      'at a subscription',
      () => broken(() => ({ capacityChanges: of(undefined) })),
      /a subscription announces more, and there is none/,
    ],
    [
      'at a take',
      announcing((heard, sound) => ({
        tryTake: (mine: number[], reserved: number[], at: number) => {
          heard.next();
          return sound.tryTake(mine, reserved, at);
        },
      })),
      /a take announces more, and there is none/,
    ],
    [
      'at a question',
      announcing((heard, sound) => ({
        fits: (mine: number[], reserved: number[]) => {
          heard.next();
          return sound.fits(mine, reserved);
        },
      })),
      /a question announces more, and there is none/,
    ],
    ['that reach one listener only', favouring, /one listener heard \d+ times, the other 0: every one hears all/],
    [
      'that end in an error as something is given back',
      announcing((heard) => ({
        give: () => {
          heard.error(new Error('gone'));
        },
      })),
      /its capacityChanges ends in Error: gone: whoever listens would crash/,
    ],
    [
      'that end in an error as something is taken',
      announcing((heard, sound) => ({
        tryTake: (mine: number[], reserved: number[], at: number) => {
          heard.error(new Error('gone'));
          return sound.tryTake(mine, reserved, at);
        },
      })),
      /its capacityChanges ends in Error: gone/,
    ],
  ])('%s', (_what, make, message) => {
    expect(found(/announces more/, make).message).toMatch(message);
  });

  it('of less, and of more that nobody hears', () => {
    const make = (): CountingGate => new CountingGate({ name: 'gate', capacity: 10 });
    const resized = (verb: 'less' | 'more', capacity: number): string => {
      const resize = (gate: CountingGate): void => {
        gate.resize(capacity);
      };
      const rule = accountContract({ make, amounts: [4], [verb]: resize }).find(({ title }) =>
        title.startsWith('announces'),
      );
      return thrownBy(() => rule?.run()).message;
    };
    expect(resized('less', 11)).toBe('less announces more, and there is none');
    expect(resized('more', 9)).toBe('there is more, and nobody hears of it');
  });
});

describe('an account that throws where it answers', () => {
  const used = (): never => {
    throw new RefusedError('used up');
  };

  it.each<[string, RegExp, Partial<Account>, RegExp]>([
    ['a refusal of an instant', /names the instant/, { earliestFit: used }, /^earliestFit\(.*\) throws RefusedError: used up: only fits and tryTake refuse$/],
    ['a refusal of a state', /not changed by being asked/, { inUse: used }, /^inUse\(\d+\) throws RefusedError: used up: .* \(seed 1\)$/],
    ['a refusal of a credit', /as before once/, { give: used }, /^give\(\[.*\], \d+\) throws RefusedError: .* \(seed \d+\)$/],
    ['a refusal of a status', /answers at once/, { status: used }, /^status\(1000\) throws RefusedError: used up/],
    ['a refusal of a correction', /undoes a correction/, { adjust: used }, /^adjust\(\d+\) throws RefusedError: .* \(seed \d+\)$/],
    ['a refusal of an identity', /one identity/, { accountFor: used }, /^accountFor\(1\) throws RefusedError: used up/],
    ['a refusal of what it counts in', /validates/, { validate: used }, /^validate\(1\) throws RefusedError: used up/],
    ['a refusal of everyone, and has room', /room that it says/, { room: used }, /^room\(\[.*\]\) answers -Infinity, but fits/],
    ['a bug', /names the instant/, { earliestFit: bug }, /^earliestFit\(.*\) throws TypeError: bug: an account answers$/],
    ['a bug of its room', /room that it says/, { room: bug }, /^room\(.*\) throws TypeError: bug: an account answers \(seed 1\)$/],
  ])('breaks the contract by %s', (_what, rule, change, message) => {
    const error = found(rule, () => minute(change), { amounts: [1, 4] });
    expect(error).toBeInstanceOf(ContractViolation);
    expect(error.message).toMatch(message);
  });
});

describe('a make that fails', () => {
  it('is told as it is: that is no broken rule', () => {
    let made = 0;
    const make = (): Account => {
      made += 1;
      if (made > 3) throw new Error('out of accounts');
      return broken(() => ({}));
    };
    expect(found(/takes exactly/, make)).toEqual(new Error('out of accounts'));
  });
});

describe('a bucket that rounds its instant down', () => {
  it('is found by the seed that meets it, and the seed is named', () => {
    class Hasty extends TokenBucket {
      override earliestFit(mine: readonly number[], reserved: readonly number[], at: number): number | null {
        const named = super.earliestFit(mine, reserved, at);
        return named === null || named <= at + 1 ? named : named - 1;
      }
    }
    const make = (): Account => new Hasty({ name: 'gpt', tokensPerMinute: 600, log: new RecordedLog() });
    expect(found(/names the instant/, make, { amounts: [10, 200] }).message).toMatch(/does not fit then \(seed \d+\)/);
  });
});
