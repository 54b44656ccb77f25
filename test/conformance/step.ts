/** A step of a scenario, understood. */
import type { Amounts } from './amounts.js';
import type { Mode } from './given.js';

export type Method = 'fits' | 'tryTake' | 'give' | 'earliestFit';

export interface Call {
  readonly account: string;
  readonly method: Method;
  readonly mine: Amounts;
  readonly reserved: Amounts | null;
}

export type Action =
  | { readonly kind: 'arrive'; readonly jobs: readonly string[]; readonly need: ReadonlyMap<string, Amounts> }
  | { readonly kind: 'release' | 'rollback' | 'unsubscribe' | 'abortContext'; readonly job: string }
  | { readonly kind: 'heap'; readonly reading: number | null; readonly look: boolean }
  | { readonly kind: '429' | 'success' | 'advisory'; readonly account: string; readonly times: number }
  | { readonly kind: 'backpressure'; readonly account: string; readonly increments: number; readonly times: number }
  | { readonly kind: 'setConfig'; readonly account: string; readonly requests: number; readonly tokens: number }
  | { readonly kind: 'set'; readonly account: string; readonly mode: Mode | null; readonly giveThrows: boolean | null }
  | { readonly kind: 'wake'; readonly account: string }
  | { readonly kind: 'call'; readonly call: Call }
  | { readonly kind: 'stop'; readonly what: 'admission' | 'memory' }
  | { readonly kind: 'advance' };

export type Step = Action & { readonly t: number };
