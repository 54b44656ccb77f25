/** The rows of docs/llm-traps.md: a trap, what happens here, and the test that shows it. */
import { readFileSync } from 'node:fs';
import { readPage } from './read-page.js';

export interface TrapRow {
  /** Its line on the page. */
  readonly at: number;
  readonly trap: string;
  readonly handling: string;
  /** The name of a test, or of a row of one; empty where the row links none. */
  readonly title: string;
  readonly file: string;
  /** Cells that a row has too many. */
  readonly more: readonly string[];
}

const { prose } = readPage('docs/llm-traps.md', readFileSync('docs/llm-traps.md', 'utf8'));

export const TRAPS: readonly TrapRow[] = prose
  .filter(({ text }) => text.startsWith('| ') && !text.startsWith('| what they do |'))
  .map(({ text, at }) => {
    const [trap = '', handling = '', shownBy = '', ...more] = text.slice(2, -2).split(' | ');
    const [, title = '', file = ''] = /^\[(.+)\]\(\.\.\/(test\/\S+\.ts)\)$/.exec(shownBy) ?? [];
    return { at, trap, handling, title, file, more };
  });
