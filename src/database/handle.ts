/** A handle: one held connection, its transaction, and the latches of those who wait for its end. */
import type { HeldConnection } from './held-connection.js';
import { DeferredEnd } from './deferred-end.js';
import type { DatabaseContext, DatabaseHandle } from './provider.js';

/** Open until `closing` is set; `returned` once the pool has its connection. It can be aborted until then. */
export class Handle<T> implements DatabaseHandle<T> {
  /** Ends at abort: whoever waits for the driver stops waiting. */
  readonly severing = new DeferredEnd();
  /** The transaction that is open; its end is when others see it, or never will. */
  transaction: DeferredEnd | null = null;
  closing: Promise<void> | null = null;
  aborted = false;
  returned = false;

  constructor(
    readonly owner: object,
    /** Of the provider's account. */
    readonly name: string,
    readonly connection: HeldConnection<T>,
  ) {}

  get context(): DatabaseContext | undefined {
    return this.connection.context;
  }

  unwrap(): T {
    this.assertUsable();
    return this.connection.value;
  }

  /** @throws Error on a handle that was closed or aborted. */
  assertUsable(): void {
    if (this.aborted) throw new Error(`${this.name}: this connection was aborted; only close is left to do`);
    if (this.closing !== null) throw new Error(`${this.name}: this connection was closed; acquire another one`);
  }

  endTransaction(): void {
    this.transaction?.end();
    this.transaction = null;
  }

  /** The driver's answer, or a rejection as soon as the handle is aborted: not every driver tells those who wait. */
  async answered<R>(work: () => PromiseLike<R>): Promise<R> {
    const aborted = this.severing.promise.then(() => {
      throw new Error(`${this.name}: this connection was aborted`);
    });
    return Promise.race([work(), aborted]);
  }
}
