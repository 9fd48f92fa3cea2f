import { Workbook, type CellValue } from 'exceljs';
import { headerOf } from '../../src/domain/rules/columns';
import { item, type Harness } from './support';

export const FIELDS = Object.keys(item());

export type RowValues = Record<string, CellValue>;

/** A bulk workbook with one row for each set of values; `header` rewrites a label. */
export async function workbookOf(
  rows: (RowValues | null)[],
  options: { header?: (label: string) => string; date1904?: boolean; fields?: string[] } = {},
): Promise<Buffer> {
  const workbook = new Workbook();
  if (options.date1904) workbook.properties.date1904 = true;
  const sheet = workbook.addWorksheet('eBRC Bulk Upload');
  const fields = options.fields ?? FIELDS;
  sheet.addRow(fields.map((field) => (options.header ?? String)(headerOf(field) ?? field)));
  for (const values of rows) {
    const row = values === null ? {} : { ...(item() as RowValues), ...values };
    sheet.addRow(fields.map((field) => row[field] ?? null));
  }
  return Buffer.from(await workbook.xlsx.writeBuffer());
}

export function upload(
  { api }: Pick<Harness, 'api'>,
  platformCustomerId: string,
  file: Buffer,
  { query = {}, fileName = 'bulk.xlsx', part = 'file' }: { query?: object; fileName?: string; part?: string } = {},
) {
  const form = new FormData();
  form.append(part, new Blob([new Uint8Array(file)]), fileName);
  const search = new URLSearchParams({ platformCustomerId, uploadType: '101', decalarationFlag: 'Y', ...query });
  return api.post(`/genebrc/bulk-upload?${search.toString()}`, form);
}
