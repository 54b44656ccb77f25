/** The jobs of the soak: they come by every way in, end in every way there is, and each tells the books. */
import { Observable, range, Subscription } from 'rxjs';
import type { Admission, AskOptions, Grant } from 'rx-admission';
import { AdmissionError } from 'rx-admission';
import { upTo, type Books, type Random, type Taking } from './books.js';

const FAILURE = new Error('the work failed');

/** Somebody who can be made to leave, whatever it is doing. */
type Leave = () => void;

export class Jobs {
  /** Asked and not yet answered for good. */
  pending = 0;
  asked = 0;
  readonly failures: unknown[] = [];
  readonly #leaving = new Set<Leave>();
  readonly #held = new Set<() => void>();

  constructor(
    readonly admission: Admission,
    readonly books: Books,
    readonly random: Random,
  ) {}

  ask(): void {
    const kind = this.random();
    if (kind < 0.45) this.#defer();
    else if (kind < 0.6) this.#stream();
    else if (kind < 0.75) this.#run();
    else if (kind < 0.95) this.#acquire();
    else this.#tryAcquire();
  }

  /** One who is somewhere, waiting or at work, is unsubscribed or aborted. */
  cancel(): void {
    const [first] = this.#leaving;
    first?.();
  }

  /** A grant held by hand comes back. */
  settle(): void {
    const [first] = this.#held;
    first?.();
  }

  endAll(): void {
    for (const leave of [...this.#leaving]) leave();
    for (const giveBack of [...this.#held]) giveBack();
  }

  #defer(): void {
    const taking = this.books.draw(this.random);
    const { options, leave } = this.#options();
    this.#follow(this.admission.defer(taking.whole, () => this.#inner(taking), options), leave);
  }

  /** Some at once through one operator: the first that fails takes the others along. */
  #stream(): void {
    const taking = this.books.draw(this.random);
    const items = 1 + upTo(this.random, 8);
    this.asked += items - 1;
    const { options, leave } = this.#options();
    this.#follow(range(items).pipe(this.admission.admit(taking.whole, () => this.#inner(taking), options)), leave);
  }

  #follow(output$: Observable<unknown>, abort: Leave | null): void {
    this.#begun();
    const over = this.#once();
    const subscription = new Subscription();
    const leave: Leave = () => {
      if (abort !== null && this.random() < 0.5) abort();
      subscription.unsubscribe();
    };
    this.#leaving.add(leave);
    subscription.add(() => {
      this.#leaving.delete(leave);
      over();
    });
    subscription.add(
      output$.subscribe({
        error: (error: unknown) => {
          this.#expected(error);
          subscription.unsubscribe();
        },
        complete: () => {
          subscription.unsubscribe();
        },
      }),
    );
  }

  /** Takes from its subscription to its teardown, and ends at once, soon, later, badly, or never by itself. */
  #inner(taking: Taking): Observable<number> {
    return new Observable((subscriber) => {
      this.books.took(taking);
      subscriber.add(() => {
        this.books.gave(taking, 'release');
      });
      const how = this.random();
      if (how < 0.3) subscriber.complete();
      else if (how < 0.6) {
        queueMicrotask(() => {
          subscriber.next(1);
          subscriber.complete();
        });
      } else if (how < 0.8) {
        const timer = setTimeout(() => {
          subscriber.complete();
        }, upTo(this.random, 3));
        subscriber.add(() => {
          clearTimeout(timer);
        });
      } else if (how < 0.9) subscriber.error(FAILURE);
    });
  }

  #run(): void {
    const taking = this.books.draw(this.random);
    const { options } = this.#options();
    const how = this.random();
    const work = async (): Promise<void> => {
      this.books.took(taking);
      if (how > 0.5) await Promise.resolve();
      this.books.gave(taking, 'release');
      if (how > 0.8) throw FAILURE;
    };
    const throwing = (): never => {
      throw FAILURE;
    };
    this.#begun();
    this.admission
      .run(taking.whole, how < 0.1 ? throwing : work, options)
      .catch((error: unknown) => {
        this.#expected(error);
      })
      .finally(this.#once());
  }

  #acquire(): void {
    const taking = this.books.draw(this.random);
    const { options, leave } = this.#options();
    if (leave !== null) this.#leaving.add(leave);
    this.#begun();
    this.admission
      .acquire(taking.whole, options)
      .then((grant) => {
        this.#hold(grant, taking);
      })
      .catch((error: unknown) => {
        this.#expected(error);
      })
      .finally(this.#once());
  }

  #tryAcquire(): void {
    const taking = this.books.draw(this.random);
    this.asked += 1;
    try {
      const grant = this.admission.tryAcquire(taking.whole);
      if (grant !== null) this.#hold(grant, taking);
    } catch (error) {
      this.#expected(error);
    }
  }

  #hold(grant: Grant, taking: Taking): void {
    this.books.took(taking);
    const giveBack = (): void => {
      this.#held.delete(giveBack);
      const verb = this.random() < 0.3 ? 'rollback' : 'release';
      grant[verb]();
      // Once is enough, whoever says it again.
      if (this.random() < 0.1) grant.release();
      this.books.gave(taking, verb);
    };
    this.#held.add(giveBack);
  }

  #options(): { options: AskOptions; leave: Leave | null } {
    // Some so long that its timer would be seen, were it left behind.
    const longest = this.random() < 0.3 ? 3_600_000 : 20;
    const maxWait = this.random() < 0.2 ? upTo(this.random, longest) : undefined;
    const deadline = this.random() < 0.1 ? this.admission.now() + upTo(this.random, 20) : undefined;
    if (this.random() < 0.6) return { options: { maxWait, deadline }, leave: null };
    const controller = new AbortController();
    const leave = (): void => {
      this.#leaving.delete(leave);
      controller.abort();
    };
    return { options: { maxWait, deadline, signal: controller.signal }, leave };
  }

  #begun(): void {
    this.asked += 1;
    this.pending += 1;
  }

  #once(): () => void {
    let open = true;
    return () => {
      if (open) this.pending -= 1;
      open = false;
    };
  }

  #expected(error: unknown): void {
    if (error !== FAILURE && !(error instanceof AdmissionError)) this.failures.push(error);
  }
}
