/**
 * Every pattern of the sources meets long texts that are made to be tried again and again. One that backtracks takes
 * seconds for a text of 20 KB, all others less than a millisecond: a caller or a service could hold a process up with
 * it.
 */
import ts from 'typescript';
import { sourceFiles } from './project';

const LENGTH = 20_000;
/** A hundred times what a pattern without backtracking takes. */
const MOST_MS = 100;

interface Pattern {
  where: string;
  source: string;
  flags: string;
}

function patternsOf({ path, text }: { path: string; text: string }): Pattern[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: Pattern[] = [];
  const visit = (node: ts.Node) => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/');
      const line = file.getLineAndCharacterOfPosition(node.getStart()).line + 1;
      found.push({ where: `${path}:${line}`, source: node.text.slice(1, end), flags: node.text.slice(end + 1) });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

const UNITS = [
  ' ',
  '\t',
  '\n',
  '\u00a0',
  'a',
  'A',
  'I',
  '0',
  '9',
  '-',
  '_',
  '.',
  ',',
  '/',
  ':',
  '@',
  '%',
  '=',
  '<',
  '>',
  '"',
  "'",
  '[',
  '(',
  '{',
  '\\',
  '&',
  '|',
  '\u0939',
  'a ',
  ' a',
  'a.',
  'a,',
  '0,',
  '0.',
  'a-',
  'a@',
  'a/',
  '<a',
  '<a ',
  'a="" ',
  '</',
  '\\n',
  'AB',
  '1a',
];
const STARTS = ['', 'a', '<a', '"', '0'];

/** The shortest of three tries: a busy machine makes any of them long. */
function timeOf({ source, flags }: Pattern, text: string): number {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 3 && least > MOST_MS; tries += 1) {
    const pattern = new RegExp(source, flags);
    const from = performance.now();
    pattern.test(text);
    least = Math.min(least, performance.now() - from);
  }
  return least;
}

/** What a pattern takes long for, if there is such a text. */
function slowText(pattern: Pattern): string | undefined {
  for (const unit of UNITS) {
    const long = unit.repeat(LENGTH / unit.length);
    for (const start of STARTS) {
      if (timeOf(pattern, `${start}${long}\u0001`) > MOST_MS)
        return `${JSON.stringify(start)} and many ${JSON.stringify(unit)}`;
    }
  }
  return undefined;
}

test('no pattern of the sources takes long for a long text', async () => {
  const all = new Map(
    (await sourceFiles('src')).flatMap(patternsOf).map((each) => [`/${each.source}/${each.flags}`, each]),
  );
  expect(all.size).toBeGreaterThan(100);
  const slow = [...all.values()].flatMap((pattern) => {
    const text = slowText(pattern);
    return text === undefined ? [] : [`${pattern.where} /${pattern.source}/${pattern.flags}: ${text}`];
  });
  expect(slow).toEqual([]);
});
