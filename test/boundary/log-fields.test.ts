/** A field that is logged and not allowed to leave would be missing without a sign. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { LOG_FIELDS } from '../../src/telemetry/log-fields';
import { ROOT } from './project';

const LEVELS = new Set(['debug', 'info', 'warn', 'error', 'fatal']);

/** The names of the fields that a source gives to a logger, each with its file. */
function fieldsLoggedBy(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(join(ROOT, file), 'utf8'), ts.ScriptTarget.ES2022, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { expression, name } = node.expression;
      const [fields] = node.arguments;
      const isLogger = /(^|\.)(logger|log)$/u.test(expression.getText(source).replace(/\?$/u, ''));
      if (isLogger && LEVELS.has(name.text) && fields && ts.isObjectLiteralExpression(fields)) {
        found.push(...fields.properties.flatMap((each) => (each.name ? [each.name.getText(source)] : [])));
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found.map((name) => `${file}: ${name}`);
}

it('allows every field that the worker logs to leave', () => {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !/^(workflows|sandbox)\//u.test(name))
    .map((name) => `src/${name}`);
  const logged = files.flatMap(fieldsLoggedBy);
  expect(logged.length).toBeGreaterThan(40);
  const refused = logged.filter((each) => !LOG_FIELDS.has(each.split(': ')[1] ?? '') && !each.endsWith(': err'));
  expect(refused).toEqual([]);
});
