import { readDirectory, openPackage } from '../ooxml/package';
import type { WorkbookDirectory, WorkbookPackage } from '../ooxml/package';
import { oversized, tooLong, type WorkbookLimits, WorkbookRefused } from '../ooxml/limits';
import { readXml } from '../ooxml/xml-reader';
import { type CellContext, cellContext } from './cell-content';
import { GENERAL, readNumberFormats } from './number-format';
import { type RawRow, SheetRows } from './sheet-rows';

/**
 * Opens a workbook's first sheet, and reads the parts that findings are written into, so that a file which cannot be
 * annotated is refused now.
 * @throws WorkbookRefused; errors of the file system
 */
export async function openWorkbook(source: string | Buffer, limits: WorkbookLimits) {
  const opened = await openPackage(source, limits);
  const directory = await readDirectory(opened);
  const first = await openSheet(opened, directory, directory.sheets[0], limits);
  readXml(await opened.bytes('[Content_Types].xml'), {});
  return { source: opened, directory, first };
}

/** Skips phonetic guides. @throws WorkbookRefused (`damaged`, `xml_entities`, `too_many_cells`, `too_long`) */
function readSharedStrings(bytes: Buffer, { sharedStrings: limit, cellText }: WorkbookLimits): string[] {
  const strings: string[] = [];
  let text: string | undefined;
  let inText = false;
  let guideDepth = 0;
  readXml(bytes, {
    open: (name) => {
      if (name === 'si') text = '';
      else if (name === 'rPh') guideDepth += 1;
      else if (name === 't') inText = true;
    },
    text: (piece) => {
      if (!inText || guideDepth > 0 || text === undefined) return;
      text += piece;
      if (text.length > cellText) throw tooLong('A cell');
    },
    close: (name) => {
      if (name === 't') inText = false;
      else if (name === 'rPh') guideDepth -= 1;
      else if (name === 'si') {
        strings.push(text ?? '');
        text = undefined;
        if (strings.length > limit) throw oversized('too_many_cells', 'The workbook has more texts than are read');
      }
    },
  });
  return strings;
}

export interface OpenSheet {
  name: string;
  /** `merged` is complete once all rows were read. */
  sheet: { rows(): IterableIterator<RawRow>; readonly merged: readonly string[]; hidesColumn(column: number): boolean };
  context: CellContext;
}

/** Opens a worksheet and the parts that it needs. @throws WorkbookRefused if there is none, or beyond the limits */
export async function openSheet(
  source: WorkbookPackage,
  { parts, date1904, stale }: WorkbookDirectory,
  entry: WorkbookDirectory['sheets'][number] | undefined,
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
    sheet: new SheetRows(bytes, limits, stale),
    context: cellContext({
      strings: strings ? readSharedStrings(strings, limits) : [],
      formatOf: styles ? readNumberFormats(styles, limits) : () => GENERAL,
      date1904,
      texts: limits.texts,
    }),
  };
}
