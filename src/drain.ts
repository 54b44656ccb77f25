/** Draining: nothing new is admitted, what runs may end, and what does not end in time is told to and reported. */
import { filter } from 'rxjs';
import { nonNegative } from './accounts/validation.js';
import type { Desk } from './desk.js';
import { StoppedError } from './errors.js';
import { grantsOf, type GrantView } from './status.js';

export interface DrainOptions {
  /** ms to wait for the grants; then every `grant.signal` aborts. Unless given, as long as they take. */
  readonly timeout?: number | undefined;
}

export interface DrainReport {
  /** Every grant was settled. */
  readonly drained: boolean;
  /** Parked asks that were refused. */
  readonly refused: number;
  /** ms that the drain took. */
  readonly took: number;
  /** What was still held at the end: each was told to abort. */
  readonly left: readonly GrantView[];
}

export function drainDesk(desk: Desk, { timeout }: DrainOptions = {}): Promise<DrainReport> {
  if (timeout !== undefined) nonNegative('drain timeout (ms)', timeout);
  const since = desk.now();
  const refused = desk.state.line.size + desk.nesting.borrowers.size + desk.suspended.asks.length;
  desk.stop();
  return new Promise((resolve, reject) => {
    const end = (): void => {
      settled.unsubscribe();
      alarm?.cancel();
      const now = desk.now();
      const left = grantsOf(desk, now);
      resolve({ drained: left.length === 0, refused, took: now - since, left });
    };
    const settled = desk.changes$.pipe(filter(() => desk.held.size === 0)).subscribe({ next: end, error: reject });
    const alarm =
      timeout === undefined
        ? null
        : desk.alarms.set(since + timeout, () => {
            const reason = new StoppedError(new Error(`the drain's ${String(timeout)}ms have passed`));
            for (const ask of desk.held) ask.abort(reason);
            end();
          });
    if (desk.held.size === 0) end();
  });
}
