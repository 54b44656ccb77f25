/** Which job an ask is part of: told by `grant.defer`, or found in the asynchronous context, where an admission wants that. */
import type { Nest } from './nest.js';
import { contextStorage, type ContextStorage } from '#platform';

/** What becomes of an ask whose own job holds what it asks for. */
export type NestedPolicy = 'off' | 'warn' | 'refuse' | 'lend';

/** One for all admissions, since a job of one may ask another; none until somebody tracks. */
let storage: ContextStorage<Nest> | null = null;

/** Starts following jobs through their asynchronous context. A runtime without one follows nobody. */
export function follow(): void {
  try {
    storage ??= contextStorage<Nest>();
  } catch {
    // Browsers: what `grant.defer` says is known there, and nothing else.
  }
}

/** The job that is going on. */
export const around = (): Nest | null => storage?.getStore() ?? null;

/** `work` happens inside the job, or inside none. */
export function inside<R>(nest: Nest | null, work: () => R): R {
  return storage === null ? work() : storage.run(nest ?? undefined, work);
}
