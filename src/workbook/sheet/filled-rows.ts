import { INVOICE_FIELDS } from '../../domain/rules/columns';
import { type CellContext, cellContent } from './cell-content';
import type { OpenSheet } from './open-workbook';
import { readHeaders } from './headers';
import type { RawRow } from './sheet-rows';

/** A row's texts by column number, for {@link readHeaders}. */
export function textsOf({ cells }: RawRow, context: CellContext): string[] {
  const texts: string[] = [];
  for (const cell of cells) {
    const content = cellContent(cell, context);
    if (content.kind === 'text') texts[cell.column] = content.text;
  }
  return texts;
}

/**
 * Which rows have values, and the last column that does. Our own columns do not count.
 * @returns `emptiedRows`: with empty invoice columns, or with nothing but what an earlier run wrote; they are not filed
 * @throws WorkbookRefused (`damaged`)
 */
export function findFilledRows({ sheet, context }: OpenSheet) {
  const found = { headers: readHeaders([]), dataRows: [] as number[], emptiedRows: [] as number[], lastColumn: 1 };
  for (const row of sheet.rows()) {
    if (row.number === 1) found.headers = readHeaders(textsOf(row, context));
    const statusColumn = found.headers.status?.index ?? Number.NaN;
    let filled = false;
    // If the sheet lacks an invoice column, its rows are refused instead of left out.
    const invoice = new Set(INVOICE_FIELDS.map((field) => found.headers.columns.get(field)?.index ?? 0));
    let touched = row.number === 1 || invoice.has(0);
    for (const cell of row.cells) {
      if (cell.column === statusColumn || cell.column === statusColumn + 1) continue;
      // Most cells decide nothing more, and decoding their texts would fill the memory.
      const decides = !touched && invoice.has(cell.column);
      if (filled && !decides && cell.column <= found.lastColumn) continue;
      if (cellContent(cell, context).kind === 'blank') continue;
      filled = true;
      touched ||= invoice.has(cell.column);
      found.lastColumn = Math.max(found.lastColumn, cell.column);
    }
    if (row.number > 1) (filled && touched ? found.dataRows : found.emptiedRows).push(row.number);
  }
  return found;
}
