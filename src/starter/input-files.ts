import { parse, type Info } from 'csv-parse/sync';
import { WorkbookRefused } from '../workbook/read';
import { readTexts } from '../workbook/texts';
import { refusal, UsageError } from './errors';
import { InexactNumberError, parseBoundedJson } from '../domain/json';
import { harmless } from '../domain/text';
import { readFile } from 'node:fs/promises';
import { LineCounter, parseDocument } from 'yaml';

export interface ListRow {
  /** Row of the sheet or line of the file; the header is 1. */
  row: number;
  texts: readonly (string | undefined)[];
  /** In a sheet, why a cell's text may not be what was typed or is displayed, such as a date or an amount. */
  problems?: readonly (string | undefined)[];
  /** Why the whole row cannot be read. */
  problem?: string;
}

/** Parses CSV. After a misplaced quotation mark each line is parsed by itself. @param most maximum number of rows */
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

/** Null if the bytes are not CSV. The parser's message is dropped, because it may quote a line that has a password. */
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

/** @throws RefusedError if the file is not a workbook or exceeds the limits */
export async function sheetRows(bytes: Buffer): Promise<ListRow[]> {
  try {
    // Columns count from 1, so index 0 is dropped.
    return (await readTexts(bytes)).map(({ row, texts, problems }) => ({
      row,
      texts: Array.from(texts).slice(1),
      problems: problems.slice(1),
    }));
  } catch (error) {
    if (error instanceof WorkbookRefused) throw refusal(error.code, error.message);
    throw error;
  }
}

/** The value of a JSON file. @throws RefusedError `not_utf8`, `not_json`, `number_not_exact` */
export function jsonOf(bytes: Buffer): unknown {
  let text: string;
  try {
    // An invalid UTF-8 byte would silently become another character. Windows shells write UTF-16 with a BOM.
    const utf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
    text = new TextDecoder(utf16 ? 'utf-16le' : 'utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw refusal('not_utf8', 'The file is not UTF-8 text. Save it anew in UTF-8, the encoding of JSON.');
  }
  try {
    return parseBoundedJson(text);
  } catch (error) {
    if (error instanceof InexactNumberError) {
      throw refusal('number_not_exact', `${error.message}. Write it with at most 15 digits.`);
    }
    throw refusal('not_json', `The file is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Records as CSV with a header. Values that spreadsheets run as formulas are escaped: texts come from outside. */
export function csvOf<T extends object>(
  records: readonly T[],
  columns = Object.keys(records[0] ?? {}) as (keyof T & string)[],
): string {
  const lines = records.map((record) => columns.map((column) => cell(record[column])).join(','));
  return [columns.join(','), ...lines].join('\n');
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const safe = harmless(text);
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * Reads a YAML or JSON file that a person wrote.
 * @param about.what its content, as messages call it
 * @param about.advice what to do if the file cannot be read
 * @param about.code error code; default: the one of wrong usage
 * @returns its value; `lineOf`: "line N: " of the node at a path; `fail`: throws a UsageError that lists problems
 * @throws UsageError that names the file, and the line of every syntax error
 */
export async function readYamlFile(
  path: string,
  { what, advice, code }: { what: string; advice: string; code?: string },
) {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`The ${what} cannot be read from ${path} (${error.code}). ${advice}`, code);
  });
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const fail = (problems: readonly string[]): never => {
    const list = problems.map((problem) => `  ${problem}`).join('\n');
    throw new UsageError(`The ${what} in ${path} cannot be used:\n${list}`, code);
  };
  if (document.errors.length > 0) {
    fail(document.errors.map(({ pos, message }) => `line ${lines.linePos(pos[0]).line}: ${message}`));
  }
  return {
    value: document.toJS() as unknown,
    lineOf: (at: readonly PropertyKey[]): string => {
      const node = document.getIn(at, true) as { range?: [number, number, number] } | undefined;
      return node?.range ? `line ${lines.linePos(node.range[0]).line}: ` : '';
    },
    fail,
  };
}
