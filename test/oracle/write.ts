/** Writes an entry of a scenario file, in the plain part of YAML that such files are written in. */
import type { Raw } from './trace.js';

/** Lists that stand one item a line. */
const LONG = ['steps', 'events', 'checks'];

export function written(raw: Raw): string {
  const lines = Object.entries(raw).flatMap(([key, value]) =>
    key === 'given' || key === 'expect'
      ? [`${key}:`, ...entries(value as Raw).map((line) => `  ${line}`)]
      : entries({ [key]: value }),
  );
  return lines.map((line, index) => `${index === 0 ? '- ' : '  '}${line}\n`).join('');
}

function entries(map: Raw): string[] {
  return Object.entries(map).flatMap(([key, value]) => {
    const long = Array.isArray(value) && LONG.includes(key) && value.length > 0;
    return long ? [`${key}:`, ...value.map((item) => `  - ${inline(item)}`)] : [`${key}: ${inline(value)}`];
  });
}

function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(
    ([key, field]) => `${/^[A-Za-z_][\w.-]*$/.test(key) ? key : JSON.stringify(key)}: ${inline(field)}`,
  );
  return `{${fields.join(', ')}}`;
}
