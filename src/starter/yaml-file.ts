import { readFile } from 'node:fs/promises';
import { LineCounter, parseDocument } from 'yaml';
import { UsageError } from './errors';

/** A YAML file that a person wrote, with the lines of its parts, so that a problem can be told by its place. */
export interface YamlFile {
  value: unknown;
  /** "line N: " of the node at a path; empty where the file has none there. */
  lineOf: (path: readonly PropertyKey[]) => string;
  /** @throws UsageError that lists the problems */
  fail: (problems: readonly string[]) => never;
}

/**
 * Reads a YAML file, and so a JSON file too.
 * @param about.what what it holds, as the messages call it
 * @param about.advice what to do where the file cannot be read
 * @param about.code of the errors; left out: that of wrong usage
 * @throws UsageError that names the file, and the line of every mistake in its form
 */
export async function readYamlFile(
  path: string,
  { what, advice, code }: { what: string; advice: string; code?: string },
): Promise<YamlFile> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`The ${what} cannot be read from ${path} (${error.code}). ${advice}`, code);
  });
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const fail = (problems: readonly string[]): never => {
    const list = problems.map((each) => `  ${each}`).join('\n');
    throw new UsageError(`The ${what} in ${path} cannot be used:\n${list}`, code);
  };
  if (document.errors.length > 0) {
    fail(document.errors.map(({ pos, message }) => `line ${lines.linePos(pos[0]).line}: ${message}`));
  }
  return {
    value: document.toJS(),
    lineOf: (at) => {
      const node = document.getIn(at, true) as { range?: [number, number, number] } | undefined;
      return node?.range ? `line ${lines.linePos(node.range[0]).line}: ` : '';
    },
    fail,
  };
}
