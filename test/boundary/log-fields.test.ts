/** A field that is logged and not allowed to leave would be missing without a sign. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { LOG_FIELDS } from '../../src/telemetry/log-fields';
import { ROOT } from './project';

const LEVELS = new Set(['debug', 'info', 'warn', 'error', 'fatal']);

/** What a source gives to a logger, each with its file: the names of fields, and messages that are no constant text. */
function loggedBy(file: string): { fields: string[]; composed: string[] } {
  const source = ts.createSourceFile(file, readFileSync(join(ROOT, file), 'utf8'), ts.ScriptTarget.ES2022, true);
  const found: string[] = [];
  const composed: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { expression, name } = node.expression;
      const [fields, second] = node.arguments;
      // Workflows give the message first.
      const message = fields && ts.isStringLiteralLike(fields) ? fields : (second ?? fields);
      const isLogger = /(^|\.)(logger|log)$/u.test(expression.getText(source).replace(/\?$/u, ''));
      if (isLogger && LEVELS.has(name.text) && fields && ts.isObjectLiteralExpression(fields)) {
        found.push(...fields.properties.flatMap((each) => (each.name ? [each.name.getText(source)] : [])));
      }
      if (isLogger && LEVELS.has(name.text) && message && !isConstant(message)) composed.push(message.getText(source));
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  const of = (texts: string[]) => texts.map((text) => `${file}: ${text}`);
  return { fields: of(found), composed: of(composed) };
}

/** A message is one of a few texts, so that nothing of a filing can be in it; what it is about are fields. */
function isConstant(message: ts.Expression): boolean {
  if (ts.isConditionalExpression(message)) return isConstant(message.whenTrue) && isConstant(message.whenFalse);
  if (ts.isBinaryExpression(message)) return isConstant(message.left) && isConstant(message.right);
  return ts.isStringLiteralLike(message);
}

const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !/^sandbox\//u.test(name))
  .map((name) => `src/${name}`);

it('allows every field that the worker logs to leave', () => {
  const logged = files.filter((name) => !name.startsWith('src/workflows/')).flatMap((file) => loggedBy(file).fields);
  expect(logged.length).toBeGreaterThan(40);
  const refused = logged.filter((each) => !LOG_FIELDS.has(each.split(': ')[1] ?? '') && !each.endsWith(': err'));
  expect(refused).toEqual([]);
});

it('logs constant texts: what they are about stands in fields', () => {
  expect(files.flatMap((file) => loggedBy(file).composed)).toEqual([]);
});
