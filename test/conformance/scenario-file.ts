/** Reads the scenarios of a file one after another, so that a file of any length is never held whole. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { parse } from 'yaml';
import { readPlainYaml } from './plain-yaml.js';

/** One entry of a file: its value as written, or why it could not be read. */
export type Entry = { readonly value: unknown } | { readonly unreadable: string };

/** Every entry of the list that a scenario file is, in order. */
export async function* entriesOf(path: string): AsyncGenerator<Entry> {
  const lines = createInterface({ input: createReadStream(path, 'utf8'), crlfDelay: Infinity });
  let chunk: string[] = [];
  for await (const line of lines) {
    // A list at the left margin is cut at its items; text inside an item is always indented.
    if (/^-(\s|$)/.test(line)) {
      yield* parsed(chunk);
      chunk = [];
    }
    if (!/^(---|\.\.\.)\s*$/.test(line)) chunk.push(line);
  }
  yield* parsed(chunk);
}

function* parsed(chunk: string[]): Generator<Entry> {
  if (chunk.every((line) => line.trim() === '' || line.startsWith('#'))) return;
  const source = chunk.join('\n');
  let list: unknown;
  try {
    list = readPlainYaml(source) ?? parse(source);
  } catch (error) {
    yield { unreadable: error instanceof Error ? error.message : String(error) };
    return;
  }
  if (!Array.isArray(list)) yield { unreadable: 'a scenario file is a list of scenarios' };
  else for (const value of list as unknown[]) yield { value };
}
