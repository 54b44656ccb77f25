/** A log that keeps its lines, and a counter of an account's announcements: what accounts say, for a test to read. */
import type { Observable } from 'rxjs';
import type { Log } from 'rx-admission';

export class RecordedLog implements Log {
  /** `warn: …` and `info: …`, in order. */
  readonly lines: string[] = [];

  readonly warn = (line: string): void => {
    this.lines.push(`warn: ${line}`);
  };

  readonly info = (line: string): void => {
    this.lines.push(`info: ${line}`);
  };
}

/** Counts what an account announces from here on. */
export class Wakes {
  count = 0;

  constructor(account: { readonly capacityChanges: Observable<void> }) {
    account.capacityChanges.subscribe(() => {
      this.count += 1;
    });
  }

  /** How many since the last question. */
  take(): number {
    const { count } = this;
    this.count = 0;
    return count;
  }
}

/** What a call throws, as an error to look at. */
export function thrownBy(call: () => unknown): Error {
  try {
    call();
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
  throw new Error('it threw nothing');
}
