import { oncePerCell, type Finding } from '../domain/rules/finding';
import type { MappingRow } from '../domain/filing/mapping';
import { checkUncheckedRows } from '../domain/rules/rules';
import type { FileContext } from '../domain/rules/file';
import {
  nothingRead,
  withSheetHeaders,
  readWorkbook,
  type ReadOptions,
  type WorkbookReading,
  type WorkbookRefused,
} from './read';
import { extname } from 'node:path';
import { WORKBOOK_LIMITS } from './ooxml/limits';
import { formatOf, refuseSize } from './ooxml/package';

export interface CheckedWorkbook {
  /** Whether there is no error. There may be warnings. */
  ok: boolean;
  /** Rows that can be filed; all rows if `ok`. */
  rows: MappingRow[];
  /** Number of filled rows, including unreadable ones. */
  rowCount: number;
  errors: Finding[];
  warnings: Finding[];
  reading: WorkbookReading;
}

/**
 * Reads a workbook and checks it by the rules of JSON messages. Balances are checked later, by preflight.
 * @param file path or bytes
 * @throws only errors of the file system
 */
export async function checkWorkbook(
  file: string | Buffer,
  context: FileContext = {},
  options: ReadOptions = {},
): Promise<CheckedWorkbook> {
  return checkReading(await readWorkbook(file, options), context);
}

/** What a check says of a file that was refused before its cells were read. */
export const refusedWorkbook = (refused: WorkbookRefused): CheckedWorkbook => checkReading(nothingRead(refused));

/** Checks what was read by the rule table. */
export function checkReading(reading: WorkbookReading, context: FileContext = {}): CheckedWorkbook {
  const ruled = withSheetHeaders(checkUncheckedRows(reading.unchecked, context), reading.columns);
  const findings = oncePerCell([...reading.findings, ...ruled]);
  const errors = findings.filter(({ severity }) => severity === 'error');
  return {
    ok: errors.length === 0,
    rows: reading.rows,
    rowCount: reading.unchecked.length,
    errors,
    warnings: findings.filter(({ severity }) => severity === 'warning'),
    reading,
  };
}

/** A workbook as .xlsx, as which it is checked, kept and given back. @throws WorkbookRefused */
export async function toXlsx(name: string, file: Buffer): Promise<Buffer> {
  refuseSize(file.length, WORKBOOK_LIMITS);
  const format = formatOf(file);
  if (format === 'xls') return (await import('./foreign/xls.js')).xlsxOfXls(file);
  if (format === undefined && extname(name).toLowerCase() === '.csv')
    return (await import('./foreign/csv.js')).xlsxOfCsv(file, WORKBOOK_LIMITS);
  return file;
}
