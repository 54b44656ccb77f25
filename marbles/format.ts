/** Reads a marble file: an admission scenario as text, strictly, so that nothing in it goes unchecked. */

/** What stands wrong in a file, with its line. */
export class MarbleSyntaxError extends Error {
  override readonly name = 'MarbleSyntaxError';

  constructor(message: string, line: number) {
    super(line === 0 ? message : `line ${line}: ${message}`);
  }
}

/** One marble line with what is written under it. */
export interface Line {
  /** `source`, `call a`, `inner a`, `subs`, `output`, `events http`, … */
  readonly kind: LineKind;
  /** What follows the kind in the label: a letter, an account, or nothing. */
  readonly subject: string;
  readonly marbles: string;
  /** `x := meaning`, by letter. */
  readonly legend: ReadonlyMap<string, string>;
  /** `key = value`. */
  readonly config: ReadonlyMap<string, string>;
  /** Its line number in the file. */
  readonly number: number;
}

/** A marble file. */
export interface MarbleFile {
  /** The one rule it shows, as a sentence. */
  readonly rule: string;
  /** `[accounts]`, `[time]` and `[admission]`, each as its `key = value` lines. */
  readonly sections: ReadonlyMap<Section, ReadonlyMap<string, string>>;
  readonly lines: readonly Line[];
}

const SECTIONS = ['accounts', 'time', 'admission'] as const;
export type Section = (typeof SECTIONS)[number];

/** Each kind of line: whether its label has a subject, which marbles it may hold, and which `key =` lines. */
const KINDS = {
  heap: { subject: false, marbles: /^[-a-z]+$/, config: [] },
  source: { subject: false, marbles: /^[-a-z()]+\|?$/, config: ['max wait', 'on refused'] },
  call: { subject: true, marbles: /^-*\^-*!?$/, config: ['demand', 'max wait', 'retry', 'repeat', 'signal'] },
  actions: { subject: false, marbles: /^[-a-z()]+$/, config: [] },
  consumer: { subject: false, marbles: /^-*\^-*!?$/, config: [] },
  inner: { subject: true, marbles: /^[-a-z()]*[|#]?\)?$/, config: [] },
  promise: { subject: true, marbles: /^-*\([a-z]\|\)$|^-*#$/, config: [] },
  subs: { subject: false, marbles: /^-*\^-*!?$|^-*\(\^!\)$|^-+$/, config: [] },
  output: { subject: null, marbles: /^[-a-z()]*[|#]?\)?$/, config: [] },
  events: { subject: true, marbles: /^[-ihgrx()]+$/, config: [] },
} as const satisfies Record<string, { subject: boolean | null; marbles: RegExp; config: readonly string[] }>;
export type LineKind = keyof typeof KINDS;

const MARBLES = /^(?<label>[a-z]+(?: [a-z0-9-]+)?) {2,}(?<marbles>\S+)$/;
const SETTING = /^(?<name>[a-z#][a-z -]*?) (?<sign>:?=) (?<value>\S.*)$/;

/** Reads a file; throws a {@link MarbleSyntaxError} at the first thing that it does not understand. */
export function parseMarbleFile(text: string): MarbleFile {
  const rule: string[] = [];
  const sections = new Map<Section, Map<string, string>>();
  const lines: Line[] = [];
  let column = 0;
  let settings: {
    legend: Map<string, string> | null;
    config: Map<string, string>;
    may: readonly string[] | null;
  } | null = null;

  text.split('\n').forEach((raw, index) => {
    const number = index + 1;
    const fail = (message: string): never => {
      throw new MarbleSyntaxError(message, number);
    };
    if (raw !== raw.trimEnd()) fail('blanks at the end');
    if (raw === '') return;

    const comment = /^% (.+)$/.exec(raw)?.[1];
    if (comment !== undefined) {
      // The comment that opens the file is its rule; the others are for the reader.
      if (settings === null) rule.push(comment);
      return;
    }

    const title = /^\[(.+)\]$/.exec(raw)?.[1];
    if (title !== undefined) {
      const section = SECTIONS.find((one) => one === title) ?? fail(`no section [${title}]`);
      if (sections.has(section)) fail(`[${section}] stands twice`);
      settings = { legend: null, config: new Map(), may: null };
      sections.set(section, settings.config);
      return;
    }

    const setting = SETTING.exec(raw)?.groups as { name: string; sign: string; value: string } | undefined;
    if (setting !== undefined) {
      const { name, sign, value } = setting;
      if (settings === null) return fail('a setting belongs under a line or a section');
      if (sign === ':=' && settings.legend === null) return fail('a section takes =, a letter takes :=');
      const into = sign === ':=' ? (settings.legend ?? fail('no letters here')) : settings.config;
      if (sign === '=' && settings.may?.includes(name) === false) return fail(`no setting "${name}" here`);
      for (const key of sign === ':=' ? name : [name]) {
        if (into.has(key)) return fail(`"${key}" is set twice`);
        into.set(key, value);
      }
      return;
    }

    const line = MARBLES.exec(raw)?.groups as { label: string; marbles: string } | undefined;
    if (line === undefined) return fail(`cannot read "${raw}"`);
    const { label, marbles } = line;
    const [kind = '', subject = ''] = label.split(' ');
    if (!isKind(kind)) return fail(`no line is called "${label}"`);
    const { subject: wanted, marbles: shape, config: may } = KINDS[kind];
    if (wanted !== null && wanted !== (subject !== '')) {
      return fail(wanted ? `"${kind}" of what?` : `"${kind}" takes nothing behind it`);
    }
    if (!shape.test(marbles)) return fail(`"${marbles}" is no line of the kind "${kind}"`);
    column ||= raw.length - marbles.length;
    if (raw.length - marbles.length !== column) return fail(`marbles start in column ${column + 1} of this file`);
    settings = { legend: new Map(), config: new Map(), may };
    lines.push({ kind, subject, marbles, legend: settings.legend ?? new Map(), config: settings.config, number });
  });

  if (rule.length === 0) throw new MarbleSyntaxError('a file opens with its rule: % …', 0);
  return { rule: rule.join(' '), sections, lines };
}

const isKind = (kind: string): kind is LineKind => Object.hasOwn(KINDS, kind);
