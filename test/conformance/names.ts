/** Names of jobs as files write them: `J1`, or a range `J1..J25` for all from the first to the last. */
import { NotUnderstood } from './fields.js';

const RANGE = /^(.*?)(\d+)\.\.(.*?)(\d+)$/;

/** The names that a name or a range stands for. */
export function namesOf(text: string, where: string): readonly string[] {
  if (!text.includes('..')) return [text];
  const [, prefix, first, again, last] = RANGE.exec(text) ?? [];
  if (prefix === undefined || first === undefined || last === undefined || prefix !== again || Number(last) < Number(first)) {
    throw new NotUnderstood(`${where}: ${JSON.stringify(text)} is no range of names`);
  }
  const width = first.startsWith('0') ? first.length : 0;
  const names: string[] = [];
  for (let number = Number(first); number <= Number(last); number += 1) {
    names.push(prefix + String(number).padStart(width, '0'));
  }
  return names;
}
