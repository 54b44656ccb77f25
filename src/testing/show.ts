/** How a recorded value, an instant and a length of time are written in a message for a person. */

/** A value on one line: strings bare when they are one letter, errors by name and message, objects as JSON. */
export function show(value: unknown): string {
  if (typeof value === 'string') return [...value].length === 1 ? value : JSON.stringify(value);
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (typeof value === 'object' && value !== null) return showObject(value);
  return typeof value === 'function' ? value.name : String(value);
}

function showObject(value: object): string {
  try {
    return JSON.stringify(value);
  } catch {
    // Cycles and bigints have no JSON; the class is then all that fits on a line.
    return Object.prototype.toString.call(value);
  }
}

/** Milliseconds as a marble diagram writes them: `250ms`, `12s`, `3m`. */
export function duration(ms: number): string {
  if (ms !== 0 && ms % 60_000 === 0) return `${ms / 60_000}m`;
  if (ms !== 0 && ms % 1_000 === 0) return `${ms / 1_000}s`;
  return `${ms}ms`;
}
