/** What the values in a marble file mean: accounts, demands, lengths of time, shares of the heap, verbs. */
import { MarbleSyntaxError, type Line } from './format.js';

/** An account as `[accounts]` states it; the numbers are those of the text. */
export type AccountPlan = { readonly name: string; readonly text: string } & (
  | { readonly kind: 'gate'; readonly capacity: number }
  | { readonly kind: 'bucket'; readonly tokens: number; readonly requests: number | undefined }
  | {
      readonly kind: 'window';
      readonly requests: number;
      readonly length: number;
      readonly circuit: { readonly cooldown: number } | undefined;
    }
);

export type DemandPlan = readonly { readonly account: string; readonly amount: number }[];

export type Verb =
  | { readonly verb: 'stop' }
  | { readonly verb: 'pause' | 'resume' | 'failure'; readonly account: string }
  | { readonly verb: 'resize'; readonly account: string; readonly capacity: number };

export const demand = (text: string, names: ReadonlySet<string>, line: Line): DemandPlan =>
  text === 'nothing'
    ? []
    : text.split(', ').map((entry) => {
        const [, name = '', amount = '1'] = /^([a-z]+)(?: (\d+))?$/.exec(entry) ?? fail(`cannot read "${entry}"`, line);
        return { account: known(name, names, line), amount: Number(amount) };
      });

export function verb(text: string, line: Line, names: ReadonlySet<string>): Verb {
  const [word, name = '', capacity] = text.split(' ');
  if (text === 'stop') return { verb: 'stop' };
  known(name, names, line);
  if (word === 'resize') return { verb: word, account: name, capacity: Number(capacity) };
  if (capacity === undefined && (word === 'pause' || word === 'resume' || word === 'failure')) {
    return { verb: word, account: name };
  }
  return fail(`nobody can do "${text}"`, line);
}

export function account(name: string, text: string): AccountPlan {
  const gate = /^gate (\d+)$/.exec(text);
  if (gate) return { kind: 'gate', name, text, capacity: Number(gate[1]) };
  const bucket = /^bucket (\d+) tokens\/min(?:, (\d+) requests\/min)?$/.exec(text);
  if (bucket) return { kind: 'bucket', name, text, tokens: Number(bucket[1]), requests: optional(bucket[2], Number) };
  const window = /^window (\d+) per (\d+ \w+)(?:, one failure opens its circuit for (\d+ \w+))?$/.exec(text);
  if (window) {
    const [, requests, length = '', cooldown] = window;
    const circuit = optional(cooldown, (one) => ({ cooldown: time(one, 0) }));
    return { kind: 'window', name, text, requests: Number(requests), length: time(length, 0), circuit };
  }
  throw new MarbleSyntaxError(`[accounts] cannot read "${name} = ${text}"`, 0);
}

export function share(text: string, line: Line): number {
  const [, percent] = /^(\d+)%$/.exec(text) ?? fail(`"${text}" is no share: 85%`, line);
  return Number(percent) / 100;
}

export function time(text: string, number: number): number {
  const [, count, unit = ''] = /^(\d+) (ms|s|min)$/.exec(text) ?? [];
  const scale = { ms: 1, s: 1_000, min: 60_000 }[unit];
  if (scale === undefined) throw new MarbleSyntaxError(`"${text}" is no length of time: 4 s`, number);
  return Number(count) * scale;
}

/** Every letter of the marbles has a meaning and the other way round; `#` and values of streams need none. */
export function checkLetters(line: Line): void {
  const used = new Set(line.marbles.match(/[a-z#]/g));
  for (const letter of line.legend.keys()) if (!used.has(letter)) fail(`"${letter}" is not in the line`, line);
  if (line.kind === 'output' && used.has('#') && !line.legend.has('#')) fail('say which error: # := …', line);
  if (line.kind === 'output' && [...line.legend.keys()].some((letter) => letter !== '#'))
    fail('only # has a meaning', line);
}

export function meanings<T>(line: Line, read: (text: string) => T): Map<string, T> {
  checkLetters(line);
  return new Map(
    (line.marbles.match(/[a-z]/g) ?? []).map((letter) => [
      letter,
      read(line.legend.get(letter) ?? fail(`"${letter}" has no meaning`, line)),
    ]),
  );
}

export function known(name: string, names: ReadonlySet<string>, line: Line): string {
  return names.has(name) ? name : fail(`no account is called "${name}"`, line);
}

export const optional = <T, R>(value: T | undefined, read: (value: T) => R): R | undefined =>
  value === undefined ? undefined : read(value);

export function fail(message: string, line: Line | undefined): never {
  throw new MarbleSyntaxError(message, line?.number ?? 0);
}
