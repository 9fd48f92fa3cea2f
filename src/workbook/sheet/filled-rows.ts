import { INVOICE_FIELDS, columnOfHeader } from '../../domain/rules/columns';
import { type CellContext, cellContent, type CellContent } from './cell-content';
import type { OpenSheet } from './open-workbook';
import { readHeaders, type Headers } from './headers';
import type { RawRow } from './sheet-rows';
import { errorAt, type Finding } from '../../domain/rules/finding';

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

const TOTAL = /^(?:(?:grand|sub|net|page)[\s-]*)?totals?\b/i;
/** A mapping has no cell that is the name of its own column; one may be chance. */
const REPEATED = 2;

/** One finding for a total or a repeated header, instead of one for each of its cells; undefined for other rows. */
export function strayRow(
  contents: readonly (CellContent | undefined)[],
  { columns }: Headers,
  row: number,
): Finding | undefined {
  const textAt = (index: number | undefined): string => {
    const content = contents[index ?? 0];
    return content?.kind === 'text' ? content.text : '';
  };
  const headers = [...columns].filter(([field, { index }]) => columnOfHeader(textAt(index))?.field === field);
  if (headers.length >= REPEATED) {
    return errorAt(row, null, 'repeated_header', 'This row repeats the headers. Delete it.');
  }
  const label = contents.findIndex((content) => content?.kind === 'text' && TOTAL.test(content.text));
  const isFilled = (field: 'irmNumber' | 'sbCumInvoiceNumber') => {
    const index = columns.get(field)?.index;
    return index !== label && contents[index ?? 0] !== undefined;
  };
  if (label > 0 && !(isFilled('irmNumber') && isFilled('sbCumInvoiceNumber'))) {
    return errorAt(row, null, 'total_row', 'This row is a total. Delete it: every row is filed.');
  }
  const amounts = [...columns.values()].filter(({ column }) => column.kind === 'amount');
  const filled = contents.filter((content) => content !== undefined).length;
  const ofAmounts = amounts.filter(({ index }) => contents[index] !== undefined).length;
  if (filled === 0 || ofAmounts < filled) return undefined;
  const message = 'This row has only amounts. Delete it if it is a total; otherwise fill in its other columns.';
  return errorAt(row, null, 'total_row', message);
}
