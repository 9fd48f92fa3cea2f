import { Workbook } from 'exceljs';
import type { Column, Style } from 'exceljs';
import type { BulkColumn } from '../domain/columns';
import { BULK_COLUMNS, isExtraField } from '../domain/columns';
import type { MappingRow } from '../domain/mapping';
import { canonicalAmount, isAmount } from '../domain/money';
import { UNWRITABLE } from '../domain/rules-words';
import { ROWS_PER_UPLOAD } from './ooxml/limits';

/** The sheet name of the service's template (spec: "Bulk Excel row columns"); it reads the first sheet whatever its name. */
export const BULK_SHEET = 'the service Bulk Upload';

const TEXT: Partial<Style> = { numFmt: '@' };

/**
 * The workbook that is uploaded for one submission: all 37 columns, dates as DDMMYYYY text, amounts as number cells, every
 * other value as a text cell. Text is filed exactly as it is, also where it begins like a formula: a text cell never runs,
 * and changing it would file something else than was checked. Is Third Party Export is N where the row does not say, as in
 * the service's own template.
 *
 * @param rows at most 999; their order is the order of the file
 * @returns the bytes of an .xlsx
 * @throws RangeError for more rows, or for a value that a workbook cannot hold exactly (control characters)
 */
export async function writeBulkWorkbook(rows: readonly MappingRow[]): Promise<Buffer> {
  if (rows.length > ROWS_PER_UPLOAD) {
    throw new RangeError(
      `One upload takes at most ${ROWS_PER_UPLOAD} rows, not ${rows.length}: split them into several submissions.`,
    );
  }
  const workbook = new Workbook();
  const sheet = workbook.addWorksheet(BULK_SHEET);
  sheet.columns = BULK_COLUMNS.map(({ header, field }): Partial<Column> => ({
    header,
    key: field,
    width: header.length + 2,
  }));
  for (const [index, row] of rows.entries()) {
    const target = sheet.getRow(index + 2);
    BULK_COLUMNS.forEach((column, at) => {
      const value = valueOf(row, column);
      if (value === null) return;
      const cell = target.getCell(at + 1);
      cell.value = typeof value === 'number' ? value : storable(value, column, row.row);
      if (typeof value === 'string') cell.style = TEXT;
    });
  }
  return Buffer.from(await workbook.xlsx.writeBuffer());
}

function valueOf({ mapping, extra }: MappingRow, { field, kind }: BulkColumn): string | number | null {
  if (!isExtraField(field)) return mapping[field];
  const value = extra?.[field];
  if (value === undefined) return field === 'isThirdPartyExport' ? 'N' : null;
  const exact = kind === 'amount' && isAmount(value) && canonicalAmount(Number(value)) === canonicalAmount(value);
  return exact ? Number(value) : value;
}

/** Text as the format stores it: what looks like one of its escapes (`_x0041_`) is escaped, or it would change when read. */
function storable(text: string, { field }: BulkColumn, row: number): string {
  // XML cannot hold these (a lone half of a surrogate pair neither), and exceljs would drop them silently.
  if (UNWRITABLE.test(text)) {
    throw new RangeError(`Row ${row}: ${field} holds a control character, which a workbook cannot carry. Remove it.`);
  }
  return text.replace(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_').replace(/\r/g, '_x000D_');
}
