import type { ExtractionMapping } from '../../../../assistant/extraction/mapping';
import type { Cli } from '../../context';

/**
 * The mapping of extracted data to our fields from EBRC_EXTRACTION_MAPPING; without it only the built-in names are
 * used.
 */
export async function mappingOf(cli: Cli): Promise<ExtractionMapping> {
  const { extractionMapping } = await cli.config('extraction');
  if (extractionMapping === undefined) return {};
  const { readMappingFile } = await import('../../../../assistant/extraction/mapping-file.js');
  return readMappingFile(extractionMapping);
}
