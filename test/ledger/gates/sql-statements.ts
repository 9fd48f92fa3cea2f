/** Every statement of the project's code that writes a table, with the columns that it writes. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';

const ROOT = join(__dirname, '..', '..', '..');
const SOURCES = join(ROOT, 'src');

interface Statement {
  /** Relative to src/. */
  file: string;
  kind: 'INSERT' | 'UPDATE' | 'DELETE';
  table: string;
  columns: string[];
}

export function writingStatements(): Statement[] {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  return files.sort().flatMap((name) => {
    const file = join(SOURCES, name);
    return textsOf(file, readFileSync(file, 'utf8')).flatMap((sql) => statementsOf(relative(SOURCES, file), sql));
  });
}

/** The texts of a source file; what is put into a template is left out. */
function textsOf(file: string, source: string): string[] {
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) texts.push(node.text);
    if (ts.isTemplateExpression(node)) {
      texts.push(node.head.text + node.templateSpans.map(({ literal }) => `( ? )${literal.text}`).join(''));
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true));
  return texts;
}

function statementsOf(file: string, sql: string): Statement[] {
  const found: Statement[] = [];
  for (const { 1: table = '', index, 0: all } of sql.matchAll(/\bINSERT INTO (\(|\w+)/gu)) {
    const after = sql.slice(index + all.length).replace(/^\s+AS \w+/u, '');
    const columns = after.trimStart().startsWith('(') ? insideBrackets(after) : '';
    found.push({ file, kind: 'INSERT', table, columns: namesOf(columns) });
    const conflict = /\bDO UPDATE SET /u.exec(after);
    if (conflict) found.push({ file, kind: 'UPDATE', table, columns: assigned(after.slice(conflict.index + 14)) });
  }
  for (const { 1: table = '', index, 0: all } of sql.matchAll(/\bUPDATE (\(|\w+)(?: (?!SET\b)\w+)? SET /gu))
    found.push({ file, kind: 'UPDATE', table, columns: assigned(sql.slice(index + all.length)) });
  for (const { 1: table = '' } of sql.matchAll(/\bDELETE FROM (\(|\w+)/gu))
    found.push({ file, kind: 'DELETE', table, columns: [] });
  return found;
}

/** The columns that stand before an equals sign, outside of brackets, up to the end of the SET clause. */
function assigned(clause: string): string[] {
  const columns: string[] = [];
  let item = '';
  let depth = 0;
  for (const [token] of clause.matchAll(/[()]|,|\b(?:FROM|WHERE|RETURNING|CASE|END)\b|[^(),]/gu)) {
    if (token === '(' || token === 'CASE') depth += 1;
    if (depth === 0 && ['FROM', 'WHERE', 'RETURNING', ')'].includes(token)) break;
    if (token === ')' || token === 'END') depth -= 1;
    if (depth === 0 && token === ',') {
      columns.push(item);
      item = '';
    } else item += token;
  }
  return [...columns, item].map((each) => each.split('=')[0]?.trim() ?? '').filter((each) => each !== '');
}

function insideBrackets(text: string): string {
  const from = text.indexOf('(');
  return text.slice(from + 1, text.indexOf(')', from));
}

const namesOf = (list: string): string[] => list.split(',').flatMap((each) => /^\s*(\w+)\s*$/u.exec(each)?.[1] ?? []);
