import type { ExtractionMapping } from '../../../../domain/extraction/mapping';
import type { Cli } from '../../context';

/**
 * The mapping of extracted data to our fields that EBRC_EXTRACTION_MAPPING names; without it the built-in names count
 * alone.
 */
export async function mappingOf(cli: Cli): Promise<ExtractionMapping> {
  const { extractionMapping } = await cli.config('extraction');
  if (extractionMapping === undefined) return {};
  const { readMappingFile } = await import('../../../extraction/mapping-file.js');
  return readMappingFile(extractionMapping);
}
