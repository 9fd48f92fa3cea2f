import { parse, type Info } from 'csv-parse/sync';
import { WorkbookRefused } from '../workbook/read';
import { readTexts } from '../workbook/texts';
import { refusal } from './errors';

/** A row of a list, as in its file. */
export interface ListRow {
  /** Row of the sheet, line of the file; the header is 1. */
  row: number;
  texts: readonly (string | undefined)[];
  /** Why the row cannot be read at all. */
  problem?: string;
}

/**
 * The lines of a CSV file. After a misplaced quotation mark the rest cannot be parsed reliably: each line is then
 * parsed separately, so that the bad line is named and the others are kept. @param most lines that are read at most
 */
export function csvRows(bytes: Buffer, most?: number): ListRow[] {
  const parsed = csvRecords(bytes, most);
  if (parsed) return parsed;
  const lines = bytes.toString('utf8').split(/\r\n|\n|\r/, most);
  return lines.flatMap((line, index): ListRow[] => {
    const row = index + 1;
    const records = csvRecords(Buffer.from(line));
    const problem = 'The line cannot be read: a quotation mark opens or closes in the wrong place.';
    return records ? records.map(({ texts }) => ({ row, texts })) : [{ row, texts: [], problem }];
  });
}

/** Null if it is not CSV. The parser's message is dropped, because it may quote a line, and with it a password. */
function csvRecords(bytes: Buffer, most?: number): ListRow[] | null {
  try {
    const options = { bom: true, skip_empty_lines: true, relax_column_count: true, info: true } as const;
    const records = parse(bytes, { ...options, ...(most !== undefined && { to: most }) }) as unknown as {
      record: string[];
      info: Info;
    }[];
    return records.map(({ record, info }) => ({ row: info.lines, texts: record }));
  } catch {
    return null;
  }
}

/** @throws RefusedError for a file that is not a workbook, or exceeds the limits */
export async function sheetRows(bytes: Buffer): Promise<ListRow[]> {
  try {
    // Columns count from 1.
    return (await readTexts(bytes)).map(({ row, texts }) => ({ row, texts: Array.from(texts).slice(1) }));
  } catch (error) {
    if (error instanceof WorkbookRefused) throw refusal(error.code, error.message);
    throw error;
  }
}
