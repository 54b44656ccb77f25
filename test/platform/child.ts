/** Runs a TypeScript file of the tests in a process of its own, with V8 flags, and reads what it prints. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

export interface ChildOptions {
  readonly flags?: readonly string[];
  readonly args?: readonly string[];
  /** The child's NODE_OPTIONS; none unless given, whatever this process has. */
  readonly nodeOptions?: string;
}

export interface ChildReport {
  readonly code: number | null;
  /** Lines of stdout. */
  readonly lines: readonly string[];
  readonly errors: string;
}

const source = (path: string): string => fileURLToPath(new URL(`../../src/${path}`, import.meta.url));

/** Scripts bundled once: a child then starts with a heap of its own and no loader in it. */
export class Children {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async of(...scripts: readonly URL[]): Promise<Children> {
    const outdir = await mkdtemp(join(tmpdir(), 'rx-admission-'));
    await build({
      entryPoints: scripts.map((script) => fileURLToPath(script)),
      outdir,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      logLevel: 'error',
      alias: { 'rx-admission': source('index.ts'), '#platform': source('platform/node.ts') },
    });
    return new Children(outdir);
  }

  async run(script: URL, options: ChildOptions = {}): Promise<ChildReport> {
    const { flags = [], args = [], nodeOptions = '' } = options;
    const file = join(this.#directory, basename(fileURLToPath(script)).replace(/\.ts$/, '.mjs'));
    const child = spawn(process.execPath, [...flags, file, ...args], {
      env: { ...process.env, NODE_OPTIONS: nodeOptions },
    });
    let [output, errors] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    return { code, lines: output.split('\n').filter((line) => line !== ''), errors };
  }

  async remove(): Promise<void> {
    await rm(this.#directory, { recursive: true });
  }
}
