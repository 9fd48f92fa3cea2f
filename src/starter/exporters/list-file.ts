import { readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { parse } from 'csv-parse/sync';
import { Workbook, type CellValue } from 'exceljs';
import { z } from 'zod';
import { RefusedError, UsageError, type Problem } from '../errors';

const text = z.string().trim();
const optional = text.optional().transform((value) => value || undefined);

/** A row of a list of exporters to onboard; passwords keep their spaces. */
const listRow = z
  .strictObject({
    name: text.min(1, 'is missing'),
    email: z.email('is not an e-mail address').transform((email) => email.trim()),
    iec: optional.refine(
      (iec) => iec === undefined || /^[A-Za-z0-9]{10}$/.test(iec),
      'is exactly 10 letters and digits',
    ),
    companyName: optional,
    address: optional,
    username: optional,
    password: z
      .string()
      .optional()
      .transform((value) => value || undefined),
  })
  .refine((row) => (row.username === undefined) === (row.password === undefined), {
    message: 'give both username and password, or neither',
    path: ['password'],
  });

const COLUMNS = ['name', 'email', 'iec', 'companyName', 'address', 'username', 'password'] as const;

export type ListedExporter = z.output<typeof listRow> & {
  /** Row of the sheet or file (header is 1), or place in a JSON list, from 1. */
  row: number;
};

/**
 * Reads exporters to onboard from a CSV file, the first sheet of a workbook, or a JSON list; columns and properties are
 * name, email, iec, companyName, address, username and password.
 * @throws RefusedError with every wrong cell; UsageError when the file cannot be read
 */
export async function readExporterList(path: string): Promise<ListedExporter[]> {
  const records = await readRecords(path);
  const problems: Problem[] = [];
  const rows = records.flatMap(({ row, values }) => {
    const parsed = listRow.safeParse(values);
    if (parsed.success) return [{ ...parsed.data, row }];
    problems.push(...parsed.error.issues.map((issue) => problemOf(row, issue)));
    return [];
  });
  problems.push(...repeated(rows));
  if (problems.length > 0) throw new RefusedError(problems);
  if (rows.length === 0) throw new UsageError(`${basename(path)} names no exporter.`, 'empty_list');
  return rows;
}

function problemOf(row: number, issue: z.core.$ZodIssue): Problem {
  if (issue.code === 'unrecognized_keys') {
    const message = `Unknown column ${issue.keys.join(', ')}. The columns are ${COLUMNS.join(', ')}.`;
    return { severity: 'error', code: 'unknown_column', row, field: issue.keys[0] ?? null, message };
  }
  const field = String(issue.path[0] ?? '') || null;
  return {
    severity: 'error',
    code: 'invalid_exporter',
    row,
    field,
    message: `${field ?? 'The row'}: ${issue.message}`,
  };
}

function repeated(rows: readonly ListedExporter[]): Problem[] {
  const first = new Map<string, number>();
  return rows.flatMap(({ row, email }) => {
    const before = first.get(email.toLowerCase());
    if (before === undefined) {
      first.set(email.toLowerCase(), row);
      return [];
    }
    const message = `${email} stands in row ${before} already. Name each exporter once.`;
    return [{ severity: 'error' as const, code: 'repeated_email', row, field: 'email', message }];
  });
}

interface RawRecord {
  row: number;
  values: Record<string, unknown>;
}

async function readRecords(path: string): Promise<RawRecord[]> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${path} cannot be read (${error.code ?? error.message}).`, 'no_file');
  });
  try {
    switch (extname(path).toLowerCase()) {
      case '.csv':
        return csvRecords(bytes);
      case '.xlsx':
        return await sheetRecords(bytes);
      case '.json':
        return jsonRecords(bytes);
    }
  } catch (error) {
    // The cause is left out on purpose: a parser's message may quote a line, and with it a password.
    const kind = error instanceof Error ? error.name : 'error';
    throw new UsageError(`${path} cannot be read as a ${extname(path)} file (${kind}).`, 'unreadable_list');
  }
  throw new UsageError(`${path} is neither .csv, .xlsx nor .json.`, 'unknown_file_type');
}

function csvRecords(bytes: Buffer): RawRecord[] {
  const lines: { record: Record<string, string>; info: { lines: number } }[] = parse(bytes, {
    bom: true,
    columns: (header: string[]) => header.map(columnOf),
    skip_empty_lines: true,
    info: true,
  });
  return lines.map(({ record, info }) => ({ row: info.lines, values: record }));
}

async function sheetRecords(bytes: Buffer): Promise<RawRecord[]> {
  const workbook = new Workbook();
  await workbook.xlsx.load(bytes as unknown as ArrayBuffer);
  const sheet = workbook.worksheets[0];
  const header: string[] = [];
  const records: RawRecord[] = [];
  sheet?.eachRow((cells, row) => {
    const values: Record<string, string> = {};
    cells.eachCell((cell, column) => {
      if (row === 1) header[column] = columnOf(cellText(cell.value));
      else if (header[column]) values[header[column]] = cellText(cell.value);
    });
    if (row > 1 && Object.values(values).some((value) => value.trim() !== '')) records.push({ row, values });
  });
  return records;
}

function jsonRecords(bytes: Buffer): RawRecord[] {
  const list = z.array(z.record(z.string(), z.unknown())).parse(JSON.parse(bytes.toString('utf8')));
  return list.map((values, index) => ({
    row: index + 1,
    values: Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)),
  }));
}

/** A header as the column it means: case, blanks and punctuation aside. */
function columnOf(header: string): string {
  const plain = (name: string) => name.toLowerCase().replace(/[^a-z]/g, '');
  return COLUMNS.find((column) => plain(column) === plain(header)) ?? header.trim();
}

/** What a cell shows: an e-mail is often a link, a number or a password digits. */
function cellText(value: CellValue): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'object') return String(value);
  if ('richText' in value) return value.richText.map((part) => part.text).join('');
  if ('text' in value) return cellText(value.text);
  if ('result' in value) return cellText(value.result);
  return '';
}
