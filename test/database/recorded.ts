/** A provider that notes which verbs it was told, and does what the real one under it does. */
import type { AcquireOptions, DatabaseHandle, DatabaseProvider } from 'rx-admission/database';

type Verb = 'acquire' | 'begin' | 'commit' | 'awaitCompletion' | 'rollback' | 'close' | 'abort';

export class Recorded<T> implements DatabaseProvider<T> {
  /** Runs before a verb reaches the provider; what it throws is the verb's failure. */
  readonly before = new Map<Verb, () => void | Promise<void>>();

  constructor(
    private readonly under: DatabaseProvider<T>,
    private readonly log: string[],
  ) {}

  get name(): string {
    return this.under.name;
  }

  get admission(): DatabaseProvider<T>['admission'] {
    return this.under.admission;
  }

  async acquire(options?: AcquireOptions): Promise<DatabaseHandle<T>> {
    await this.#note('acquire');
    return this.under.acquire(options);
  }

  async begin(handle: DatabaseHandle<T>): Promise<void> {
    await this.#note('begin');
    await this.under.begin(handle);
  }

  async commit(handle: DatabaseHandle<T>): Promise<void> {
    await this.#note('commit');
    await this.under.commit(handle);
  }

  async awaitCompletion(handle: DatabaseHandle<T>): Promise<void> {
    await this.under.awaitCompletion(handle);
  }

  async rollback(handle: DatabaseHandle<T>): Promise<void> {
    await this.under.rollback(handle);
  }

  async close(handle: DatabaseHandle<T>): Promise<void> {
    await this.under.close(handle);
    await this.#note('close');
  }

  abort(handle: DatabaseHandle<T>): void {
    this.log.push(`${this.name} abort`);
    this.under.abort(handle);
  }

  async #note(verb: Verb): Promise<void> {
    this.log.push(`${this.name} ${verb}`);
    await this.before.get(verb)?.();
  }
}
