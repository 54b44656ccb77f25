/** Every shipped account passes the contract, and so do accounts of a user's own, with amounts of their own. */
import {
  AbstractAccount,
  CountingGate,
  DatabaseGate,
  ElasticWindow,
  HttpGate,
  MemoryGate,
  ModelGate,
  RefusedError,
  TokenBucket,
  amountOf,
  router,
} from 'rx-admission';
import { accountContract, type AccountContractCase } from 'rx-admission/testing';
import { describe, expect, it } from 'vitest';
import { RecordedLog } from './recorded-log.js';

const log = new RecordedLog();
const DAY = 86_400_000;

function contractOf(name: string, cases: readonly AccountContractCase[]): void {
  describe(name, () => {
    for (const { title, run } of cases) it(title, run);
  });
}

const gate = (capacity: number): CountingGate => new CountingGate({ name: 'gate', capacity });
const window = (): ElasticWindow => new ElasticWindow({ name: 'search', maxRequests: 9, baseWindow: 1_000, log });
const bucket = (name = 'gpt', tokensPerMinute = 600): TokenBucket =>
  new TokenBucket({ name, tokensPerMinute, requestsPerMinute: 40, log });

contractOf(
  'a gate of one',
  accountContract(() => gate(1)),
);
contractOf(
  'a gate that is resized and paused',
  accountContract({
    make: () => gate(10),
    amounts: [1, 4],
    invalid: [0, -1, 1.5, NaN, 'one'],
    less: (pool) => {
      pool.resize(9);
      pool.pause();
    },
    more: (pool) => {
      pool.resume();
    },
  }),
);
contractOf(
  'a model gate',
  accountContract(() => new ModelGate({ name: 'local', capacity: 8 })),
);
contractOf(
  'a database gate',
  accountContract(() => new DatabaseGate({ name: 'main', capacity: 20 })),
);
contractOf(
  'an HTTP gate',
  accountContract(() => new HttpGate({ capacity: 32 })),
);
contractOf(
  'a bucket in two dimensions',
  accountContract({
    make: () => bucket(),
    amounts: [10, 200],
    invalid: [-1, NaN, Infinity],
    less: (gpt, at) => {
      gpt.record429(at);
      gpt.adjust(5, at);
      gpt.setConfig({ tokensPerMinute: 500, requestsPerMinute: 39 });
    },
    more: (gpt) => {
      gpt.setConfig({ tokensPerMinute: 700, requestsPerMinute: 39 });
    },
  }),
);
contractOf(
  'a bucket without a limit of requests',
  accountContract(() => new TokenBucket({ name: 'gpt', tokensPerMinute: 7_000, log })),
);
contractOf(
  'a bucket under pressure, on a clock that counts from 1970',
  accountContract({
    make: () => {
      const gpt = bucket();
      gpt.recordBackpressure(7, 1_764_500_000_000);
      return gpt;
    },
    amounts: [7, 123],
    at: 1_764_500_000_123,
    more: (gpt, at) => {
      gpt.onSuccess(at + 300_000);
    },
  }),
);
contractOf(
  'a window',
  accountContract({
    make: window,
    amounts: [1, 4],
    less: (search, at) => {
      search.recordPressure(at);
      search.recordAdvisory(at);
    },
    more: (search, at) => {
      for (let n = 0; n < 3; n += 1) search.onSuccess(at);
    },
  }),
);
contractOf(
  'a window that is stretched',
  accountContract(() => {
    const search = window();
    for (let n = 0; n < 4; n += 1) search.recordAdvisory(0);
    return search;
  }),
);
contractOf(
  'the heap gate',
  accountContract({
    make: () => new MemoryGate({ heap: () => 0.5, log }),
    amounts: [],
    more: (memory) => {
      memory.stop();
    },
  }),
);

interface Call {
  readonly model: 'gpt' | 'claude';
  readonly tokens: number;
}
contractOf(
  'a router over two buckets',
  accountContract({
    make: () => {
      const buckets = { gpt: bucket('gpt', 600), claude: bucket('claude', 90) };
      return router({
        name: 'models',
        accounts: Object.values(buckets),
        route: ({ model, tokens }: Call) => ({ account: buckets[model], amount: tokens }),
      });
    },
    amounts: [
      { model: 'gpt', tokens: 200 },
      { model: 'claude', tokens: 10 },
      { model: 'gpt', tokens: 20 },
    ],
    impossible: { model: 'claude', tokens: 91 },
    invalid: [{ model: 'gpt', tokens: -1 }],
    units: ({ tokens }) => tokens,
  }),
);

/** Cents per calendar day: what was taken yesterday is not there to be given back. */
class Allowance extends AbstractAccount {
  override readonly replenishment = 'time';
  readonly #taken = new WeakMap<object, number>();
  #day = 0;
  #spent = 0;

  constructor(readonly capacity: number) {
    super('allowance');
  }
  inUse(at: number): number {
    return Math.floor(at / DAY) === this.#day ? this.#spent : 0;
  }
  fits(mine: readonly number[], reserved: readonly number[], at: number): boolean {
    if (amountOf(mine) > this.capacity) throw new RefusedError('too dear', { account: this.name });
    return this.inUse(at) + amountOf(mine) + amountOf(reserved) <= this.capacity;
  }
  tryTake(mine: readonly number[], reserved: readonly number[], at: number, receipt?: object): boolean {
    if (!this.fits(mine, reserved, at)) return false;
    this.adjust(amountOf(mine), at);
    if (receipt) this.#taken.set(receipt, this.#day);
    return true;
  }
  give(amounts: readonly number[], at: number, receipt?: object): void {
    const day = receipt ? this.#taken.get(receipt) : this.#day;
    if (day === Math.floor(at / DAY)) this.adjust(-amountOf(amounts), at);
  }
  earliestFit(mine: readonly number[], reserved: readonly number[], at: number): number | null {
    const wanted = amountOf(mine) + amountOf(reserved);
    if (wanted > this.capacity) return null;
    return this.inUse(at) + wanted <= this.capacity ? at : (Math.floor(at / DAY) + 1) * DAY;
  }
  adjust(delta: number, at: number): void {
    this.#spent = Math.max(0, this.inUse(at) + delta);
    this.#day = Math.floor(at / DAY);
    if (delta < 0) this.capacityChanged();
  }
}
contractOf(
  'an account of one’s own by the day',
  accountContract(() => new Allowance(100)),
);

interface PrintJob {
  readonly pages: number;
  readonly colour: boolean;
}

/** Paper and ink: amounts with two sides. */
class Printer extends AbstractAccount<PrintJob> {
  readonly capacity = 500;
  #pages = 500;
  #colourPages = 100;

  inUse(): number {
    return this.capacity - this.#pages;
  }
  validate({ pages }: PrintJob): void {
    if (!Number.isSafeInteger(pages) || pages < 1) throw new RangeError(`${pages} is no number of pages`);
  }
  fits(mine: readonly PrintJob[], reserved: readonly PrintJob[]): boolean {
    const own = need(mine);
    if (own.pages > this.capacity || own.ink > 100) throw new RefusedError('too long', { account: this.name });
    const all = need([...mine, ...reserved]);
    return all.pages <= this.#pages && all.ink <= this.#colourPages;
  }
  tryTake(mine: readonly PrintJob[], reserved: readonly PrintJob[]): boolean {
    if (!this.fits(mine, reserved)) return false;
    this.#move(mine, -1);
    return true;
  }
  give(amounts: readonly PrintJob[]): void {
    this.#move(amounts, 1);
    this.capacityChanged();
  }
  earliestFit(mine: readonly PrintJob[], reserved: readonly PrintJob[], at: number): number | null {
    const all = need([...mine, ...reserved]);
    return all.pages <= this.#pages && all.ink <= this.#colourPages ? at : null;
  }
  #move(jobs: readonly PrintJob[], by: 1 | -1): void {
    this.#pages += by * need(jobs).pages;
    this.#colourPages += by * need(jobs).ink;
  }
}
const need = (jobs: readonly PrintJob[]): { pages: number; ink: number } => ({
  pages: jobs.reduce((sum, { pages }) => sum + pages, 0),
  ink: jobs.reduce((sum, { pages, colour }) => sum + (colour ? pages : 0), 0),
});
contractOf(
  'an account of one’s own with amounts that are objects',
  accountContract({
    make: () => new Printer('printer'),
    amounts: [
      { pages: 3, colour: true },
      { pages: 170, colour: false },
    ],
    impossible: { pages: 101, colour: true },
    invalid: [{ pages: 0, colour: false }],
    units: ({ pages }) => pages,
  }),
);

describe('the cases of a contract', () => {
  const titles = (cases: readonly AccountContractCase[]): string[] => cases.map(({ title }) => title);

  it('are those that apply: none about amounts for an account that is asked for none', () => {
    expect(titles(accountContract({ make: () => new MemoryGate({ heap: () => 0, log }), amounts: [] }))).toEqual([
      'has a name, a replenishment, a capacity and announcements',
      'answers at once, in plain values',
      'is not changed by being asked',
      'announces more to every listener, and never less',
    ]);
  });

  it('are all of them for an account that can do everything', () => {
    expect(titles(accountContract(() => bucket()))).toHaveLength(17);
    expect(titles(accountContract(() => gate(1)))).not.toContain('undoes a correction by its opposite');
    expect(titles(accountContract({ make: () => gate(1), amounts: [1], impossible: null }))).toHaveLength(16);
  });

  it('know no clash where amounts weigh nothing, and no bounds where the capacity has none', () => {
    for (const { run } of accountContract({ make: () => gate(3), amounts: [1], units: () => 0 })) run();
    class Endless extends CountingGate {
      override get capacity(): number {
        return Infinity;
      }
    }
    const endless = accountContract(() => new Endless({ name: 'endless', capacity: 1 }));
    expect(titles(endless)).not.toContain('refuses an impossible amount, on the check and on the take');
  });

  it('run as often as they are told, each from a fresh account', () => {
    let made = 0;
    const make = (): CountingGate => {
      made += 1;
      return gate(3);
    };
    for (const { run } of accountContract({ make, amounts: [1], walks: 3 })) run();
    expect(made).toBeGreaterThan(20);
    expect(made).toBeLessThan(80);
  });
});

/** So much in all: what was spent never comes back. */
class SpendCap extends AbstractAccount {
  override readonly replenishment = 'time';
  #spent = 0;
  constructor(readonly capacity: number) {
    super('spend cap');
  }
  inUse(): number {
    return this.#spent;
  }
  fits(mine: readonly number[], reservedAhead: readonly number[]): boolean {
    const left = this.capacity - this.#spent;
    if (amountOf(mine) > left) throw new RefusedError('used up');
    return amountOf(mine) + amountOf(reservedAhead) <= left;
  }
  tryTake(mine: readonly number[], reservedAhead: readonly number[]): boolean {
    if (!this.fits(mine, reservedAhead)) return false;
    this.adjust(amountOf(mine));
    return true;
  }
  give(amounts: readonly number[]): void {
    this.adjust(-amountOf(amounts));
  }
  earliestFit(mine: readonly number[], reservedAhead: readonly number[], at: number): number | null {
    return this.#spent + amountOf(mine) + amountOf(reservedAhead) <= this.capacity ? at : null;
  }
  adjust(delta: number): void {
    this.#spent += delta;
    if (delta < 0) this.capacityChanged();
  }
}

contractOf(
  'a budget that never comes back, and refuses once it is used up',
  accountContract(() => new SpendCap(30)),
);

/** As it would wait for ever. */
class Silent extends SpendCap {
  override fits(mine: readonly number[], reservedAhead: readonly number[]): boolean {
    if (amountOf(mine) > this.capacity) throw new RefusedError('too much');
    return this.inUse() + amountOf(mine) + amountOf(reservedAhead) <= this.capacity;
  }
}

it('a budget that never comes back and does not refuse breaks the contract', () => {
  const failures = accountContract(() => new Silent(30)).flatMap(({ title, run }) => {
    try {
      run();
      return [];
    } catch (error) {
      return [`${title}: ${(error as Error).message}`];
    }
  });
  expect(failures).toEqual([
    "replenishes as it says: it says 'time', but knows no instant at which the clock brings 1 back, and does not refuse it",
  ]);
});
