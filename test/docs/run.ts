/** Runs blocks and programs, each in a process of its own: it must end by itself, without an error. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import type { Block, Line } from './page.js';

const ROOT = process.cwd();
/** A block shows one thing; one that takes longer does not end. */
const LIMIT_MS = 10_000;
/** Printed between what comes before a block and its own code. */
const OWN = '\u0001own';

export interface Ran {
  /** What its own code printed on standard output. */
  readonly output: string;
  /** Null where it ended well. */
  readonly failure: string | null;
}

export interface Bundle {
  run(block: Block, limitMs?: number): Promise<Ran>;
  remove(): Promise<void>;
}

/** Bundles the library from its sources once for all blocks, so that each of them starts at once. */
export async function bundled(blocks: readonly Block[]): Promise<Bundle> {
  const directory = await mkdtemp(join(tmpdir(), 'rx-admission-docs-'));
  const name = (block: Block): string => `${block.page.replaceAll(/\W/g, '_')}_${block.at}`;
  await build({
    entryPoints: blocks.map((block) => ({ in: `block:${name(block)}`, out: name(block) })),
    plugins: [virtual(new Map(blocks.map((block) => [name(block), source(block)])))],
    alias: {
      'rx-admission': resolve(ROOT, 'src/index.ts'),
      'rx-admission/llm': resolve(ROOT, 'src/llm/index.ts'),
      'rx-admission/database': resolve(ROOT, 'src/database/index.ts'),
      'rx-admission/bulkhead': resolve(ROOT, 'src/bulkhead/index.ts'),
      'rx-admission/otel': resolve(ROOT, 'src/observe/index.ts'),
      'rx-admission/testing': resolve(ROOT, 'src/testing/index.ts'),
      '#platform': resolve(ROOT, 'src/platform/node.ts'),
    },
    outdir: directory,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'silent',
  });
  return {
    run: (block, limitMs = LIMIT_MS) => run([join(directory, `${name(block)}.mjs`)], limitMs),
    remove: () => rm(directory, { recursive: true }),
  };
}

function source({ before, own }: Block): string {
  const text = (lines: readonly Line[]): string => lines.map((line) => line.text).join('\n');
  return [text(before), `console.log(${JSON.stringify(OWN)});`, text(own)].join('\n');
}

function virtual(sources: ReadonlyMap<string, string>): Plugin {
  return {
    name: 'blocks',
    setup(on) {
      on.onResolve({ filter: /^block:/ }, ({ path }) => ({ path: path.slice('block:'.length), namespace: 'block' }));
      on.onLoad({ filter: /.*/, namespace: 'block' }, ({ path }) => ({
        contents: sources.get(path) ?? '',
        loader: 'ts',
        resolveDir: ROOT,
      }));
    },
  };
}

/** An example, as its reader runs it. */
export const runProgram = (path: string, limitMs: number): Promise<Ran> => run(['--import', 'tsx', path], limitMs);

function run(args: readonly string[], timeout: number): Promise<Ran> {
  return new Promise((done) => {
    const options = { timeout, env: { ...process.env, NO_COLOR: '1', NODE_OPTIONS: '' } };
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      const output = (stdout.split(`${OWN}\n`).at(-1) ?? '').trim();
      if (error === null) done({ output, failure: null });
      else if (error.killed) done({ output, failure: `it did not end within ${timeout} ms` });
      else done({ output, failure: `${error.message}\n${stderr}` });
    });
  });
}

/** The same text with every number of milliseconds or seconds replaced, for output whose times vary. */
export const withoutTimes = (text: string): string => text.replaceAll(/[\d.,]+ ?(ms|s)\b/g, 'N $1');
