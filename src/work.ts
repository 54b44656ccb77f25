/** Code without streams: one grant's life around what a function answers. */
import type { Ending } from './admit.js';
import { AskFor, type AskOptions } from './ask.js';
import type { Demand } from './demand.js';
import type { Desk } from './desk.js';
import type { Outcome } from './evaluator/settle.js';
import type { Grant } from './grant.js';
import { isPromiseLike } from './inner.js';
import { assertOptions } from './options.js';

/** Options of `run`: those of one ask, and what its end tells the accounts. */
export interface RunOptions extends AskOptions {
  readonly outcome?: ((ending: Ending, grant: Grant) => Outcome) | undefined;
}

/** What is done with a grant. */
export type Work<T> = (grant: Grant) => T | PromiseLike<T>;

/** `admission.run`: see there. */
export function runWork<T>(desk: Desk, demand: Demand, work: Work<T>, options: RunOptions = {}): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    assertWork('run', work);
    assertOptions('run', options);
    const end = (grant: Grant, ending: Ending): void => {
      let outcome: Outcome = 'ignored';
      try {
        if (options.outcome) outcome = options.outcome(ending, grant);
        else if (ending.kind === 'C') outcome = 'success';
      } finally {
        grant.release(outcome);
      }
    };
    const granted = (grant: Grant): void => {
      let result: T | PromiseLike<T>;
      try {
        result = work(grant);
      } catch (error) {
        reject(error);
        grant.rollback();
        return;
      }
      Promise.resolve(result)
        .then(
          (value) => {
            end(grant, { kind: 'C' });
            resolve(value);
          },
          (error: unknown) => {
            end(grant, { kind: 'E', error });
            reject(error);
          },
        )
        .catch(reject);
    };
    desk.ask(new AskFor(desk, demand, options, { granted, refused: reject }));
  });
}

/** @throws TypeError on what does not start when it is called: it has started, or never does. */
export function assertWork(way: string, work: unknown): void {
  if (typeof work === 'function') return;
  const remedy = `give ${way} a function that starts the work: (grant) => …`;
  if (isPromiseLike(work)) throw new TypeError(`a promise has started already, before anything was granted; ${remedy}`);
  throw new TypeError(`${work === null ? 'null' : typeof work} is no work; ${remedy}`);
}
