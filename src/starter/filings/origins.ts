import type pg from 'pg';
import type { MappingRow } from '../../domain/filing/mapping';
import { saveRowOrigins } from '../../ledger/extraction/drafts';
import { DRAFT_ROW } from '../../workbook/draft-row';
import type { FilingFile } from './read-file';

/**
 * Records the sources of a drafted workbook's rows: the documents, and what a person changed. Does nothing for other
 * files.
 */
export async function recordOrigins(
  pool: pg.Pool,
  {
    inputRef,
    rows,
    file,
  }: { inputRef: string; rows: readonly MappingRow[]; file: Pick<FilingFile, 'bytes' | 'sheet'> },
): Promise<void> {
  if (!file.sheet?.own.some(({ header }) => header === DRAFT_ROW)) return;
  const { readTexts } = await import('../../workbook/texts.js');
  const [header, ...lines] = await readTexts(file.bytes);
  const at = header?.texts.indexOf(DRAFT_ROW) ?? -1;
  const drafted = new Map(lines.map(({ row, texts }) => [row, texts[at] ?? '']));
  await saveRowOrigins(pool, { inputRef, rows, drafted });
}
