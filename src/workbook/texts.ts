import { WORKBOOK_LIMITS } from './ooxml/limits';
import { openPackage } from './ooxml/package';
import { cellText, runsText } from './ooxml/xml-text';
import { cellContent, type CellContext } from './sheet/cell-content';
import { shown } from './sheet/cell-value';
import { openFirstSheet } from './sheet/first-sheet';
import { rawRows, type RawCell } from './sheet/raw-cells';
import { cellContext } from './sheet/survey';

export interface TextRow {
  /** Of the sheet, from 1. */
  row: number;
  /** What each cell shows by column number, from 1; texts exactly as they are in the file, blanks at their ends too. */
  texts: string[];
}

/**
 * The filled rows of the first worksheet as text, for lists that are no bulk workbooks. Bounded like every workbook that is read.
 * @throws WorkbookRefused with what to do
 */
export async function readTexts(file: Buffer): Promise<TextRow[]> {
  const sheet = await openFirstSheet(await openPackage(file, WORKBOOK_LIMITS), WORKBOOK_LIMITS);
  const context = cellContext(sheet);
  const rows: TextRow[] = [];
  for (const { number, cells } of rawRows(sheet.xml)) {
    const texts: string[] = [];
    for (const cell of cells) texts[cell.column] = textOf(cell, context);
    if (texts.some((text) => text.trim() !== '')) rows.push({ row: number, texts });
  }
  return rows;
}

function textOf(cell: RawCell, context: CellContext): string {
  const { type, data } = cell;
  if (data !== undefined && type === 's') return context.strings.at(Number(data));
  if (data !== undefined && type === 'inlineStr') return runsText(data);
  if (data !== undefined && type === 'str') return cellText(data);
  const content = cellContent(cell, context);
  // An error, or a formula without a result, shows nothing that anybody meant.
  return content.kind === 'blank' || content.kind === 'unusable' ? '' : shown(content);
}
