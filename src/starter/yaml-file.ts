import { readFile } from 'node:fs/promises';
import { LineCounter, parseDocument } from 'yaml';
import { UsageError } from './errors';

/** A YAML file written by a person, with the line numbers of its parts, for error messages. */
export interface YamlFile {
  value: unknown;
  /** "line N: " of the node at a path; empty if the file has no such node. */
  lineOf: (path: readonly PropertyKey[]) => string;
  /** @throws UsageError that lists the problems */
  fail: (problems: readonly string[]) => never;
}

/**
 * Reads a YAML file, or a JSON file.
 * @param about.what its content, as messages call it
 * @param about.advice what to do if the file cannot be read
 * @param about.code of the errors; default: that of wrong usage
 * @throws UsageError that names the file, and the line of every syntax error
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
