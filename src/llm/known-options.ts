/** Whether something that was handed over as options is some: what nobody would read is said at once, not ignored. */
import type { Admission } from '../index.js';

/** Complete by its type: an option that is added and not named here does not compile. */
export type Known<Options> = Readonly<Record<keyof Options, true>>;

/** @throws TypeError that names what was given and what could be. */
export function assertKnown(way: string, options: unknown, known: Readonly<Record<string, true>>): void {
  const listed = Object.keys(known).join(', ');
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`the options of ${way} are an object of ${listed}, not ${options === undefined ? 'left out' : typeof options}`);
  }
  for (const key in options) {
    if (!Object.hasOwn(known, key)) throw new TypeError(`${way} has no option "${key}"; it has ${listed}`);
  }
}

/** By what it can, so that nothing of the core is loaded here. @throws TypeError on what is none. */
export function assertAdmission(way: string, admission: Partial<Admission> | null | undefined): void {
  if (typeof admission?.acquire === 'function' && typeof admission.admit === 'function') return;
  throw new TypeError(`${way} needs an admission, made by createAdmission(), as its first argument`);
}
