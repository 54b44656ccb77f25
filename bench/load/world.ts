/** A world in virtual time: clients that ask at random instants, work that takes random time, and what came of it. */
import {
  AdmissionError,
  createAdmission,
  type Admission,
  type AdmissionOptions,
  type Demand,
  type RefusalReason,
} from 'rx-admission';
import { finalize, timer, VirtualAction, VirtualTimeScheduler } from 'rxjs';
import { randomOf } from '../random.js';
import type { Figures } from './report.js';

export interface ClientOptions {
  readonly name: string;
  /** Asks per second, at random instants (a Poisson process). */
  readonly perSecond: number;
  readonly demand: () => Demand;
  /** ms that the work takes. */
  readonly work: () => number;
  /** ms that it waits at most. */
  readonly maxWait?: number;
  /** ms from asking within which an answer is of use. */
  readonly within?: number;
  /** ms after which the client goes away, whatever has become of its ask; never unless given. */
  readonly leaves?: () => number;
}

/** A client, and what became of its asks. */
export class Client {
  asked = 0;
  done = 0;
  useful = 0;
  left = 0;
  readonly waits: number[] = [];
  readonly refused: Partial<Record<RefusalReason, number>> = {};

  constructor(readonly options: ClientOptions) {}

  get usefulShare(): number {
    return this.useful / this.asked;
  }
}

/** Asks between two looks at the heap: each costs about as much as an ask. */
const HEAP_EVERY = 256;

export class World {
  readonly clock = new VirtualTimeScheduler(VirtualAction, Infinity);
  readonly admission: Admission;
  readonly clients: Client[] = [];
  /** Work that has begun and not ended. */
  running = 0;
  peakWaiters = 0;
  peakHeapBytes = 0;
  readonly #random: () => number;
  #until = 0;
  #asks = 0;

  constructor(seed: number, options: AdmissionOptions = {}) {
    this.#random = randomOf(seed);
    this.admission = createAdmission({ ...options, scheduler: this.clock });
  }

  /** A random time of that mean, as between independent events. */
  exponential(mean: number): number {
    return -Math.log(1 - this.#random()) * mean;
  }

  chance(share: number): boolean {
    return this.#random() < share;
  }

  client(options: ClientOptions): Client {
    const client = new Client(options);
    this.clients.push(client);
    this.every(options.perSecond, () => {
      this.#ask(client);
    });
    return client;
  }

  /** Something that happens so often per second, until the arrivals end. */
  every(perSecond: number, happens: () => void): void {
    this.clock.schedule(() => {
      if (this.clock.now() >= this.#until) return;
      happens();
      this.every(perSecond, happens);
    }, this.exponential(1_000 / perSecond));
  }

  at(instant: number, happens: () => void): void {
    this.clock.schedule(happens, instant - this.clock.now());
  }

  /** Clients ask for so many seconds; then what is under way ends. */
  runFor(seconds: number): void {
    this.#until = seconds * 1_000;
    this.clock.flush();
  }

  /** Counts one more ask, and looks at what waits. */
  look(): void {
    this.peakWaiters = Math.max(this.peakWaiters, this.admission.queueSize);
    this.#asks += 1;
    if (this.#asks % HEAP_EVERY === 0) this.peakHeapBytes = Math.max(this.peakHeapBytes, process.memoryUsage().heapUsed);
  }

  figures(run: string, clients: readonly Client[] = this.clients): Figures {
    return {
      run,
      useful: clients.reduce((sum, { useful }) => sum + useful, 0) / (this.#until / 1_000),
      waits: clients.flatMap(({ waits }) => waits),
      shares: clients.map(({ usefulShare }) => usefulShare),
      peakWaiters: this.peakWaiters,
      peakHeapBytes: this.peakHeapBytes,
    };
  }

  #ask(client: Client): void {
    const { demand, work, maxWait, within = Infinity, leaves } = client.options;
    const asked = this.clock.now();
    client.asked += 1;
    const call = this.admission
      .defer(
        demand(),
        () => {
          client.waits.push(this.clock.now() - asked);
          this.running += 1;
          return timer(work(), this.clock).pipe(
            finalize(() => {
              this.running -= 1;
            }),
          );
        },
        { maxWait },
      )
      .subscribe({
        complete: () => {
          client.done += 1;
          if (this.clock.now() - asked <= within) client.useful += 1;
        },
        error: (error: unknown) => {
          if (!(error instanceof AdmissionError)) throw error;
          client.refused[error.reason] = (client.refused[error.reason] ?? 0) + 1;
        },
      });
    this.look();
    if (leaves === undefined) return;
    this.clock.schedule(() => {
      if (call.closed) return;
      client.left += 1;
      call.unsubscribe();
    }, leaves());
  }
}
