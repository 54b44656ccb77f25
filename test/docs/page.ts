/**
 * A page of Markdown: its TypeScript blocks, with what the HTML comments beside them say, and its prose.
 *
 * A block stands alone and is run, unless a comment right before it says otherwise; readers never see these comments.
 *
 * - `<!-- ts: page -->`: every later block of the page starts with this one.
 * - `<!-- ts: test -->`: registers tests with vitest.
 * - `<!-- ts: checked: reason -->`: is type-checked and not run, for the reason given.
 * - Lines of code below any of these, or below a bare `<!-- ts`, come before the block.
 * - `<!-- output -->` before a `text` fence: the block before it prints just that. With `output: times vary`, each number
 *   of milliseconds or seconds counts as equal to any other.
 * - `<!-- output of: examples/x/main.ts -->` before a `text` fence or a table: that example prints these lines, and maybe
 *   more. Its times may always vary.
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
  /** What comes before its own code, of the page and hidden. */
  readonly before: readonly Line[];
  readonly own: readonly Line[];
  output: Output | null;
}

export interface Output {
  readonly text: string;
  readonly timesVary: boolean;
}

/** Lines of a page that a program prints. */
export interface Excerpt {
  readonly page: string;
  readonly at: number;
  readonly program: string;
  readonly text: string;
}

export interface Page {
  readonly path: string;
  readonly blocks: readonly Block[];
  readonly excerpts: readonly Excerpt[];
  /** Everything outside fences and comments. */
  readonly prose: readonly Line[];
  /** The lines of `sh` fences. */
  readonly commands: readonly Line[];
}

/** A page that breaks the convention; the message names the line. */
export class PageError extends Error {
  override name = 'PageError';
}
