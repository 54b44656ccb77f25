/** A server with a knee, in virtual time: so many workers, a queue before them, and a no when the queue is full. */
import type { AdaptiveGate } from 'rx-admission/bulkhead';
import { createAdmission, demand, UpstreamFailure, type Ending, type Grant, type Outcome } from 'rx-admission';
import { Observable, catchError, defer, EMPTY, repeat } from 'rxjs';
import type { VirtualClock } from '../conformance/virtual-clock.js';

export interface ServerOptions {
  /** Jobs served at once: the knee. */
  readonly workers: number;
  /** ms of work for a job. */
  readonly service: number;
  /** Share by which the work of one job differs from that of another, seeded. */
  readonly spread?: number;
  /** Jobs that may wait; more are refused. */
  readonly queue?: number;
}

/** Park and Miller's generator, in the plain form. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

interface Waiting {
  readonly serve: () => void;
}

export class Server {
  workers: number;
  service: number;
  served = 0;
  refused = 0;
  readonly #clock: VirtualClock;
  readonly #queue: Waiting[] = [];
  readonly #spread: number;
  readonly #room: number;
  readonly #random = seeded(7);
  #busy = 0;

  constructor(clock: VirtualClock, { workers, service, spread = 0.2, queue = Infinity }: ServerOptions) {
    this.#clock = clock;
    this.workers = workers;
    this.service = service;
    this.#spread = spread;
    this.#room = queue;
  }

  /** One job: how many ms it took from its arrival to its end here. */
  call(): Observable<number> {
    return new Observable((subscriber) => {
      const arrived = this.#clock.now();
      if (this.#busy >= this.workers && this.#queue.length >= this.#room) {
        this.refused += 1;
        // A no is quick, but takes its way there and back.
        subscriber.add(this.#clock.schedule(() => subscriber.error(new Error('overloaded')), this.service / 10));
        return;
      }
      const serve = (): void => {
        this.#busy += 1;
        const ms = this.service * (1 + this.#spread * (2 * this.#random() - 1));
        this.#clock.schedule(() => {
          this.#busy -= 1;
          this.served += 1;
          subscriber.next(this.#clock.now() - arrived);
          subscriber.complete();
          this.#next();
        }, ms);
      };
      this.#queue.push({ serve });
      this.#next();
    });
  }

  #next(): void {
    while (this.#busy < this.workers) {
      const first = this.#queue.shift();
      if (first === undefined) return;
      first.serve();
    }
  }
}

export interface LoadOptions {
  readonly gate: AdaptiveGate;
  readonly clock: VirtualClock;
  /** Callers who always want another job. */
  readonly callers: number;
  readonly call: (grant: Grant) => Observable<unknown>;
}

/** Callers without end on one admission: a refusal of the server is pressure on the gate. */
export function load({ gate, clock, callers, call }: LoadOptions): void {
  const admission = createAdmission({ scheduler: clock });
  const pressure = new UpstreamFailure({ status: 503, service: 'server', detail: 'overloaded' });
  const outcome = (ending: Ending): Outcome => (ending.kind === 'C' ? 'success' : { pressure, account: gate });
  for (let n = 0; n < callers; n += 1) {
    defer(() => admission.defer(demand(gate), call, { outcome }))
      .pipe(
        catchError(() => EMPTY),
        repeat(),
      )
      .subscribe();
  }
}

/** The limit at the end of each second, for so many; those of a probe are left out. */
export function watch(gate: AdaptiveGate, clock: VirtualClock, seconds: number): number[] {
  const limits: number[] = [];
  const start = clock.now();
  for (let second = 1; second <= seconds; second += 1) {
    clock.advanceTo(start + 1_000 * second);
    const { limit, isProbing } = gate.status();
    if (!isProbing) limits.push(limit);
  }
  return limits;
}
