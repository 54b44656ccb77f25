/** What the core asks of its runtime, where the runtime offers none of it: browsers and the like. */

/** Used and greatest size of the heap, bytes; or a bare share as `{ used: share, max: 1 }`. */
export interface HeapReading {
  readonly used: number;
  readonly max: number;
}

export interface HeapPort {
  readonly read: () => HeapReading;
  readonly collect?: () => void | Promise<void>;
  /** Starts watching collections; the answer stops it. */
  readonly watch?: () => () => void;
}

/** The asynchronous context that was current when it was taken; `work` runs in it, as a method of `self`. */
export interface Context {
  runInAsyncScope<Self>(work: (this: Self) => void, self: Self): void;
}

/** A value that follows the asynchronous context of the work it was set for. */
export interface ContextStorage<T> {
  run<R>(value: T | undefined, work: () => R): R;
  getStore(): T | undefined;
}

/** Where messages go that nobody has to hear; they are worth making only while somebody does. */
export interface Channel {
  readonly hasSubscribers: boolean;
  publish(message: unknown): void;
}

/** @throws Error always: there is no heap to read here. */
export function defaultHeap(): HeapPort {
  throw new Error('this runtime shows no heap: give the MemoryGate a `heap` option to read it by');
}

/** No asynchronous context to keep. */
export function currentContext(): Context | null {
  return null;
}

/** Hears what is published under a name. */
export type Hear = (message: unknown) => void;

const listeners = new Map<string, Set<Hear>>();

function listenersOf(name: string): Set<Hear> {
  const known = listeners.get(name) ?? new Set();
  listeners.set(name, known);
  return known;
}

/** One of the page's channels: whoever knows its name may listen. */
export function channel(name: string): Channel {
  const hearing = listenersOf(name);
  return {
    get hasSubscribers() {
      return hearing.size > 0;
    },
    publish: (message) => {
      for (const hear of hearing) hear(message);
    },
  };
}

/** @returns what stops it. */
export function listenTo(name: string, hear: Hear): () => void {
  const hearing = listenersOf(name).add(hear);
  return () => void hearing.delete(hear);
}

/** @throws Error always: no value follows a context here. */
export function contextStorage<T>(): ContextStorage<T> {
  throw new Error('this runtime keeps no asynchronous context: hand connections around, by a provider that does');
}
