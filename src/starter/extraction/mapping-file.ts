import { readFile } from 'node:fs/promises';
import { LineCounter, parseDocument } from 'yaml';
import { extractionMapping, type ExtractionMapping } from '../../domain/extraction/mapping';
import { UsageError } from '../errors';

/**
 * Reads a mapping of extracted data to our fields (YAML, and so JSON too).
 * @throws UsageError that names the file and the line of every problem
 */
export async function readMappingFile(path: string): Promise<ExtractionMapping> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const message = `The mapping cannot be read from ${path} (${error.code}). Set EBRC_EXTRACTION_MAPPING to the file, or leave it empty.`;
    throw new UsageError(message, 'mapping');
  });
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineAt = (at: readonly PropertyKey[]): string => {
    for (let depth = at.length; depth > 0; depth -= 1) {
      const node = document.getIn(at.slice(0, depth), true) as { range?: [number, number, number] } | undefined;
      if (node?.range) return `line ${lines.linePos(node.range[0]).line}: `;
    }
    return '';
  };
  const fail = (problems: string[]): never => {
    const list = problems.map((each) => `  ${each}`).join('\n');
    throw new UsageError(`The mapping in ${path} cannot be used:\n${list}`, 'mapping');
  };
  if (document.errors.length > 0)
    fail(document.errors.map(({ pos, message }) => `line ${lines.linePos(pos[0]).line}: ${message}`));
  const parsed = extractionMapping.safeParse(document.toJS() ?? {});
  if (parsed.success) return parsed.data;
  return fail(
    parsed.error.issues.flatMap((issue) => {
      const names = issue.code === 'unrecognized_keys' ? issue.keys : [null];
      return names.map((name) => {
        const at = name === null ? issue.path : [...issue.path, name];
        const what = name === null ? issue.message : 'is no field of this document; docs/extraction.md lists them';
        return `${lineAt(at)}${at.join('.')}: ${what}`;
      });
    }),
  );
}
