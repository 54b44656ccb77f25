/** The evaluator: changes, deadlines and heap readings merged into one observable, folded over the queue state. */
import { EMPTY, map, merge, scan, Subject, switchAll, type Observable } from 'rxjs';
import type { Alarm, Alarms } from '../clock.js';
import { evaluate, nobodyWaits, type Change, type Dated, type Decision, type LineState } from './evaluate.js';
import { oneAtATime } from './inbox.js';
import { foldWith } from './ledger.js';
import { Turn, type Books } from './turn.js';

const look: Change = { type: 'look' };

export class Evaluator {
  /** What every change decided, in order. */
  readonly decisions$: Observable<Decision>;
  readonly #changes = new Subject<Change>();
  readonly #deadlines = new Subject<Change>();
  readonly #readings = new Subject<Observable<void>>();
  readonly #alarms: Alarms;
  #alarm: Alarm | null = null;

  /** `decided` runs after each change and all it led to were folded, wherever the change came from. */
  constructor(books: Books, alarms: Alarms, now: () => number, decided: () => void) {
    this.#alarms = alarms;
    const readings$ = this.#readings.pipe(
      switchAll(),
      map(() => look),
    );
    const start: Decision = { state: nobodyWaits(), turn: new Turn(books, 0) };
    this.decisions$ = merge(this.#changes, this.#deadlines, readings$).pipe(
      oneAtATime(decided),
      map((change): Dated => ({ ...change, at: now() })),
      scan(({ state }, change) => foldWith(() => evaluate(state, change, books)), start),
    );
  }

  /** One change enters; it is decided when this returns. */
  post(change: Change): void {
    this.#changes.next(change);
  }

  /** Takes pushed heap readings in from here on: each causes a pass. */
  read(readings$: Observable<void> | null): void {
    this.#readings.next(readings$ ?? EMPTY);
  }

  /** Sleeps to the state's next deadline, on the admission's one timer. */
  sleepTo({ nextDeadline }: LineState): void {
    if (nextDeadline === (this.#alarm?.at ?? null)) return;
    this.#alarm?.cancel();
    this.#alarm = null;
    if (nextDeadline === null || nextDeadline === Infinity) return;
    this.#alarm = this.#alarms.set(nextDeadline, () => {
      this.#alarm = null;
      this.#deadlines.next(look);
    });
  }
}
