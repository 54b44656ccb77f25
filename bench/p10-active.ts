/** P10: n inners active at once; one of them, anyone, ends and another is admitted. */
import { mergeMap, Observable, Subject, type OperatorFunction, type Subscriber } from 'rxjs';
import { CountingGate, createAdmission, demand } from 'rx-admission';
import type { Contestant, Series } from './measure.js';
import { takeTurns } from './measure.js';
import { randomOf } from './random.js';
import { beside, type Row } from './row.js';
import { sizesUpTo } from './settings.js';

const TURNS = 2_000;
const SHORT = 1e3;
const LONG = 1e5;
/** At 100 k active over 1 k active. */
const GROWTH = 2;
/** A twentieth of mergeMap's time. */
const TWENTIETH = 0.05;

/** Fills the operator to its brim, then ends and admits one at a time. */
function full(name: string, active: number, operator: (inner: () => Observable<never>) => OperatorFunction<number, never>): Contestant {
  const running: Subscriber<never>[] = [];
  const inner = new Observable<never>((subscriber) => {
    running.push(subscriber);
  });
  const source = new Subject<number>();
  source.pipe(operator(() => inner)).subscribe();
  for (let item = 0; item < active; item += 1) source.next(item);
  const random = randomOf(1);
  return {
    name,
    n: TURNS,
    batch: () => {
      for (let turn = 0; turn < TURNS; turn += 1) {
        const place = Math.floor(random() * active);
        const ending = running[place];
        ending?.complete();
        source.next(turn);
        const begun = running.pop();
        if (begun === undefined || running.length !== active) throw new Error(`${name}: ${running.length} are active`);
        running[place] = begun;
      }
    },
  };
}

export async function* active(): AsyncGenerator<Row> {
  const admitting = (n: number): Contestant => {
    const { admit } = createAdmission();
    const gate = new CountingGate({ name: 'gate', capacity: n });
    return full('ours', n, (inner) => admit(demand(gate), inner));
  };
  const merging = (n: number): Contestant => full('mergeMap', n, (inner) => mergeMap(inner, n));
  for (const n of sizesUpTo(LONG)) {
    const lanes = [admitting(n), merging(n), admitting(SHORT)];
    const [own, theirs, short] = ((await takeTurns(lanes)) as [Series, Series, Series]).map((series) => ({ ...series, n }));
    if (own === undefined || theirs === undefined || short === undefined) return;
    yield beside({ bench: 'P10', what: 'active at once' }, own, theirs, n === LONG ? TWENTIETH : undefined);
    if (n === LONG) yield beside({ bench: 'P10', what: 'growth' }, own, { ...short, name: 'ours at 1 k' }, GROWTH);
  }
}
