/** What a scenario starts from: its accounts, its clock and its heap. */
import { NotUnderstood, countAt, mapAt, numberAt, onlyKeys, show, textAt, type Fields } from './fields.js';

/** What a scripted double says to whoever asks it. */
export type Mode = 'fits' | 'short' | 'takeFails' | 'refuse' | 'broken' | 'takeBroken' | 'deadlineBroken';

const MODES: readonly Mode[] = ['fits', 'short', 'takeFails', 'refuse', 'broken', 'takeBroken', 'deadlineBroken'];

export interface WindowSpec {
  readonly kind: 'window';
  readonly baseWindow: number;
  readonly maxRequests: number;
  readonly initialCooldown?: number;
  readonly maxCooldown?: number;
  readonly probeTimeout?: number;
}

export type AccountSpec =
  | { readonly kind: 'gate'; readonly capacity: number }
  | { readonly kind: 'bucket'; readonly requests: number; readonly tokens: number }
  | { readonly kind: 'double'; readonly mode: Mode; readonly giveThrows: boolean }
  | WindowSpec;

export interface Given {
  readonly accounts: ReadonlyMap<string, AccountSpec>;
  readonly clock: number;
  readonly heap: number;
  /** Readings of the first looks; the ordinary reading follows. */
  readonly firstLooks: readonly number[];
  /** A fixed count in place of memory's line. */
  readonly heldOnMemory: number | null;
}

const GATE = /^gate capacity (\d+)$/;
const BUCKET = /^token bucket rpm (\d+) tpm (\d+) \(full\)$/;
const WINDOW = /^elastic window base (\d+)ms max (\d+)(?: \((.+)\))?$/;
const WINDOW_OPTION = /^(initial cooldown|max cooldown|probe timeout) (\d+)ms$/;
const DOUBLE = /^scripted double, mode (\w+)(, give throws)?$/;

export function givenOf(value: unknown): Given {
  const fields = mapAt(value, 'given');
  onlyKeys(fields, ['accounts', 'clock', 'heap', 'heapReadings', 'heldOnMemory'], 'given');
  const accounts = new Map<string, AccountSpec>();
  for (const [name, spec] of Object.entries(mapAt(fields.accounts ?? {}, 'given.accounts'))) {
    if (name === 'memory') throw new NotUnderstood('given.accounts: memory is the real gate everywhere');
    accounts.set(name, accountSpec(textAt(spec, `given.accounts.${name}`), `given.accounts.${name}`));
  }
  return {
    accounts,
    clock: numberAt(fields.clock ?? 0, 'given.clock'),
    ...heapOf(fields),
    heldOnMemory: fields.heldOnMemory === undefined ? null : countAt(fields.heldOnMemory, 'given.heldOnMemory'),
  };
}

export function modeAt(text: unknown, where: string): Mode {
  const mode = MODES.find((known) => known === text);
  if (mode === undefined) throw new NotUnderstood(`${where}: unknown mode ${show(text)}`);
  return mode;
}

function accountSpec(text: string, where: string): AccountSpec {
  const [, capacity] = GATE.exec(text) ?? [];
  if (capacity !== undefined) return { kind: 'gate', capacity: Number(capacity) };
  const [, requests, tokens] = BUCKET.exec(text) ?? [];
  if (requests !== undefined) return { kind: 'bucket', requests: Number(requests), tokens: Number(tokens) };
  const [, base, max, options] = WINDOW.exec(text) ?? [];
  if (base !== undefined) {
    return { kind: 'window', baseWindow: Number(base), maxRequests: Number(max), ...windowOptions(options, where) };
  }
  const [, mode, giveThrows] = DOUBLE.exec(text) ?? [];
  if (mode !== undefined) return { kind: 'double', mode: modeAt(mode, where), giveThrows: giveThrows !== undefined };
  throw new NotUnderstood(`${where}: unknown kind of account ${show(text)}`);
}

function windowOptions(text: string | undefined, where: string): Partial<WindowSpec> {
  const options: Record<string, number> = {};
  for (const option of text?.split(', ') ?? []) {
    const [, words, value] = WINDOW_OPTION.exec(option) ?? [];
    const key = words?.replace(/ (\w)/, (_, letter: string) => letter.toUpperCase());
    if (key === undefined || key in options) throw new NotUnderstood(`${where}: unknown option ${show(option)}`);
    options[key] = Number(value);
  }
  return options;
}

const LOOKS = /^first (\w+) looks? ([\d., ]+), then ([\d.]+)$/;
const COUNTS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

function heapOf(fields: Fields): { heap: number; firstLooks: readonly number[] } {
  const heap = numberAt(fields.heap ?? 0.5, 'given.heap');
  if (fields.heapReadings === undefined) return { heap, firstLooks: [] };
  const text = textAt(fields.heapReadings, 'given.heapReadings');
  const [, count, readings, then] = LOOKS.exec(text) ?? [];
  if (count === undefined || readings === undefined) {
    throw new NotUnderstood(`given.heapReadings: cannot read ${show(text)}`);
  }
  const firstLooks = readings.split(', ').map((reading) => numberAt(Number(reading), 'given.heapReadings'));
  const counted = COUNTS.includes(count) ? COUNTS.indexOf(count) : Number(count);
  if (counted !== firstLooks.length) throw new NotUnderstood(`given.heapReadings: ${count} looks, ${readings}`);
  if (fields.heap !== undefined && Number(then) !== heap) {
    throw new NotUnderstood(`given.heapReadings ends on ${then ?? ''}, given.heap is ${heap}`);
  }
  return { heap: Number(then), firstLooks };
}
