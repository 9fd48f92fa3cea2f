import { extname } from 'node:path';
import { WORKBOOK_LIMITS } from './ooxml/limits';
import { formatOf, refuseSize } from './ooxml/package';

/** A workbook as .xlsx, as which it is checked, kept and given back. @throws WorkbookRefused */
export async function toXlsx(name: string, file: Buffer): Promise<Buffer> {
  refuseSize(file.length, WORKBOOK_LIMITS);
  const format = formatOf(file);
  if (format === 'xls') return (await import('./foreign/xls.js')).xlsxOfXls(file);
  if (format === undefined && extname(name).toLowerCase() === '.csv')
    return (await import('./foreign/csv.js')).xlsxOfCsv(file, WORKBOOK_LIMITS);
  return file;
}
