/** What is reported as an error that nobody handles while something runs, and in the turns right after it. */
import { config } from 'rxjs';

/** RxJS's own way of catching such reports; the library honours it as well. */
export async function reports(work: () => unknown): Promise<readonly unknown[]> {
  const before = config.onUnhandledError;
  const reported: unknown[] = [];
  config.onUnhandledError = (error) => {
    reported.push(error);
  };
  try {
    await work();
    // Reports come in a macrotask of their own: two more, so that what they cause is seen as well.
    for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setTimeout(resolve));
  } finally {
    config.onUnhandledError = before;
  }
  return reported;
}
