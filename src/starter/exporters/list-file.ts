import { open } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { z } from 'zod';
import { emailAddress } from '../../domain/contracts';
import { IN_PLAIN_WORDS, issueText } from '../../domain/issues';
import { refusal, unreadable, UsageError } from '../errors';
import { csvRows, type ListRow } from '../input-files';

const COLUMNS = ['name', 'email', 'iec', 'companyName', 'address', 'username', 'password'] as const;
type ListColumn = (typeof COLUMNS)[number];

const text = z.string().trim();
const optional = text.optional().transform((value) => value || undefined);

/** A row of the list. Passwords keep their spaces. */
const listRow = z
  .object({
    name: text.min(1, 'is missing'),
    email: emailAddress,
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

/**
 * Reads exporters from CSV; an invalid row affects no other. Messages repeat only e-mail addresses, because in shifted
 * cells any other text may be a password.
 * @throws RefusedError for a list without a header; UsageError if the file cannot be read
 */
export async function readExporterList(path: string) {
  const list: {
    /** `row`: line of the file; the header is 1. */
    rows: (z.output<typeof listRow> & { row: number })[];
    refused: {
      row: number;
      /** Null if the text in the e-mail column is no address: it may be a misplaced password. */
      email: string | null;
      message: string;
    }[];
  } = { rows: [], refused: [] };
  const first = new Map<string, number>();
  for (const { row, values, problem } of await readRecords(path)) {
    const parsed = listRow.safeParse(values, IN_PLAIN_WORDS);
    const address = emailAddress.safeParse(values.email).data ?? null;
    if (problem !== undefined || !parsed.success) {
      // A row that does not fit the header may be shifted, so its e-mail column may have another text.
      const refused = { row, email: problem === undefined ? address : null };
      list.refused.push({ ...refused, message: problem ?? messageOf(parsed.error?.issues ?? []) });
      continue;
    }
    const key = parsed.data.email.toLowerCase();
    const before = first.get(key);
    if (before === undefined) {
      first.set(key, row);
      list.rows.push({ ...parsed.data, row });
    } else {
      const message = `The same e-mail is already in row ${before}. Name each exporter once.`;
      list.refused.push({ row, email: address, message });
    }
  }
  if (list.rows.length + list.refused.length === 0)
    throw new UsageError(`${basename(path)} names no exporter.`, 'empty_list');
  return list;
}

function messageOf(issues: readonly z.core.$ZodIssue[]): string {
  return issues.map(({ path, message }) => issueText({ path: [path[0] ?? 'row'], message })).join('; ');
}

interface RawRecord {
  row: number;
  values: Partial<Record<ListColumn, unknown>>;
  problem?: string;
}

/** Far more than any platform has. Each exporter becomes a workflow. */
const MAX_EXPORTERS = 10_000;
/** Enough for all of them with long addresses. */
const MAX_LIST_BYTES = 8 * 1024 * 1024;

async function readRecords(path: string): Promise<RawRecord[]> {
  if (extname(path).toLowerCase() !== '.csv') {
    const message = `${path} is no .csv. Save the list as CSV ("CSV UTF-8" in a spreadsheet program).`;
    throw new UsageError(message, 'unknown_file_type');
  }
  // The header line, and one line above the limit, so that too long lists are recognised.
  const records = recordsBelowHeader(csvRows(await load(path), MAX_EXPORTERS + 2));
  if (records.length <= MAX_EXPORTERS) return records;
  throw refusal('too_many_rows', `The list names more than ${MAX_EXPORTERS} exporters. Split it into several files.`);
}

async function load(path: string): Promise<Buffer> {
  const handle = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw unreadable(path, error);
  });
  try {
    const { size } = await handle.stat();
    if (size <= MAX_LIST_BYTES) return await handle.readFile();
    const message = `The list has ${size} bytes, and at most ${MAX_LIST_BYTES} are read. Split it into several files.`;
    throw refusal('too_large', message);
  } finally {
    await handle.close();
  }
}

/** The rows below the header line, by column. @throws RefusedError if the first line does not name the columns */
function recordsBelowHeader(rows: readonly ListRow[]): RawRecord[] {
  const [head, ...below] = rows;
  if (!head) return [];
  const header = head.texts.map((name) => columnOf(name ?? ''));
  refuseHeader(header);
  return below.map(({ row, texts, problem = widthProblem(texts, header) }) => {
    const values: RawRecord['values'] = {};
    header.forEach((column, index) => {
      if (column === null || column === 'unknown') return;
      values[column] = texts[index] ?? '';
    });
    return { row, values, ...(problem !== undefined && { problem }) };
  });
}

function refuseHeader(header: readonly (string | null)[]): void {
  const named = header.filter((column) => column !== null && column !== 'unknown');
  const columns = `The columns are ${COLUMNS.join(', ')}.`;
  if (named.length === 0) {
    const message = `The list has no header line: the first line names the columns, with commas between them. ${columns}`;
    throw refusal('no_header', message, { row: 1 });
  }
  const strange = header.flatMap((column, index) => (column === 'unknown' ? [index + 1] : []));
  if (strange.length > 0) {
    const message = `The header line has unknown column names, in position ${strange.join(', ')}. ${columns}`;
    throw refusal('unknown_column', message, { row: 1 });
  }
  const repeated = named.find((column, index) => named.indexOf(column) !== index);
  if (repeated) throw refusal('repeated_column', `The header line names the column ${repeated} twice.`, { row: 1 });
  const missing = (['name', 'email'] as const).find((column) => !named.includes(column));
  if (missing) throw refusal('missing_column', `The header line has no column ${missing}. ${columns}`, { row: 1 });
}

/** Why a row does not fit the header: a line that is too short or too long is shifted. */
function widthProblem(texts: readonly (string | undefined)[], header: readonly (string | null)[]) {
  const unnamed = texts.findIndex((value, index) => value?.trim() && (header[index] ?? null) === null);
  if (unnamed >= 0) return `The row has a value in position ${unnamed + 1}, where the header line names no column.`;
  return texts.length < header.length
    ? `The row has ${texts.length} values, the header line ${header.length}.`
    : undefined;
}

/** The column that a header means, ignoring case, blanks and punctuation; null if the header is empty. */
function columnOf(header: string) {
  const plain = (name: string) => name.toLowerCase().replace(/[^a-z]/g, '');
  if (header.trim() === '') return null;
  return COLUMNS.find((column) => plain(column) === plain(header)) ?? 'unknown';
}
