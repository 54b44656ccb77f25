/** The meaning of a marble file: who asks for what, what runs, and what is expected. */
import { MarbleSyntaxError, parseMarbleFile, type Line, type MarbleFile } from './format.js';
import {
  account,
  checkLetters,
  demand,
  fail,
  known,
  meanings,
  optional,
  share,
  time,
  verb,
  type AccountPlan,
  type DemandPlan,
  type Verb,
} from './plans.js';

export interface Expected {
  readonly line: Line;
  /** What the `#` of the line is, as `describe` of the runner writes it. */
  readonly error: string | undefined;
}

/** A stream of asks (`source`) or one deferred call (`call a`), with what its consumer sees. */
export interface Caller {
  readonly line: Line;
  /** The letter of a call; empty for the source. */
  readonly name: string;
  readonly demands: ReadonlyMap<string, DemandPlan>;
  readonly maxWait: number | undefined;
  readonly retry: { readonly count: number; readonly delay: number } | undefined;
  readonly repeat: number | undefined;
  readonly signal: string | undefined;
  readonly onRefused: string | undefined;
  /** The marbles of its consumer's own subscription. */
  readonly consumer: string | undefined;
  readonly subs: readonly Line[];
  readonly output: Expected;
}

/** What runs under a grant: one attempt at the inner observable, or the promise, of a letter. */
export interface Work {
  readonly line: Line;
  readonly letter: string;
  readonly error: string | undefined;
  readonly charges: ReadonlyMap<string, { readonly account: string; readonly amount: number }>;
  /** The subscriptions expected of it, in order. */
  readonly subs: readonly Line[];
}

export interface Scenario {
  readonly rule: string;
  /** Milliseconds per character. */
  readonly frame: number;
  readonly accounts: readonly AccountPlan[];
  readonly maxWaiters: number | undefined;
  readonly heap: { readonly line: Line; readonly shares: ReadonlyMap<string, number> } | undefined;
  readonly actions: { readonly line: Line; readonly verbs: ReadonlyMap<string, Verb> } | undefined;
  readonly callers: readonly Caller[];
  readonly work: readonly Work[];
  readonly events: readonly Line[];
}

/** Reads the text of a marble file; throws a {@link MarbleSyntaxError} where it does not make sense. */
export function readScenario(text: string): Scenario {
  const file = parseMarbleFile(text);
  const accounts = [...(file.sections.get('accounts') ?? [])].map(([name, plan]) => account(name, plan));
  const names = new Set(accounts.map(({ name }) => name));
  const heapLine = only(file, 'heap');
  const actionLine = only(file, 'actions');
  const work = worksOf(file, names);
  const callers = callersOf(file, names);
  const scenario: Scenario = {
    rule: file.rule,
    frame: time(file.sections.get('time')?.get('frame') ?? '1 ms', 0),
    accounts,
    maxWaiters: optional(file.sections.get('admission')?.get('max waiters'), Number),
    heap: optional(heapLine, (line) => ({ line, shares: meanings(line, (one) => share(one, line)) })),
    actions: optional(actionLine, (line) => ({ line, verbs: meanings(line, (one) => verb(one, line, names)) })),
    callers,
    work,
    events: all(file, 'events'),
  };
  checkSettings(file);
  checkComplete(scenario, names);
  return scenario;
}

function worksOf(file: MarbleFile, names: ReadonlySet<string>): Work[] {
  return [...all(file, 'inner'), ...all(file, 'promise')]
    .sort((a, b) => a.number - b.number)
    .map((line) => {
      const { '#': error, ...rest } = Object.fromEntries(line.legend);
      const charges = new Map(
        Object.entries(rest).map(([letter, meaning]) => {
          const [, name = '', amount = ''] =
            /^charge (\S+) (\d+)$/.exec(meaning) ?? fail(`cannot read "${meaning}"`, line);
          return [letter, { account: known(name, names, line), amount: Number(amount) }] as const;
        }),
      );
      checkLetters(line);
      return { line, letter: line.subject, error, charges, subs: subsOf(file, line) };
    });
}

function callersOf(file: MarbleFile, names: ReadonlySet<string>): Caller[] {
  const outputs = new Map(all(file, 'output').map((line) => [line.subject, line]));
  const callers = [...all(file, 'source'), ...all(file, 'call')].map((line): Caller => {
    const name = line.subject;
    const output = outputs.get(name) ?? fail('nothing is expected of it: no output line', line);
    outputs.delete(name);
    checkLetters(output);
    const { config } = line;
    const retry = optional(config.get('retry'), (text) => {
      const [, count = '', delay = ''] = /^(\d+) after (.+)$/.exec(text) ?? fail(`cannot read "${text}"`, line);
      return { count: Number(count), delay: time(delay, line.number) };
    });
    const demands =
      line.kind === 'source'
        ? meanings(line, (text) => demand(text, names, line))
        : new Map([[name, demand(config.get('demand') ?? fail('no demand', line), names, line)]]);
    return {
      line,
      name,
      demands,
      maxWait: optional(config.get('max wait'), (text) => time(text, line.number)),
      retry,
      repeat: optional(config.get('repeat'), Number),
      signal: config.get('signal'),
      onRefused: config.get('on refused'),
      consumer: line.kind === 'call' ? line.marbles : only(file, 'consumer')?.marbles,
      subs: line.kind === 'source' ? subsOf(file, line) : [],
      output: { line: output, error: output.legend.get('#') },
    };
  });
  for (const line of outputs.values()) fail('an output of nobody', line);
  return callers;
}

/** The `subs` lines directly under a line. */
function subsOf(file: MarbleFile, line: Line): Line[] {
  const rest = file.lines.slice(file.lines.indexOf(line) + 1);
  const end = rest.findIndex(({ kind }) => kind !== 'subs');
  return rest.slice(0, end === -1 ? undefined : end);
}

function checkSettings(file: MarbleFile): void {
  const may = { accounts: null, time: ['frame'], admission: ['max waiters'] };
  for (const [section, settings] of file.sections) {
    for (const key of settings.keys()) {
      if (may[section]?.includes(key) === false) throw new MarbleSyntaxError(`[${section}] has no "${key}"`, 0);
    }
  }
  file.lines.forEach((line, i) => {
    const above = file.lines[i - 1]?.kind ?? '';
    if (line.kind === 'subs' && !['inner', 'promise', 'subs', 'source'].includes(above)) fail('subs of what?', line);
    if (['consumer', 'subs', 'events'].includes(line.kind) && line.legend.size > 0) fail('no letters here', line);
  });
  if (all(file, 'source').length > 1) fail('one source a file: use call for the others', all(file, 'source')[1]);
}

function checkComplete({ callers, work, events }: Scenario, names: ReadonlySet<string>): void {
  if (callers.length === 0) throw new MarbleSyntaxError('nobody asks: no source and no call', 0);
  const asked = callers.flatMap(({ line, demands }) => [...demands.keys()].map((letter) => [letter, line] as const));
  for (const [letter, line] of asked) {
    if (!work.some((one) => one.letter === letter)) fail(`no inner or promise for "${letter}"`, line);
  }
  for (const { line, letter, subs } of work) {
    if (!asked.some(([one]) => one === letter)) fail(`nobody asks for "${letter}"`, line);
    if (subs.length === 0) fail('nothing is expected of it: no subs line', line);
  }
  for (const line of events) if (line.subject !== 'memory') known(line.subject, names, line);
}

const all = (file: MarbleFile, kind: Line['kind']): Line[] => file.lines.filter((line) => line.kind === kind);

function only(file: MarbleFile, kind: Line['kind']): Line | undefined {
  const [first, second] = all(file, kind);
  if (second !== undefined) fail(`a second ${kind} line`, second);
  return first;
}
