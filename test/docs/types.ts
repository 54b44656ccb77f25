/** Type-checks blocks as a user's strict project would, all in one program, and names the line of the page. */
import { resolve } from 'node:path';
import ts from 'typescript';
import type { Block, Line } from './page.js';

const ROOT = process.cwd();

interface Source {
  readonly block: Block;
  readonly lines: readonly Line[];
  readonly text: string;
}

/** One `page:line: message` for each error. */
export function typeErrors(blocks: readonly Block[]): string[] {
  const sources = new Map<string, Source>(
    blocks.map((block, index) => {
      const lines = [...block.before, ...block.own];
      // The last line makes it a module: without it, blocks would share their globals.
      const text = [...lines.map((line) => line.text), 'export {};'].join('\n');
      return [resolve(ROOT, `block-${index}.ts`), { block, lines, text }];
    }),
  );
  const options = compilerOptions();
  const host = ts.createCompilerHost(options);
  const disk = { fileExists: host.fileExists.bind(host), readFile: host.readFile.bind(host) };
  host.fileExists = (path) => sources.has(path) || disk.fileExists(path);
  host.readFile = (path) => sources.get(path)?.text ?? disk.readFile(path);
  const program = ts.createProgram([...sources.keys()], options, host);
  return [...sources].flatMap(([path, source]) => {
    const file = program.getSourceFile(path);
    const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
    return found.map((diagnostic) => described(diagnostic, source));
  });
}

function compilerOptions(): ts.CompilerOptions {
  const read = ts.readConfigFile(resolve(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(read.config, ts.sys, ROOT);
  // A block shows one thing: what it leaves unused is the next block's.
  return { ...options, noUnusedLocals: false, noUnusedParameters: false };
}

function described({ file, start = 0, messageText }: ts.Diagnostic, { block, lines }: Source): string {
  const index = file ? file.getLineAndCharacterOfPosition(start).line : 0;
  const at = lines[index]?.at ?? block.at;
  return `${block.page}:${at}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
}
