/** The evaluator: changes, deadlines and heap readings merged into one observable, folded over the queue state. */
import { EMPTY, map, merge, Observable, scan, Subject, switchAll, type Observer } from 'rxjs';
import type { Alarm, Alarms } from '../clock.js';
import { evaluate, nobodyWaits, type Change, type Decision, type LineState } from './evaluate.js';
import { oneAtATime } from './inbox.js';
import { enterFold, leaveFold } from './ledger.js';
import { Turn, type Books } from './turn.js';

export class Evaluator {
  /** What every change decided, in order. */
  readonly decisions$: Observable<Decision>;
  /** Where changes enter; a plain observable, because a Subject would walk a list of one at each. */
  #changes!: Observer<Change>;
  readonly #deadlines = new Subject<Change>();
  readonly #readings = new Subject<Observable<void>>();
  readonly #alarms: Alarms;
  readonly #now: () => number;
  #alarm: Alarm | null = null;

  /** `decided` runs after each change and all it led to were folded, wherever the change came from. */
  constructor(books: Books, alarms: Alarms, now: () => number, decided: () => void) {
    this.#alarms = alarms;
    this.#now = now;
    const readings$ = this.#readings.pipe(
      switchAll(),
      map((): Change => ({ type: 'look', at: now() })),
    );
    const start: Decision = { state: nobodyWaits(), turn: new Turn(books, 0) };
    const changes$ = new Observable<Change>((changes) => {
      this.#changes = changes;
    });
    this.decisions$ = merge(changes$, this.#deadlines, readings$).pipe(
      oneAtATime(decided),
      scan(({ state }, change) => {
        enterFold();
        try {
          return evaluate(state, change, books);
        } finally {
          leaveFold();
        }
      }, start),
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
      this.#deadlines.next({ type: 'look', at: this.#now() });
    });
  }
}
