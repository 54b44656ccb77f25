/** A fast reader for the plain part of YAML that scenario files are written in; anything else answers `undefined`. */
import { NotPlain, Scanner, inline, startsKey } from './plain-scanner.js';

interface Line {
  indent: number;
  text: string;
}

/** The value of one plain document, or `undefined` when it uses more of YAML than is read here. */
export function readPlainYaml(source: string): unknown {
  try {
    const reader = new Reader(linesOf(source));
    return reader.document();
  } catch (error) {
    if (error instanceof NotPlain) return undefined;
    throw error;
  }
}

function linesOf(source: string): Line[] {
  const lines: Line[] = [];
  for (const raw of source.split('\n')) {
    const text = raw.trim();
    if (text === '' || text.startsWith('#')) continue;
    if (raw.includes('\t') || raw.includes('\r')) throw new NotPlain();
    lines.push({ indent: raw.search(/[^ ]/), text });
  }
  return lines;
}

class Reader {
  #next = 0;

  constructor(private readonly lines: Line[]) {}

  document(): unknown {
    const value = this.#block(0);
    if (this.#next < this.lines.length) throw new NotPlain();
    return value;
  }

  #block(indent: number): unknown {
    const line = this.lines[this.#next];
    if (line?.indent !== indent) throw new NotPlain();
    return isItem(line.text) ? this.#sequence(indent) : this.#mapping(indent);
  }

  #sequence(indent: number): unknown[] {
    const items: unknown[] = [];
    for (let line = this.lines[this.#next]; line?.indent === indent && isItem(line.text); line = this.lines[this.#next]) {
      const rest = line.text.slice(2);
      if (startsKey(rest)) {
        line.indent = indent + 2;
        line.text = rest;
        items.push(this.#mapping(indent + 2));
      } else {
        items.push(inline(rest));
        this.#next += 1;
      }
    }
    return items;
  }

  #mapping(indent: number): Record<string, unknown> {
    const mapping: Record<string, unknown> = {};
    for (let line = this.lines[this.#next]; line?.indent === indent && !isItem(line.text); line = this.lines[this.#next]) {
      const scanner = new Scanner(line.text);
      const key = scanner.key();
      if (Object.hasOwn(mapping, key)) throw new NotPlain();
      const rest = line.text.slice(scanner.position).trim();
      this.#next += 1;
      mapping[key] = rest === '' ? this.#nested(indent) : inline(rest);
    }
    const after = this.lines[this.#next];
    if (after && after.indent > indent) throw new NotPlain();
    return mapping;
  }

  #nested(indent: number): unknown {
    const line = this.lines[this.#next];
    if (line && line.indent > indent) return this.#block(line.indent);
    if (line?.indent === indent && isItem(line.text)) return this.#sequence(indent);
    return null;
  }
}

function isItem(text: string): boolean {
  return text.startsWith('- ');
}
