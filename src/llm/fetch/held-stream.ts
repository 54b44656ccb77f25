/** Hands a stream on as it comes, and notices its end: whole, broken, cancelled, dropped unread, or left lying. */

/** What is done with the chunks, and who is told of the end; exactly one of `whole`, `broke`, `left` is called, once. */
export interface Holder<T> {
  /** What is handed on in place of the chunk. */
  pass(chunk: T): readonly T[];
  /** What was kept back until the end. */
  rest(): readonly T[];
  whole(): void;
  broke(error: unknown): void;
  /** The consumer cancelled it, or is gone; `why` is set where it lay unread for too long. */
  left(why?: string): void;
}

/** A stream that nobody can reach any more has nobody to end it. */
const dropped = new FinalizationRegistry<() => void>((leave) => {
  leave();
});

/**
 * `source`, unbuffered: a chunk is read when one is asked for, and handed on at once.
 *
 * `maxIdle` is for how long, in ms, nobody may ask before the source is cancelled.
 */
export function heldStream<T>(source: ReadableStream<T>, holder: Holder<T>, maxIdle: number): ReadableStream<T> {
  const hold = new Hold(source.getReader(), holder, maxIdle);
  const held = new ReadableStream<T>(
    {
      pull: (controller) => hold.pull(controller),
      cancel: (reason) => hold.cancel(reason),
    },
    // Nothing is read ahead of the consumer.
    { highWaterMark: 0 },
  );
  // What is registered must not lead back to the stream: that would keep it for ever.
  dropped.register(held, () => {
    hold.drop('');
  });
  return held;
}

interface Controller<T> {
  enqueue(chunk: T): void;
  close(): void;
}

class Hold<T> {
  readonly #reader: ReadableStreamDefaultReader<T>;
  readonly #holder: Holder<T>;
  readonly #maxIdle: number;
  #isOver = false;
  #cut: Error | null = null;
  #isReading = false;
  #idleSince = performance.now();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(reader: ReadableStreamDefaultReader<T>, holder: Holder<T>, maxIdle: number) {
    this.#reader = reader;
    this.#holder = holder;
    this.#maxIdle = maxIdle;
    if (maxIdle !== Infinity) this.#watch(maxIdle);
    // It may break while nobody reads, as when the caller aborts between two reads.
    reader.closed.catch((error: unknown) => {
      this.#over(() => {
        holder.broke(error);
      });
    });
  }

  async pull(controller: Controller<T>): Promise<void> {
    if (this.#cut !== null) throw this.#cut;
    this.#isReading = true;
    try {
      await this.#handOn(controller);
    } finally {
      this.#isReading = false;
      this.#idleSince = performance.now();
    }
  }

  cancel(reason: unknown): Promise<void> {
    this.#over(() => {
      this.#holder.left();
    });
    return this.#reader.cancel(reason);
  }

  /** Without a consumer: the source is told, and what it answers concerns nobody. */
  drop(why: string): void {
    if (this.#isOver) return;
    this.#over(() => {
      this.#holder.left(why);
    });
    this.#reader.cancel(why).catch(() => undefined);
  }

  /** Until something was handed on: a stream that is pulled and gets nothing is not pulled again. */
  async #handOn(controller: Controller<T>): Promise<void> {
    for (;;) {
      const next = await this.#next();
      const chunks = this.#passed(next);
      for (const chunk of chunks) controller.enqueue(chunk);
      if (next.done) {
        // Before the consumer hears of the end: one that asks again at once finds the permits back.
        this.#over(() => {
          this.#holder.whole();
        });
        controller.close();
        return;
      }
      if (chunks.length > 0) return;
    }
  }

  /** What cannot be read is a broken answer: it is not read on. */
  #passed(next: Awaited<ReturnType<ReadableStreamDefaultReader<T>['read']>>): readonly T[] {
    try {
      return next.done ? this.#holder.rest() : this.#holder.pass(next.value);
    } catch (error) {
      this.#over(() => {
        this.#holder.broke(error);
      });
      this.#reader.cancel(error).catch(() => undefined);
      throw error;
    }
  }

  async #next(): ReturnType<ReadableStreamDefaultReader<T>['read']> {
    try {
      return await this.#reader.read();
    } catch (error) {
      this.#over(() => {
        this.#holder.broke(error);
      });
      throw error;
    }
  }

  #over(tell: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    try {
      tell();
    } catch (error) {
      // Whoever holds something for this answer is told in any case.
      this.#holder.broke(error);
      throw error;
    }
  }

  #watch(ms: number): void {
    this.#timer = setTimeout(() => {
      const idle = this.#isReading ? 0 : performance.now() - this.#idleSince;
      if (idle < this.#maxIdle) this.#watch(this.#maxIdle - idle);
      else {
        this.#cut = new Error(`nobody read this answer for ${String(this.#maxIdle)} ms, and its permits were needed: it was cut; read it, cancel it, or raise maxHold`);
        this.drop(this.#cut.message);
      }
    }, Math.min(ms, 2 ** 31 - 1));
    // A body that nobody reads keeps no process alive.
    (this.#timer as { unref?: () => void }).unref?.();
  }
}
