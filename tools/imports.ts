/** Checks that imports run one way, as the layers below say: `npm run imports`. Edit the tables, not the code. */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { importsOf, type Import } from './module-imports.js';

/** Lowest first. A file belongs to the first layer that names it, and imports from its own layer and lower ones only. */
const LAYERS: readonly (readonly [layer: string, files: RegExp])[] = [
  ['ground', /^src\/(?:platform\/.+|errors|clock|log)\.ts$/],
  ['contract', /^src\/(?:accounts\/(?:account|amounts|assert-account|learning|route|statuses|upstream-failure|validation)|demand|events)\.ts$/],
  ['fold', /^src\/evaluator\/(?!evaluator|inbox|ledger)[^/]+\.ts$/],
  ['accounts', /^src\/accounts\/[^/]+\.ts$/],
  ['evaluator', /^src\/evaluator\/[^/]+\.ts$/],
  ['admission', /^src\/(?!index)[^/]+\.ts$/],
  ['index', /^src\/index\.ts$/],
  ['integrations', /^src\/(?:bulkhead|llm|database|cluster|observe)\/.+\.ts$/],
  ['testing', /^src\/testing\/.+\.ts$/],
];

/** These stand on the public surface: outside their own folder they see src/index.ts, and testing each entry's index.ts. */
const ON_PUBLIC_SURFACE: readonly (readonly [folder: RegExp, sees: RegExp])[] = [
  [/^src\/(?:bulkhead|llm|database|cluster|observe)\//, /^src\/(?:index|platform\/node)\.ts$/],
  [/^src\/testing\//, /^src\/(?:[a-z]+\/)?index\.ts$/],
];

/** Free of RxJS, themselves and in whatever they load, so that a binding for another RxJS is one new file. */
const WITHOUT_RXJS =
  /^src\/(?:evaluator\/(?!evaluator|inbox|ledger)[^/]+|accounts\/(?:amounts|circuit|level|memory-pacing|rate-limit-info|route|stamps|statuses|throttle|upstream-failure|validation))\.ts$/;

/** Readers copy these, so they use what readers have. */
const LIKE_A_USER = /^(?:examples|marbles|bench)\//;

const modules = new Map<string, readonly Import[]>();
for (const folder of ['src', 'examples', 'marbles', 'bench']) {
  if (!existsSync(folder)) continue;
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  for (const name of names.sort()) modules.set(`${folder}/${name}`, importsOf(`${folder}/${name}`));
}

const layerOf = (file: string): number => LAYERS.findIndex(([, files]) => files.test(file));
const isRxjs = (specifier: string): boolean => /^rxjs(?:\/|$)/.test(specifier);

/** The source file that a specifier means, or null for a package. */
function target(file: string, specifier: string): string | null {
  if (specifier === '#platform') return 'src/platform/node.ts';
  if (!specifier.startsWith('.')) return null;
  return join(dirname(file), specifier).replace(/\.js$/, '.ts');
}

/** Files from `file` to the first one that loads RxJS at run time, or null. */
function pathToRxjs(file: string, seen = new Set<string>()): string[] | null {
  if (seen.has(file)) return null;
  seen.add(file);
  for (const { specifier, typeOnly } of modules.get(file) ?? []) {
    if (typeOnly) continue;
    if (isRxjs(specifier)) return [file];
    const next = target(file, specifier);
    const rest = next === null ? null : pathToRxjs(next, seen);
    if (rest !== null) return [file, ...rest];
  }
  return null;
}

function complaint(file: string, { specifier }: Import): string | null {
  if (specifier.startsWith('rxjs/internal')) return 'rxjs/internal is never imported';
  const to = target(file, specifier);
  if (LIKE_A_USER.test(file)) return to?.startsWith('src/') ? "imports src; use 'rx-admission'" : null;
  if (WITHOUT_RXJS.test(file) && isRxjs(specifier)) return 'this file is free of RxJS, types included';
  if (/^rx-admission(?:\/|$)/.test(specifier)) return 'src imports itself by path';
  if (to === null) return specifier.startsWith('node:') && file !== 'src/platform/node.ts' ? 'Node enters through #platform' : null;
  if (!modules.has(to)) return `there is no ${to}`;
  const [from, wanted] = [layerOf(file), layerOf(to)];
  if (wanted > from) return `${LAYERS[from]?.[0] ?? '?'} imports ${LAYERS[wanted]?.[0] ?? '?'}`;
  for (const [folder, sees] of ON_PUBLIC_SURFACE) {
    const own = folder.exec(file)?.[0];
    if (own !== undefined && !to.startsWith(own) && !sees.test(to)) return 'only the public surface (index.js)';
  }
  return null;
}

const problems: string[] = [];
for (const [file, imports] of modules) {
  const inSrc = file.startsWith('src/');
  if (inSrc && layerOf(file) < 0) problems.push(`${file}: in no layer; add it to tools/imports.ts`);
  for (const each of imports) {
    const said = complaint(file, each);
    if (said !== null) problems.push(`${file}:${each.line}: '${each.specifier}': ${said}`);
  }
  const path = WITHOUT_RXJS.test(file) ? pathToRxjs(file) : null;
  if (path !== null) problems.push(`${file}: loads RxJS through ${path.join(' -> ')}`);
}

const sources = [...modules.keys()].filter((file) => file.startsWith('src/'));
if (sources.length === 0) problems.push('no file found in src');
for (const problem of problems) console.log(problem);
console.log(`imports: ${modules.size} files, ${problems.length} problems`);
process.exitCode = problems.length > 0 ? 1 : 0;
