/** The provider that counts and holds nothing: the host's own stack takes its connections. */
import { CancelledError, DatabaseGate } from '../index.js';
import type { ProviderOptions } from './holding-provider.js';
import type { AcquireOptions, DatabaseHandle, DatabaseProvider } from './provider.js';

class Counted implements DatabaseHandle<undefined> {
  constructor(readonly owner: object) {}

  unwrap(): undefined {
    return undefined;
  }
}

/** Depends on no database: its transaction verbs do nothing, and its handles carry nothing. */
export class CountingProvider implements DatabaseProvider<undefined> {
  readonly name: string;
  readonly admission: DatabaseGate;

  constructor({ name, maxConcurrent }: ProviderOptions) {
    this.name = name;
    this.admission = new DatabaseGate({ name, capacity: maxConcurrent });
  }

  acquire({ signal }: AcquireOptions = {}): Promise<DatabaseHandle<undefined>> {
    if (!signal?.aborted) return Promise.resolve(new Counted(this));
    const { name } = this.admission;
    return Promise.reject(new CancelledError(`${name}: the connection is not wanted any more`, { cause: signal.reason }));
  }

  begin(handle: DatabaseHandle<undefined>): Promise<void> {
    return this.#nothing(handle);
  }

  commit(handle: DatabaseHandle<undefined>): Promise<void> {
    return this.#nothing(handle);
  }

  awaitCompletion(handle: DatabaseHandle<undefined>): Promise<void> {
    return this.#nothing(handle);
  }

  rollback(handle: DatabaseHandle<undefined>): Promise<void> {
    return this.#nothing(handle);
  }

  close(handle: DatabaseHandle<undefined>): Promise<void> {
    return this.#nothing(handle);
  }

  abort(handle: DatabaseHandle<undefined>): void {
    this.#assertOwn(handle);
  }

  async #nothing(handle: DatabaseHandle<undefined>): Promise<void> {
    this.#assertOwn(handle);
    return Promise.resolve();
  }

  #assertOwn(handle: DatabaseHandle<undefined>): void {
    if (handle instanceof Counted && handle.owner === this) return;
    throw new TypeError(`${this.admission.name}: this handle is not its own; give it to the provider it came from`);
  }
}

/**
 * For hosts whose stack takes connections by itself, where work never has more than one out at a time.
 *
 * @throws RangeError when `maxConcurrent` is not a positive whole number.
 *
 * @example
 * ```ts
 * const orders = withDatabase(countingProvider({ name: 'orders', maxConcurrent: 8 }));
 * ids$.pipe(admit(orders.demand(), orders.project((id) => prisma.order.update({ where: { id }, data: { paid: true } }))));
 * ```
 */
export const countingProvider = (options: ProviderOptions): CountingProvider => new CountingProvider(options);
