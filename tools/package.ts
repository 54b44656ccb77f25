/** Packs the package as it would be published and uses it as a stranger would: `npm run package` (after a build). */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { must } from './run.js';

const LIMIT_MS = 120_000;
const bin = (name: string): string => resolve('node_modules/.bin', name);
const versionOf = (name: string): string =>
  (createRequire(import.meta.url)(`${name}/package.json`) as { version: string }).version;

/** Whatever a reader of the tarball must find in it. */
const REQUIRED = ['LICENSE', 'README.md', 'CHANGELOG.md', 'dist/index.js', 'dist/index.d.ts', 'dist/testing/index.js'];
/** Nothing but these belongs in it. */
const ALLOWED = /^(?:package\.json|LICENSE|(?:README|CHANGELOG|CONTRIBUTING)\.md|docs\/.+\.(?:md|svg|json)|examples\/.+\.(?:ts|json)|dist\/.+\.(?:js|d\.ts|js\.map|d\.ts\.map)|src\/.+\.ts)$/;

const CONSUMER = `
import { of } from 'rxjs';
import { CountingGate, createAdmission, demand, type Grant } from 'rx-admission';
import * as testing from 'rx-admission/testing';
const gate = new CountingGate({ name: 'http', capacity: 2 });
const { admit } = createAdmission();
of(1, 2, 3).pipe(admit(() => demand(gate), (n, grant: Grant) => of(n * (grant.isEmpty ? 0 : 10)))).subscribe(out);
if (Object.keys(testing).length === 0) throw new Error('rx-admission/testing exports nothing');
`;

/**
 * The runtimes whose types a stranger may have. `bare` has what every runtime has, the timer that RxJS asks for and
 * AbortSignal: whatever else our declarations take from DOM or Node fails there.
 */
const WORLDS: Readonly<Record<string, { lib: string[]; types: string[]; prelude: string }>> = {
  node: { lib: ['ES2022'], types: ['node'], prelude: 'const out = (n: number): void => console.log(n);' },
  browser: { lib: ['ES2022', 'DOM'], types: [], prelude: 'const out = (n: number): void => console.log(n);' },
  bare: {
    lib: ['ES2022'],
    types: [],
    prelude: `
declare global {
  function setTimeout(run: () => void, ms?: number): number;
  interface AbortSignal { readonly aborted: boolean; readonly reason: unknown }
}
const out = (_: number): void => {};`,
  },
};

interface Packed {
  filename: string;
  files: { path: string }[];
}

function checkContents(files: readonly string[]): string {
  const missing = REQUIRED.filter((path) => !files.includes(path));
  const extra = files.filter((path) => !ALLOWED.test(path));
  if (missing.length > 0) throw new Error(`the tarball lacks ${missing.join(', ')}`);
  if (extra.length > 0) throw new Error(`the tarball carries ${extra.join(', ')}`);
  return `${files.length} files`;
}

/** What README links to is in the tarball too, but for the tests, which stay in the repository. */
function checkLinks(files: readonly string[]): string {
  const targets = [...readFileSync('README.md', 'utf8').matchAll(/\]\((?![a-z]+:|#|test\/)([^)#\s]+)/g)].map(([, target = '']) => target);
  const dead = targets.filter((target) => !files.includes(target));
  if (dead.length > 0) throw new Error(`README links to ${[...new Set(dead)].join(', ')}, which the tarball lacks`);
  return `${targets.length} links of README`;
}

async function lintPackage(tarball: string): Promise<string> {
  const bytes = readFileSync(tarball);
  const { messages, pkg } = await publint({
    pack: { tarball: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) },
    strict: true,
  });
  if (messages.length === 0) return 'nothing to say';
  throw new Error(messages.map((message) => formatMessage(message, pkg, { color: false })).join('\n'));
}

/** A project that has the tarball, rxjs and TypeScript, and nothing else of ours. */
async function install(project: string, tarball: string): Promise<string> {
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'stranger', private: true, type: 'module' }));
  const wanted = [tarball, `rxjs@${versionOf('rxjs')}`, `@types/node@${versionOf('@types/node')}`];
  await must('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', ...wanted], {
    cwd: project,
    limitMs: LIMIT_MS,
  });
  return wanted.slice(1).join(', ');
}

async function importBoth(project: string): Promise<string> {
  const count = `for (const entry of ['rx-admission', 'rx-admission/testing'])
    console.log(entry, Object.keys(await import(entry)).length)`;
  const output = await must(process.execPath, ['--input-type=module', '--eval', count], { cwd: project, limitMs: LIMIT_MS });
  if (/ 0$/m.test(output)) throw new Error(`an entry exports nothing:\n${output}`);
  return output.trim().replace('\n', ', ');
}

async function compile(project: string, world: string): Promise<string> {
  const options = WORLDS[world];
  if (options === undefined) throw new Error(`no world ${world}`);
  const dir = join(project, world);
  mkdirSync(dir);
  writeFileSync(join(dir, 'consumer.ts'), `${options.prelude}\n${CONSUMER}`);
  const compilerOptions = {
    target: 'ES2022',
    module: 'NodeNext',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    lib: options.lib,
    types: options.types,
    rootDir: '.',
    outDir: 'out',
  };
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
  await must(process.execPath, [bin('tsc'), '-p', dir], { cwd: project, limitMs: LIMIT_MS });
  const output = await must(process.execPath, [join(dir, 'out/consumer.js')], { cwd: project, limitMs: LIMIT_MS });
  if (world !== 'bare' && output !== '10\n20\n30\n') throw new Error(`the consumer printed ${output}`);
  return `lib ${options.lib.join(' + ')}, types ${options.types.join(' + ') || 'none'}, skipLibCheck false`;
}

let failed = 0;
async function check(title: string, work: () => Promise<string> | string): Promise<void> {
  try {
    console.log(`ok    ${title}: ${await work()}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${title}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const scratch = mkdtempSync(join(tmpdir(), 'rx-admission-'));
try {
  const packing = await must('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', scratch], { limitMs: LIMIT_MS });
  const packed = (JSON.parse(packing) as Packed[])[0];
  if (packed === undefined) throw new Error('npm packed nothing');
  const tarball = join(scratch, packed.filename);
  const project = join(scratch, 'project');
  mkdirSync(project);

  await check('contents', () => checkContents(packed.files.map((file) => file.path)));
  await check('links', () => checkLinks(packed.files.map((file) => file.path)));
  await check('publint', () => lintPackage(tarball));
  await check('install', () => install(project, tarball));
  await check('import', () => importBoth(project));
  for (const world of Object.keys(WORLDS)) await check(`consumer (${world})`, () => compile(project, world));
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
process.exitCode = failed > 0 ? 1 : 0;
