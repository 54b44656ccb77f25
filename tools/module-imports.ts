/** What a TypeScript module imports: static, re-exported, dynamic and in types. */
import { readFileSync } from 'node:fs';
import ts from 'typescript';

export interface Import {
  readonly specifier: string;
  readonly line: number;
  /** True where nothing is loaded at run time. `import { type A }` loads its module, `import type { A }` does not. */
  readonly typeOnly: boolean;
}

function specifierOf(node: ts.Node): { readonly literal: ts.Node | undefined; readonly typeOnly: boolean } | null {
  if (ts.isImportDeclaration(node)) {
    return { literal: node.moduleSpecifier, typeOnly: node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword };
  }
  if (ts.isExportDeclaration(node)) return { literal: node.moduleSpecifier, typeOnly: node.isTypeOnly };
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
    return { literal: node.argument.literal, typeOnly: true };
  }
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    return { literal: node.arguments[0], typeOnly: false };
  }
  return null;
}

export function importsOf(file: string): readonly Import[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.ES2022, true);
  const found: Import[] = [];
  const visit = (node: ts.Node): void => {
    const from = specifierOf(node);
    if (from?.literal !== undefined && ts.isStringLiteral(from.literal)) {
      const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
      found.push({ specifier: from.literal.text, line, typeOnly: from.typeOnly });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}
