/** Small changes of a source that its tests should notice: of its conditions, calls and numbers, and of its SQL. */
import ts from 'typescript';
import { sqlChanges, type Change } from './sql-changes';

const OPERATORS: Readonly<Record<string, string>> = {
  ...{ '<': '<=', '<=': '<', '>': '>=', '>=': '>', '===': '!==', '!==': '===' },
  ...{ '&&': '||', '||': '&&', '-': '+', '*': '/', '/': '*' },
};
const METHODS: Readonly<Record<string, string>> = { some: 'every', every: 'some', min: 'max', max: 'min' };

/** All changes of a TypeScript source, in its order. Types, imports and texts for people stay. */
export function changesOf(path: string, source: string): Change[] {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true);
  const changes: Change[] = [];
  const replace = (node: ts.Node, text: string, what: string) =>
    changes.push({ start: node.getStart(file), end: node.end, text, what });
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) return;
    if (ts.isIfStatement(node) || ts.isConditionalExpression(node)) {
      const condition = ts.isIfStatement(node) ? node.expression : node.condition;
      for (const always of ['true', 'false']) replace(condition, always, `a condition is always ${always}`);
    } else if (ts.isBinaryExpression(node)) {
      const operator = node.operatorToken.getText(file);
      const other = OPERATORS[operator];
      if (other !== undefined) replace(node.operatorToken, other, `${operator} becomes ${other}`);
    } else if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
      replace(node, node.operand.getText(file), 'a ! is gone');
    } else if (ts.isExpressionStatement(node) && isCall(node.expression)) {
      replace(node, ';', 'a call is gone');
    } else if (node.kind === ts.SyntaxKind.TrueKeyword) replace(node, 'false', 'true becomes false');
    else if (node.kind === ts.SyntaxKind.FalseKeyword) replace(node, 'true', 'false becomes true');
    else if (ts.isNumericLiteral(node)) {
      const next = String(Number(node.text) + 1);
      replace(node, next, `${node.getText(file)} becomes ${next}`);
    } else if (ts.isPropertyAccessExpression(node) && METHODS[node.name.text] !== undefined) {
      const other = METHODS[node.name.text] ?? '';
      replace(node.name, other, `${node.name.text} becomes ${other}`);
    } else if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateExpression(node)) {
      const holes = ts.isTemplateExpression(node) ? node.templateSpans.map(({ expression }) => expression) : [];
      const at = holes.map((hole) => [hole.getFullStart(), hole.end] as const);
      changes.push(...sqlChanges(source, node.getStart(file) + 1, node.end - 1, at));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return changes.sort((a, b) => a.start - b.start);
}

function isCall(node: ts.Expression): boolean {
  const called = ts.isAwaitExpression(node) || ts.isVoidExpression(node) ? node.expression : node;
  return ts.isCallExpression(called) && called.expression.kind !== ts.SyntaxKind.SuperKeyword;
}
