/** Errors that nobody is left to handle: they are reported, and never become an unhandled rejection. */
import { config } from 'rxjs';

/** As RxJS reports them: to its `onUnhandledError` if one is set, else as an uncaught error, after the present turn. */
export function reportUnhandled(error: unknown): void {
  setTimeout(() => {
    if (config.onUnhandledError) config.onUnhandledError(error);
    else throw error;
  });
}
