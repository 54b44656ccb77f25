/**
 * Reads a page of Markdown: its TypeScript blocks, with what the HTML comments beside them say, and its prose.
 *
 * A block stands alone unless a comment right before it says otherwise; readers never see these comments.
 *
 * - `<!-- ts: page -->`: every later block of the page starts with this one.
 * - `<!-- ts: continues -->`: starts with the block before it.
 * - `<!-- ts: test -->`: registers tests with vitest.
 * - `<!-- ts: checked: reason -->`: is type-checked and not run, for the reason given.
 * - `<!-- ts: then` + code + `-->`, after a block: runs behind it.
 * - Lines of code below any of these, or below a bare `<!-- ts`, run before the block.
 * - `<!-- output -->` before a `text` block: the block before it prints just that. With `: times vary`, each number of
 *   milliseconds or seconds counts as equal to any other.
 */

export interface Line {
  readonly text: string;
  /** Its number in the page, from 1. */
  readonly at: number;
}

export interface Block {
  readonly page: string;
  /** Number of the first visible line. */
  readonly at: number;
  readonly mode: 'run' | 'test' | 'checked';
  /** Why it does not run; empty where it does. */
  readonly reason: string;
  /** What comes before its own code: the page's blocks, and those that it continues. */
  readonly before: readonly Line[];
  readonly own: readonly Line[];
  output: Output | null;
}

export interface Output {
  readonly text: string;
  readonly timesVary: boolean;
}

export interface Page {
  readonly path: string;
  readonly blocks: readonly Block[];
  /** Everything outside fences and comments. */
  readonly prose: readonly Line[];
  /** The lines of `sh` fences. */
  readonly commands: readonly Line[];
}

/** A page that breaks the convention; the message names the line. */
export class PageError extends Error {
  override name = 'PageError';
}

interface Directive {
  readonly kind: string;
  readonly detail: string;
  readonly code: readonly Line[];
  readonly at: number;
}

/** Fences that need no check. TypeScript under another name would slip through, so everything else is refused. */
const PLAIN = new Set(['text', 'sh', 'json']);

const DIRECTIVE =
  /^(?<kind>ts|ts: (?:page|continues|test|then|checked(?=:|$))|output(?=:|$))(?:(?<=checked|output): (?<detail>.+))?$/;

export function readPage(path: string, markdown: string): Page {
  return new Reader(path, markdown).read();
}

class Reader {
  readonly #path: string;
  readonly #lines: readonly Line[];
  readonly #blocks: Block[] = [];
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
      else {
        if (line.text.trim() !== '') this.#nothingPending(line);
        this.#prose.push(line);
      }
    }
    this.#nothingPending({ text: '', at: this.#lines.length });
    return { path: this.#path, blocks: this.#blocks, prose: this.#prose, commands: this.#commands };
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
    throw this.#error(from, `nothing closes it: expected ${end}`);
  }

  #comment(line: Line): void {
    this.#nothingPending(line);
    const closed = line.text.trimEnd().endsWith('-->');
    const first = line.text.replace('<!--', '').replace('-->', '').trim();
    const code = closed ? [] : this.#until('-->', line);
    const { kind = '', detail = '' } = DIRECTIVE.exec(first)?.groups ?? {};
    if (kind === '') throw this.#error(line, `unknown comment "${first}"`);
    if (kind === 'ts: checked' && detail === '') throw this.#error(line, 'say why the block cannot run');
    if (kind === 'ts: then') {
      const last = this.#last(line);
      this.#blocks[this.#blocks.length - 1] = { ...last, own: [...last.own, ...code] };
    } else this.#pending = { kind, detail, code, at: line.at };
  }

  #fence(line: Line): void {
    const language = line.text.slice(3).trim();
    const inside = this.#until('```', line);
    const directive = this.#pending;
    this.#pending = null;
    if (language === 'ts') this.#block(inside, line, directive);
    else if (!PLAIN.has(language))
      throw this.#error(line, `a fence of "${language}": use ts, or one of ${[...PLAIN].join(', ')}`);
    else if (directive?.kind === 'output' && language === 'text') {
      const last = this.#last(line);
      if (!['', 'times vary'].includes(directive.detail))
        throw this.#error(line, `unknown output "${directive.detail}"`);
      last.output = { text: inside.map(({ text }) => text).join('\n'), timesVary: directive.detail !== '' };
    } else if (directive) throw this.#error(line, `"${directive.kind}" stands before a fence of "${language}"`);
    if (language === 'sh') this.#commands.push(...inside);
  }

  #block(inside: readonly Line[], line: Line, directive: Directive | null): void {
    const kind = directive?.kind ?? '';
    if (kind === 'output') throw this.#error(line, '"output" stands before a fence of "ts"');
    const continued = kind === 'ts: continues' ? this.#last(line) : null;
    const before = continued ? [...continued.before, ...continued.own] : [...this.#ofPage];
    const block: Block = {
      page: this.#path,
      at: line.at + 1,
      mode: kind === 'ts: checked' ? 'checked' : kind === 'ts: test' ? 'test' : 'run',
      reason: directive?.detail ?? '',
      before: [...before, ...(directive?.code ?? [])],
      own: inside,
      output: null,
    };
    this.#blocks.push(block);
    if (kind === 'ts: page') this.#ofPage.push(...(directive?.code ?? []), ...inside);
  }

  #last(line: Line): Block {
    const last = this.#blocks.at(-1);
    if (last === undefined) throw this.#error(line, 'there is no block before it');
    return last;
  }

  #nothingPending(line: Line): void {
    const pending = this.#pending;
    if (pending)
      throw this.#error({ text: '', at: pending.at }, `"${pending.kind}" has no fence below it before line ${line.at}`);
  }

  #error(line: Line, what: string): PageError {
    return new PageError(`${this.#path}:${line.at}: ${what}`);
  }
}
