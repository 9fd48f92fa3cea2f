import { posix } from 'node:path';
import ts from 'typescript';
import { sourceFiles } from './project';

/** The folders of src that a folder may import from at run time, besides itself. What is not listed here composes, and may import all. */
const ALLOWED: Record<string, readonly string[]> = {
  domain: [],
  keys: [],
  codec: ['keys'],
  sandbox: [],
  ledger: ['domain', 'keys'],
  documents: ['domain'],
  workbook: ['domain'],
  budget: ['domain', 'ledger'],
  api: ['domain', 'budget'],
  reports: ['ledger', 'domain'],
  activities: ['api', 'budget', 'ledger', 'documents', 'workbook', 'domain'],
  workflows: ['domain'],
};

interface Import {
  specifier: string;
  typesOnly: boolean;
}

/** Imports, re-exports and dynamic imports of a file. */
function importsOf(path: string, text: string): Import[] {
  const found: Import[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      found.push({ specifier: node.moduleSpecifier.text, typesOnly: isTypesOnly(node.importClause) });
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier)) {
      found.push({ specifier: node.moduleSpecifier.text, typesOnly: node.isTypeOnly });
    } else if (ts.isCallExpression(node) && isLoading(node)) {
      const [first] = node.arguments;
      if (first && ts.isStringLiteral(first)) found.push({ specifier: first.text, typesOnly: false });
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.ES2022));
  return found;
}

function isTypesOnly(clause: ts.ImportClause | undefined): boolean {
  if (!clause) return false;
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const named = clause.namedBindings;
  return (
    !clause.name && named !== undefined && ts.isNamedImports(named) && named.elements.every((each) => each.isTypeOnly)
  );
}

function isLoading({ expression }: ts.CallExpression): boolean {
  return (
    expression.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(expression) && expression.text === 'require')
  );
}

/** Folder of src that a path lies in; null for a file of src itself, and for everything outside. */
function folderOf(path: string): string | null {
  const [src, folder, ...rest] = path.split('/');
  return src === 'src' && folder && rest.length > 0 ? folder : null;
}

/** What is wrong with a file's imports, one sentence each. */
function wrongImports(path: string, text: string): string[] {
  const from = folderOf(path);
  const allowed = from === null ? undefined : ALLOWED[from];
  if (!allowed) return [];
  return importsOf(path, text).flatMap(({ specifier, typesOnly }) => {
    if (!specifier.startsWith('.')) return [];
    const target = posix.join(posix.dirname(path), specifier);
    const to = folderOf(target);
    if (to === from || (to !== null && allowed.includes(to))) return [];
    if (from === 'workflows' && to === 'activities' && typesOnly) return [];
    return [`${path} imports ${target}`];
  });
}

it('imports run one way', async () => {
  const files = await sourceFiles('src');
  expect(files.length).toBeGreaterThan(20);
  expect(files.flatMap(({ path, text }) => wrongImports(path, text))).toEqual([]);
});

it('reads the environment in one file', async () => {
  const files = await sourceFiles('src');
  const readers = files.filter(({ text }) => /process\s*(\.|\[\s*['"])env\b/.test(text)).map(({ path }) => path);
  expect(readers).toEqual(['src/config/config.ts']);
});

it.each([
  ['src/domain/a.ts', `import { b } from '../api/b';`],
  ['src/domain/deep/a.ts', `export * from '../../ledger/b';`],
  ['src/sandbox/a.ts', `import type { B } from '../domain/b';`],
  ['src/workflows/a.ts', `import { b } from '../activities/b';`],
  ['src/api/a.ts', `const { b } = await import('../ledger/b');`],
  ['src/ledger/a.ts', `import { loadConfig } from '../config';`],
])('would catch it in %s: %s', (path, text) => {
  expect(wrongImports(path, text)).toHaveLength(1);
});

it.each([
  ['src/workflows/a.ts', `import type { Activities } from '../activities/b';`],
  ['src/activities/a.ts', `import { b } from '../domain/b';`],
  ['src/domain/a.ts', `import { Decimal } from 'decimal.js';`],
  ['src/worker.ts', `import { b } from './ledger/b';`],
])('lets it be in %s: %s', (path, text) => {
  expect(wrongImports(path, text)).toEqual([]);
});
