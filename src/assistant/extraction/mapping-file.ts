import { extractionMapping, type ExtractionMapping } from './mapping';
import { readYamlFile } from '../../starter/yaml-file';

/**
 * Reads a mapping of extracted data to our fields (YAML, and so JSON too).
 * @throws UsageError that names the file and the line of every problem
 */
export async function readMappingFile(path: string): Promise<ExtractionMapping> {
  const { value, lineOf, fail } = await readYamlFile(path, {
    what: 'mapping',
    advice: 'Set EBRC_EXTRACTION_MAPPING to the file, or leave it empty.',
    code: 'mapping',
  });
  const lineAt = (at: readonly PropertyKey[]): string => {
    for (let depth = at.length; depth > 0; depth -= 1) {
      const line = lineOf(at.slice(0, depth));
      if (line) return line;
    }
    return '';
  };
  const parsed = extractionMapping.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  return fail(
    parsed.error.issues.flatMap((issue) => {
      const names = issue.code === 'unrecognized_keys' ? issue.keys : [null];
      return names.map((name) => {
        const at = name === null ? issue.path : [...issue.path, name];
        const what = name === null ? issue.message : 'is not a field of this document; docs/extraction.md lists them';
        return `${lineAt(at)}${at.join('.')}: ${what}`;
      });
    }),
  );
}
