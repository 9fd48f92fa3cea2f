import type { SheetEntry, WorkbookDirectory } from '../ooxml/directory';
import type { WorkbookLimits } from '../ooxml/limits';
import type { WorkbookPackage } from '../ooxml/package';
import { WorkbookRefused } from '../ooxml/refused';
import type { CellContext } from './cell-content';
import { cellContext } from './cell-content';
import { readNumberFormats } from './number-formats';
import { readSharedStrings } from './shared-strings';
import { SheetRows } from './sheet-rows';

/** A worksheet with the parts that its cells refer to. */
export interface OpenSheet {
  name: string;
  sheet: SheetRows;
  context: CellContext;
}

/**
 * Opens a worksheet and only the parts that it needs; other sheets, pictures, validations and notes are not read.
 * @param entry the sheet; undefined if the workbook has none
 * @throws WorkbookRefused if there is none, or it exceeds the limits
 */
export async function openSheet(
  source: WorkbookPackage,
  { parts, date1904 }: WorkbookDirectory,
  entry: SheetEntry | undefined,
  limits: WorkbookLimits,
): Promise<OpenSheet> {
  const bytes = entry && (await source.bytes(entry.part));
  if (!entry || bytes === undefined) {
    throw new WorkbookRefused('no_worksheet', 'The workbook has no worksheet. Put the rows on its first worksheet.');
  }
  const part = async (name: string | undefined) => (name === undefined ? undefined : source.bytes(name));
  const strings = await part(parts.sharedStrings);
  const styles = await part(parts.styles);
  return {
    name: entry.name,
    sheet: new SheetRows(bytes, limits),
    context: cellContext({
      strings: strings ? readSharedStrings(strings, limits) : [],
      formatOf: styles ? readNumberFormats(styles, limits) : () => ({ isDate: false, zeros: 0 }),
      date1904,
      texts: limits.texts,
    }),
  };
}
