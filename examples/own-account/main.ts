/** An account of one's own: an allowance of cents per day, which the calendar brings back and a bill corrects. */
import { VirtualTimeScheduler, from, of, timer } from 'rxjs';
import { AbstractAccount, RefusedError, amountOf, createAdmission, demand, type Grant } from 'rx-admission';
import { accountContract } from 'rx-admission/testing';

const DAY = 24 * 60 * 60 * 1_000;

class Allowance extends AbstractAccount {
  // A cent that was spent stays spent, whatever becomes of the work: only the next day brings more.
  override readonly replenishment = 'time';
  override readonly category = 'allowance';
  readonly #taken = new WeakMap<object, number>();
  #day = 0;
  #spent = 0;

  constructor(
    name: string,
    readonly capacity: number,
  ) {
    super(name);
  }

  inUse(at: number): number {
    return Math.floor(at / DAY) === this.#day ? this.#spent : 0;
  }

  validate(amount: number): void {
    if (!(amount >= 0 && amount < Infinity)) throw new RangeError(`${this.name}: ${amount} is no number of cents`);
  }

  fits(mine: readonly number[], reservedAhead: readonly number[], at: number): boolean {
    const own = amountOf(mine);
    // Judged on its own amounts alone: a clash with the reservation is a plain no.
    if (own > this.capacity) {
      throw new RefusedError(`${this.name}: ${own} cents exceed the day's ${this.capacity}`, { account: this.name });
    }
    return this.inUse(at) + own + amountOf(reservedAhead) <= this.capacity;
  }

  tryTake(mine: readonly number[], reservedAhead: readonly number[], at: number, receipt?: object): boolean {
    if (!this.fits(mine, reservedAhead, at)) return false;
    this.adjust(amountOf(mine), at);
    if (receipt) this.#taken.set(receipt, this.#day);
    return true;
  }

  /** Called at a rollback only. What was taken on another day is no longer there to be given back. */
  give(amounts: readonly number[], at: number, receipt?: object): void {
    const day = receipt ? this.#taken.get(receipt) : this.#day;
    if (day === Math.floor(at / DAY)) this.adjust(-amountOf(amounts), at);
  }

  earliestFit(mine: readonly number[], reservedAhead: readonly number[], at: number): number | null {
    const wanted = amountOf(mine) + amountOf(reservedAhead);
    if (wanted > this.capacity) return null;
    return this.inUse(at) + wanted <= this.capacity ? at : (Math.floor(at / DAY) + 1) * DAY;
  }

  /** `grant.charge` comes here. */
  adjust(delta: number, at: number): void {
    this.#spent = Math.max(0, this.inUse(at) + delta);
    this.#day = Math.floor(at / DAY);
    if (delta < 0) this.capacityChanged();
  }
}

const scheduler = new VirtualTimeScheduler();
const admission = createAdmission({ scheduler });
const allowance = new Allowance('allowance', 100);
const history: string[] = [];
const say = (line: string): void => {
  history.push(`day ${Math.floor(scheduler.now() / DAY)}: ${line}`);
  console.log(history.at(-1));
};

admission.events$.subscribe(({ type, job, inUse, capacity }) => {
  if (type.startsWith('GRANTED')) say(`${String(job)}: starts, ${inUse} of ${capacity} cents are spent or set aside`);
});

const work = (job: string, grant: Grant) => {
  // The bill of the first one comes to 10 cents: 30 go back, and the third need not wait for tomorrow.
  if (job === 'a 40') timer(1_000, scheduler).subscribe(() => grant.charge(allowance, 10));
  return timer(2_000, scheduler);
};

from(['a 40', 'b 40', 'c 40', 'd 40', 'e 150', 'f 60'])
  .pipe(
    admission.admit((job) => demand([allowance, Number(job.split(' ')[1])]), work, {
      onRefused: (error, job) => (say(`${job}: ${error.message}`), of(0)),
    }),
  )
  .subscribe({ complete: () => say('all have ended') });
scheduler.flush();

const expected = [
  'day 0: a 40: starts, 40 of 100 cents are spent or set aside',
  'day 0: b 40: starts, 80 of 100 cents are spent or set aside',
  "day 0: e 150: allowance: 150 cents exceed the day's 100",
  'day 0: c 40: starts, 90 of 100 cents are spent or set aside',
  'day 1: d 40: starts, 40 of 100 cents are spent or set aside',
  'day 1: f 60: starts, 100 of 100 cents are spent or set aside',
  'day 1: all have ended',
];
// The suite that every account of the library passes: in a test, each case is one `it(title, run)`.
const rules = accountContract(() => new Allowance('allowance', 100));
for (const { run } of rules) run();
console.log(`It keeps the ${rules.length} rules of an account.`);

const kept = JSON.stringify(history) === JSON.stringify(expected);
console.log(kept ? 'Kept: every cent is on the right day.' : `Broken, expected:\n${expected.join('\n')}`);
process.exitCode = kept ? 0 : 1;
