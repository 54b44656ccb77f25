/** Bundles the public entries for a browser, fails on any Node API in them, and runs a job there: `npm run browser`. */
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { build, type BuildOptions } from 'esbuild';

const ENTRIES = ['src/index.ts', 'src/llm/index.ts', 'src/database/index.ts', 'src/bulkhead/index.ts', 'src/observe/index.ts', 'src/testing/index.ts'];

/** As a browser's bundler sees the package: `#platform` is its default, and `node:` modules do not exist. */
const BROWSER: BuildOptions = {
  bundle: true,
  platform: 'browser',
  target: 'es2022',
  minify: true,
  logLevel: 'silent',
  alias: { '#platform': './src/platform/default.ts' },
};

/** Names that exist in Node only; minifying keeps free globals as they are. */
const NODE_ONLY = /\b(?:node:[a-z_/]+|process\.[a-zA-Z]+|Buffer\.[a-zA-Z]+|__dirname|setImmediate|require\()/g;

/** What a page has and this library may use; a context without Node's globals has nothing else. */
const PAGE = { AbortController, AbortSignal, clearTimeout, console, performance, queueMicrotask, setTimeout };

const JOB = `(async () => {
  const admission = rx.createAdmission();
  const gate = new rx.CountingGate({ name: 'page', capacity: 1 });
  const work = (n) => admission.run(rx.demand(gate), async () => n);
  return (await Promise.all([work(1), work(2), work(3)])).join();
})()`;

async function bundle(options: BuildOptions): Promise<string> {
  const { outputFiles } = await build({ ...BROWSER, ...options, write: false });
  const code = outputFiles[0]?.text ?? '';
  if (code === '') throw new Error('the bundle is empty');
  return code;
}

async function scan(entry: string): Promise<string> {
  const code = await bundle({ entryPoints: [entry], format: 'esm', external: ['rxjs', 'rxjs/*'] });
  const found = [...new Set(code.match(NODE_ONLY) ?? [])];
  if (found.length > 0) throw new Error(`the bundle uses ${found.join(', ')}`);
  return `${code.length} bytes, ${gzipSync(code).length} gzipped, no Node API`;
}

async function runJob(): Promise<string> {
  const code = await bundle({ entryPoints: ['src/index.ts'], format: 'iife', globalName: 'rx' });
  const page = createContext({ ...PAGE });
  runInContext(code, page);
  const answer: unknown = await runInContext(JOB, page, { timeout: 5_000 });
  if (answer !== '1,2,3') throw new Error(`a job answered ${String(answer)} in a context without Node's globals`);
  return 'a job runs in a context without Node globals';
}

let failed = 0;
async function check(title: string, work: () => Promise<string>): Promise<void> {
  try {
    console.log(`ok    ${title}  ${await work()}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${title}  ${error instanceof Error ? error.message : String(error)}`);
  }
}

for (const entry of ENTRIES) await check(entry, () => scan(entry));
await check('page', runJob);
process.exitCode = failed > 0 ? 1 : 0;
