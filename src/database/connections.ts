/** The connections of one job: opened in the order of declaration, closed in reverse. */
import type { DatabaseContext, DatabaseHandle, DatabaseProvider } from './provider.js';

/** How work uses a database. */
export interface DatabaseOptions {
  /** Nothing will be written. */
  readonly readOnly?: boolean | undefined;
  /** One transaction around the whole of the work, unless `false`: then each statement is on its own. */
  readonly transaction?: boolean | undefined;
}

/** A database, and how it is used. */
export interface Use {
  readonly provider: DatabaseProvider;
  readonly options: DatabaseOptions;
}

interface Opened {
  readonly provider: DatabaseProvider;
  readonly handle: DatabaseHandle;
  readonly options: DatabaseOptions;
}

export class Connections {
  readonly #uses: readonly Use[];
  readonly #opened: Opened[] = [];
  readonly #unwanted = new AbortController();
  #opening: Promise<void> = Promise.resolve();
  #closing: Promise<void> | null = null;

  constructor(uses: readonly Use[]) {
    this.#uses = uses;
  }

  get values(): readonly unknown[] {
    return this.#opened.map(({ handle }) => handle.unwrap());
  }

  /** Runs `work` where it finds every connection that is found by its context. */
  enter(work: () => void): void {
    const entered = this.#contexts.reduce<() => void>((inner, context) => () => context.enter(inner), work);
    entered();
  }

  /** Runs `work` where it finds none of them, from inside `enter`. */
  leave(work: () => void): void {
    const left = this.#contexts.reduce<() => void>((inner, context) => () => context.leave(inner), work);
    left();
  }

  get #contexts(): DatabaseContext[] {
    return this.#opened.flatMap(({ handle: { context } }) => context ?? []);
  }

  /** Opens all of them, in order. After a failure some may be open: `close` is due in any case. */
  async open(): Promise<void> {
    this.#opening = this.#open();
    await this.#opening;
  }

  async #open(): Promise<void> {
    const { signal } = this.#unwanted;
    for (const { provider, options } of this.#uses) {
      const handle = await provider.acquire({ readOnly: options.readOnly ?? false, signal });
      this.#opened.push({ provider, handle, options });
      // It may have landed in the turn of the abort.
      if (signal.aborted) provider.abort(handle);
      if (options.transaction ?? true) await provider.begin(handle);
    }
  }

  /** Commits each, and waits until others see it. One database knows nothing of the other: the first may be in alone. */
  async commit(): Promise<void> {
    for (const { provider, handle } of this.#opened) {
      await provider.commit(handle);
      await provider.awaitCompletion(handle);
    }
  }

  /** Severs all of them, and what is still being opened is not wanted any more. */
  abort(reason: unknown): void {
    this.#unwanted.abort(reason);
    for (const { provider, handle } of this.#opened) provider.abort(handle);
  }

  /**
   * Closes every one of them, even where some cannot be closed: a provider has said so itself, and has destroyed what it
   * could not hand back, so there is nothing that the job could do about it.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#opening.catch(() => undefined);
    for (const { provider, handle } of this.#opened.toReversed()) await provider.close(handle).catch(() => undefined);
  }
}
