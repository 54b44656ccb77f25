/** Reads a page by the convention of page.ts, strictly: what it does not know is an error, so that nothing slips through. */
import { PageError, type Block, type Excerpt, type Line, type Page } from './page.js';

interface Directive {
  readonly kind: string;
  readonly detail: string;
  readonly code: readonly Line[];
  readonly at: number;
}

const DIRECTIVE =
  /^(?:(?<bare>ts|ts: page|ts: test|output)|(?<kind>ts: checked|output of|output): (?<detail>.+)|(?<unfinished>ts: checked))$/;

/** Fences that need no check. TypeScript under another name would slip through, so everything else is refused. */
const PLAIN = new Set(['text', 'sh', 'json']);

const joined = (lines: readonly Line[]): string => lines.map(({ text }) => text).join('\n');

export function readPage(path: string, markdown: string): Page {
  return new Reader(path, markdown).read();
}

class Reader {
  readonly #path: string;
  readonly #lines: readonly Line[];
  readonly #blocks: Block[] = [];
  readonly #excerpts: Excerpt[] = [];
  readonly #prose: Line[] = [];
  readonly #commands: Line[] = [];
  readonly #ofPage: Line[] = [];
  #next = 0;
  #pending: Directive | null = null;

  constructor(path: string, markdown: string) {
    this.#path = path;
    this.#lines = markdown.split('\n').map((text, index) => ({ text, at: index + 1 }));
  }

  read(): Page {
    for (let line = this.#take(); line !== undefined; line = this.#take()) {
      if (line.text.startsWith('<!--')) this.#comment(line);
      else if (line.text.startsWith('```')) this.#fence(line);
      else if (line.text.startsWith('|') && this.#pending?.kind === 'output of') this.#table(line, this.#pending);
      else this.#text(line);
    }
    this.#nothingPending(this.#lines.length);
    const blocks = this.#blocks;
    return { path: this.#path, blocks, excerpts: this.#excerpts, prose: this.#prose, commands: this.#commands };
  }

  #take(): Line | undefined {
    const line = this.#lines[this.#next];
    this.#next += 1;
    return line;
  }

  #until(end: string, from: Line): Line[] {
    const inside: Line[] = [];
    for (let line = this.#take(); line !== undefined; line = this.#take()) {
      if (line.text.trim() === end) return inside;
      inside.push(line);
    }
    throw this.#error(from.at, `nothing closes it: expected ${end}`);
  }

  #text(line: Line): void {
    if (line.text.trim() !== '') this.#nothingPending(line.at);
    this.#prose.push(line);
  }

  #comment(line: Line): void {
    this.#nothingPending(line.at);
    const closed = line.text.trimEnd().endsWith('-->');
    const first = line.text.replace('<!--', '').replace('-->', '').trim();
    const code = closed ? [] : this.#until('-->', line);
    const groups = DIRECTIVE.exec(first)?.groups;
    if (groups === undefined) throw this.#error(line.at, `unknown comment "${first}"`);
    if (groups.unfinished) throw this.#error(line.at, 'say why the block cannot run');
    this.#pending = { kind: groups.bare ?? groups.kind ?? '', detail: groups.detail ?? '', code, at: line.at };
  }

  #fence(line: Line): void {
    const language = line.text.slice(3).trim();
    const inside = this.#until('```', line);
    const directive = this.#pending;
    this.#pending = null;
    if (language === 'ts') this.#block(inside, line, directive);
    else if (!PLAIN.has(language)) {
      throw this.#error(line.at, `a fence of "${language}": use ts, or one of ${[...PLAIN].join(', ')}`);
    } else if (directive?.kind === 'output of' && language === 'text') this.#excerpt(inside, directive);
    else if (directive?.kind === 'output' && language === 'text') this.#output(inside, line, directive);
    else if (directive) throw this.#error(line.at, `"${directive.kind}" stands before a fence of "${language}"`);
    if (language === 'sh') this.#commands.push(...inside);
  }

  #block(inside: readonly Line[], line: Line, directive: Directive | null): void {
    const { kind = '', detail = '', code = [] } = directive ?? {};
    if (kind.startsWith('output')) throw this.#error(line.at, `"${kind}" stands before a fence of "ts"`);
    this.#blocks.push({
      page: this.#path,
      at: line.at + 1,
      mode: kind === 'ts: checked' ? 'checked' : kind === 'ts: test' ? 'test' : 'run',
      reason: detail,
      before: [...this.#ofPage, ...code],
      own: inside,
      output: null,
    });
    if (kind === 'ts: page') this.#ofPage.push(...code, ...inside);
  }

  #output(inside: readonly Line[], line: Line, { detail }: Directive): void {
    const last = this.#blocks.at(-1);
    if (last === undefined) throw this.#error(line.at, 'there is no block before it');
    if (!['', 'times vary'].includes(detail)) throw this.#error(line.at, `unknown output "${detail}"`);
    last.output = { text: joined(inside), timesVary: detail !== '' };
  }

  #table(first: Line, directive: Directive): void {
    const rows = [first];
    while (this.#lines[this.#next]?.text.startsWith('|')) rows.push(...this.#lines.slice(this.#next, ++this.#next));
    this.#pending = null;
    this.#prose.push(...rows);
    this.#excerpt(rows, directive);
  }

  #excerpt(lines: readonly Line[], { detail: program, at }: Directive): void {
    this.#excerpts.push({ page: this.#path, at, program, text: joined(lines) });
  }

  #nothingPending(before: number): void {
    const pending = this.#pending;
    if (pending) throw this.#error(pending.at, `"${pending.kind}" has no fence below it before line ${before}`);
  }

  #error(at: number, what: string): PageError {
    return new PageError(`${this.#path}:${at}: ${what}`);
  }
}
