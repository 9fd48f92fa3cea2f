import { type CellValue, type Style, Workbook } from 'exceljs';
import { BUILT_IN_TEMPLATE, columnOfHeader, isExtraField, normaliseHeader } from '../domain/rules/columns';
import type { BulkTemplate } from '../domain/rules/columns';
import { isoFromFilingDate, type FilingDate } from '../domain/dates';
import type { ExtraValues, MappingRow } from '../domain/filing/mapping';
import { escapedText } from './ooxml/xml-edit';
import { UNWRITABLE } from '../domain/rules/value-messages';
import { MAX_FILING_ROWS } from '../domain/service/limits';

/** The sheet's name in the service's template (spec: "Bulk Excel row columns"). The service reads the first sheet. */
export const BULK_SHEET = 'the service Bulk Upload';

const TEXT: Partial<Style> = { numFmt: '@' };
const DATE: Partial<Style> = { numFmt: 'dd/mm/yyyy' };

/**
 * The workbook of one submission: the template's columns in order, dates as DDMMYYYY text, amounts as numbers, other
 * values as text cells, which are never run as formulas. Text is filed unchanged. Is Third Party Export defaults to N.
 * @param rows at most 999
 * @param template default: assumed labels @throws RangeError for more rows, or control characters
 */
export async function writeBulkWorkbook(
  rows: readonly MappingRow[],
  template: Pick<BulkTemplate, 'labels'> = BUILT_IN_TEMPLATE,
): Promise<Buffer> {
  if (rows.length > MAX_FILING_ROWS) {
    const message = `One upload takes at most ${MAX_FILING_ROWS} rows, not ${rows.length}: split them into several filings.`;
    throw new RangeError(message);
  }
  const workbook = new Workbook();
  const sheet = workbook.addWorksheet(BULK_SHEET);
  const labels = labelsOf(rows, template.labels);
  sheet.columns = labels.map((header) => ({ header, width: header.length + 2 }));
  for (const [index, row] of rows.entries()) {
    const target = sheet.getRow(index + 2);
    const extra = new Map(Object.entries(row.extra ?? {}).map(([label, value]) => [nameOf(label), value]));
    labels.forEach((label, at) => {
      const value = cellOf(row, label, extra);
      if (value === null) return;
      const cell = target.getCell(at + 1);
      cell.value = typeof value === 'string' ? storable(value, label, row.row) : value;
      if (typeof value === 'string') cell.style = TEXT;
      else if (value instanceof Date) cell.style = DATE;
    });
  }
  return Buffer.from(await workbook.xlsx.writeBuffer());
}

/** exceljs expects dates as midnight in UTC. */
export function midnight(date: FilingDate): Date {
  return new Date(`${isoFromFilingDate(date)}T00:00:00Z`);
}

/** The template's labels, and those of filled columns that it lost since the workbook was checked. */
function labelsOf(rows: readonly MappingRow[], labels: readonly string[]): string[] {
  const known = new Set(labels.map(nameOf));
  const filled = new Set(rows.flatMap(({ extra = {} }) => Object.keys(extra)));
  return [...labels, ...[...filled].filter((label) => !known.has(nameOf(label)))];
}

/** The same for every spelling of a column: a message names fields, and the template may have been read since. */
const nameOf = (label: string): string => columnOfHeader(label)?.field ?? normaliseHeader(label);

function cellOf({ mapping }: MappingRow, label: string, extra: ReadonlyMap<string, ExtraValues[string]>): CellValue {
  const field = columnOfHeader(label)?.field;
  if (field !== undefined && !isExtraField(field)) return mapping[field];
  const value = extra.get(nameOf(label));
  if (value === undefined) return field === 'isThirdPartyExport' ? 'N' : null;
  return typeof value === 'object' ? midnight(value.date) : value;
}

/** @throws RangeError for what the format cannot carry */
function storable(text: string, label: string, row: number): string {
  // XML cannot contain these, nor an unpaired surrogate; exceljs would drop them silently.
  if (UNWRITABLE.test(text)) {
    const field = columnOfHeader(label)?.field ?? label;
    throw new RangeError(`Row ${row}: ${field} holds a control character, which a workbook cannot carry. Remove it.`);
  }
  return escapedText(text);
}
