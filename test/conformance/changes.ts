/** Every way to make one word, number or entry of a scenario's expectations wrong, one at a time. */

export type Path = readonly (string | number)[];

export interface Change {
  readonly path: Path;
  readonly from: string;
  readonly to: string;
  /**
   * `moves`: a check is asked a moment earlier or later, which can be just as true. Everything else states something
   * false, or nothing that can be read, and must fail.
   */
  readonly kind: 'wrong' | 'moves';
  /** The expectations with the change in. */
  readonly apply: (expect: Json) => void;
}

type Json = Record<string | number, unknown>;

/** Words that have a few spellings: the next one is read just as well, and is wrong. */
const VOCABULARIES = [
  ['HELD', 'GRANTED_IMMEDIATE', 'GRANTED_FROM_HOLD', 'REJECTED', 'RELEASED'],
  ['cancelled', 'circuit_blocked', 'aborted', 'shutdown'],
  ['Refused', 'Cancelled', 'Interrupted', 'IllegalState', 'IllegalArgument'],
  ['HEALTHY', 'BLOCKED', 'PROBING'],
  ['CRITICAL', 'DRAINING', 'GREEN'],
];

const TOKEN = /[A-Za-z_]\w*|\d+(?:\.\d+)?/g;

/** All changes to the expectations of a scenario as its file holds it. `doubles` are its scripted accounts. */
export function changesTo(expect: Json, doubles: ReadonlySet<string>): readonly Change[] {
  const found: Change[] = [];
  for (const [key, value] of Object.entries(expect)) {
    if (key === 'facts') continue;
    if (key === 'checks') for (const [index, check] of (value as Json[]).entries()) found.push(...toCheck(check, ['checks', index]));
    else {
      found.push(...inName(key, []), ...inValue(value, [key], doubles), ...ofEntries(value, [key]));
    }
  }
  return found;
}

function toCheck(check: Json, path: Path): readonly Change[] {
  const found: Change[] = [];
  for (const [key, value] of Object.entries(check)) {
    found.push(...inName(key, path));
    if (key === 't' || key === 'after') found.push(...ofInstant(value as number, [...path, key]));
    else found.push(...inValue(value, [...path, key], new Set()), ...(key === 'waitTimesMs' ? ofEntries(value, [...path, key]) : []));
  }
  return found;
}

/** Another moment may hold as well; one that lies beyond every step cannot be meant. */
function ofInstant(value: number, path: Path): readonly Change[] {
  const impossible = path.at(-1) === 't' ? -1 : 1_000_000;
  return [
    replaced(path, value, impossible),
    { ...replaced(path, value, value + 1), kind: 'moves' },
    { ...replaced(path, value, value - 1), kind: 'moves' },
  ];
}

function inValue(value: unknown, path: Path, doubles: ReadonlySet<string>): readonly Change[] {
  if (typeof value === 'number') return [replaced(path, value, value + 1)];
  if (typeof value === 'boolean') return [replaced(path, value, !value)];
  if (value === null) return [replaced(path, value, 0)];
  if (typeof value === 'string') return inText(value, path, doubles);
  if (Array.isArray(value)) return value.flatMap((entry, index) => inValue(entry, [...path, index], doubles));
  return Object.entries(value as Json).flatMap(([key, entry]) => [
    ...inName(key, path),
    ...inValue(entry, [...path, key], doubles),
  ]);
}

function inText(text: string, path: Path, doubles: ReadonlySet<string>): readonly Change[] {
  return [...text.matchAll(TOKEN)]
    .filter((token) => isAsserted(token, text, path, doubles))
    .map((token) => replaced(path, text, spliced(text, token, otherThan(token[0]))));
}

/** The stated tolerances: words of a refusal in an answer, and those of a shipped account beyond its name and numbers. */
function isAsserted(token: RegExpExecArray, text: string, path: Path, doubles: ReadonlySet<string>): boolean {
  if (path[0] === 'checks' && /^\w+: /.test(text)) return token.index < text.indexOf(':');
  if (path[0] !== 'failed' || path.at(-1) !== 'detail') return true;
  const account = /^(\S+?): /.exec(text)?.[1];
  if (account === undefined || account === 'cause' || account === 'defect' || doubles.has(account)) return true;
  return token.index < account.length || /^\d/.test(token[0]);
}

/** Each word and number of a key, spelled so that nothing else is called that. */
function inName(name: string, path: Path): readonly Change[] {
  return [...name.matchAll(TOKEN)].map((token) => {
    const to = spliced(name, token, /^\d/.test(token[0]) ? otherThan(token[0]) : `${token[0]}X`);
    return {
      path: [...path, name],
      from: name,
      to,
      kind: 'wrong',
      apply: (expect) => {
        const holder = at(expect, path);
        const entries = Object.entries(holder);
        for (const [key] of entries) Reflect.deleteProperty(holder, key);
        for (const [key, value] of entries) holder[key === name ? to : key] = value;
      },
    } satisfies Change;
  });
}

/** One entry less, one too many, two that stand the other way round: lists of names and events, and maps, are complete. */
function ofEntries(value: unknown, path: Path): readonly Change[] {
  if (!Array.isArray(value)) {
    if (path[0] === 'stillParked') return [];
    return Object.keys(value as Json).map((key) => ({
      path: [...path, key],
      from: key,
      to: 'nothing',
      kind: 'wrong',
      apply: (expect) => Reflect.deleteProperty(at(expect, path), key),
    }));
  }
  const list = value as unknown[];
  const edited = (index: number, to: string, edit: (list: unknown[]) => void): Change => ({
    path: [...path, index],
    from: index < list.length ? JSON.stringify(list[index]) : 'nothing',
    to,
    kind: 'wrong',
    apply: (expect) => {
      edit(at(expect, path) as unknown as unknown[]);
    },
  });
  const surplus = list.at(-1) ?? (path[0] === 'stillParked' ? 'Nobody' : '0 HELD nothing Nobody waiters=1 amount=1');
  return [
    edited(list.length, JSON.stringify(surplus), (copy) => copy.push(surplus)),
    ...list.map((_, index) => edited(index, 'nothing', (copy) => copy.splice(index, 1))),
    ...list.slice(1).flatMap((entry, index) =>
      entry === list[index] ? [] : [edited(index, JSON.stringify(entry), (copy) => copy.splice(index, 2, entry, list[index]))],
    ),
  ];
}

function otherThan(token: string): string {
  if (/^\d/.test(token)) return String(Number(token) + 1);
  for (const words of VOCABULARIES) {
    const index = words.indexOf(token);
    if (index >= 0) return words[(index + 1) % words.length] ?? token;
  }
  return `${token}X`;
}

function spliced(text: string, token: RegExpExecArray, by: string): string {
  return text.slice(0, token.index) + by + text.slice(token.index + token[0].length);
}

function replaced(path: Path, from: unknown, to: unknown): Change {
  return {
    path,
    from: JSON.stringify(from),
    to: JSON.stringify(to),
    kind: 'wrong',
    apply: (expect) => {
      at(expect, path.slice(0, -1))[path.at(-1) ?? ''] = to;
    },
  };
}

function at(expect: Json, path: Path): Json {
  let holder = expect;
  for (const key of path) holder = holder[key] as Json;
  return holder;
}
