/** Reads what stands on one line of plain YAML: scalars, and maps and lists in braces. */

/** Thrown inside, at the first construct outside the plain part: the caller then takes the full reader. */
export class NotPlain extends Error {}

const NUMBER = /^[-+]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
const PLAIN_SCALAR = /[A-Za-z0-9_.+-][\w .+-]*/y;
const PLAIN_KEY = /[A-Za-z_][\w.-]*(?=:(?: |$))/y;
const QUOTED = /"(?:[^"\\]|\\.)*"/y;
const WORDS_THAT_ARE_NOT_TEXT = new Set(['null', 'Null', 'NULL', 'true', 'True', 'TRUE', 'false', 'False', 'FALSE']);

export function startsKey(text: string): boolean {
  PLAIN_KEY.lastIndex = 0;
  if (PLAIN_KEY.test(text)) return true;
  QUOTED.lastIndex = 0;
  return QUOTED.test(text) && text[QUOTED.lastIndex] === ':';
}

export function inline(text: string): unknown {
  const scanner = new Scanner(text);
  const value = scanner.value();
  if (scanner.position < text.length) throw new NotPlain();
  return value;
}

export class Scanner {
  position = 0;

  constructor(private readonly text: string) {}

  value(): unknown {
    switch (this.text[this.position]) {
      case '{':
        return this.#map();
      case '[':
        return this.#list();
      case '"':
        return this.#quoted();
      default:
        return scalar(this.#match(PLAIN_SCALAR).trimEnd());
    }
  }

  key(): string {
    const key = this.text[this.position] === '"' ? this.#quoted() : this.#match(PLAIN_KEY);
    if (this.text[this.position] !== ':' || key === '__proto__' || WORDS_THAT_ARE_NOT_TEXT.has(key)) throw new NotPlain();
    this.position += 1;
    return key;
  }

  #map(): Record<string, unknown> {
    const map: Record<string, unknown> = {};
    this.#items('}', () => {
      const key = this.key();
      if (Object.hasOwn(map, key)) throw new NotPlain();
      this.#spaces();
      map[key] = this.value();
    });
    return map;
  }

  #list(): unknown[] {
    const list: unknown[] = [];
    this.#items(']', () => {
      list.push(this.value());
    });
    return list;
  }

  #items(end: string, one: () => void): void {
    this.position += 1;
    this.#spaces();
    while (this.text[this.position] !== end) {
      one();
      this.#spaces();
      if (this.text[this.position] === ',') {
        this.position += 1;
        this.#spaces();
        if (this.text[this.position] === end) throw new NotPlain();
      } else if (this.text[this.position] !== end) throw new NotPlain();
    }
    this.position += 1;
  }

  #quoted(): string {
    try {
      return JSON.parse(this.#match(QUOTED)) as string;
    } catch {
      // An escape that JSON does not know, or a quote that is not closed on this line.
      throw new NotPlain();
    }
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.position;
    const found = pattern.exec(this.text)?.[0];
    if (found === undefined) throw new NotPlain();
    this.position += found.length;
    return found;
  }

  #spaces(): void {
    while (this.text[this.position] === ' ') this.position += 1;
  }
}

function scalar(text: string): unknown {
  if (text === 'null') return null;
  if (text === 'true') return true;
  if (text === 'false') return false;
  if (NUMBER.test(text)) return Number(text);
  // Other spellings of null, truth and numbers (0x, .inf, 007): the full reader knows them.
  if (WORDS_THAT_ARE_NOT_TEXT.has(text) || /^[-+.0-9]/.test(text) || text === '') throw new NotPlain();
  return text;
}
