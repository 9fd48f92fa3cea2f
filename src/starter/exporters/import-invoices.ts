import type { LedgerDependencies } from '../dependencies';
import type pg from 'pg';
import { filingDateInKolkata, compareFilingDates, isoFromFilingDate, parseFilingDate } from '../../domain/dates';
import type { Mode } from '../../domain/names';
import { listExporters } from '../../ledger/exporters/exporters';
import { withTransaction } from '../../ledger/pool';
import { invoiceKey, saveInvoices, type InvoiceRecord } from '../../ledger/reports/documents';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { canonicalAmount, compareAmounts, isAmount, withoutGrouping } from '../../domain/money';
import { isUploadType } from '../../domain/rules/columns';
import { cutText, printable } from '../../domain/text';
import { refusal, unreadable, UsageError } from '../errors';
import { csvRows, sheetRows, type ListRow } from '../input-files';

/** Our columns with headers that accounting systems export for them. Case, spaces and punctuation are ignored. */
const COLUMNS = {
  exporter: ['exporter', 'exporteremail', 'exporterid', 'iec', 'email'],
  document: [
    ...(['document', 'documentnumber', 'documentno', 'invoicenumber', 'invoiceno'] as const),
    ...(['shippingbillnumber', 'sbcuminvoicenumber'] as const),
  ],
  date: ['date', 'documentdate', 'invoicedate', 'shippingbilldate', 'sbcuminvoicedate'],
  type: ['type', 'uploadtype'],
  value: ['value', 'amount', 'documentvalue', 'invoicevalue', 'sbcuminvoicevalueinfcc'],
  currency: ['currency', 'fcc', 'sbcuminvoicefcc'],
  buyer: ['buyer', 'customer', 'consignee'],
  dueDate: ['duedate', 'due'],
} as const;
type InvoiceColumn = keyof typeof COLUMNS;
/** Columns of identifiers and names, in which a date or a formatted number is not the text that was typed. */
const TEXT_COLUMNS: readonly InvoiceColumn[] = ['exporter', 'document', 'buyer'];
const MANDATORY: readonly InvoiceColumn[] = ['document', 'date', 'value', 'currency'];

/** An invoice of the list, with the exporter as the list names it. */
type ListedInvoice = Omit<InvoiceRecord, 'exporterId'> & { row: number; exporter: string | null };

export interface InvoiceProblem {
  row: number;
  field: string | null;
  message: string;
}

/**
 * Reads invoices from a CSV file or the first sheet of a workbook. An invalid row does not affect the others.
 * @param today DDMMYYYY; no document may be dated later
 * @throws RefusedError for a list without a header; UsageError if the file cannot be read
 */
async function readInvoiceList(path: string, today: string) {
  const [head, ...rows] = await rowsOf(path);
  const header = (head?.texts ?? []).map((text) => columnOf(text ?? ''));
  refuseHeader(header);
  const list: {
    invoices: ListedInvoice[];
    errors: InvoiceProblem[];
    /** Unknown headers, whose cells are not read. */
    ignoredColumns: string[];
  } = {
    invoices: [],
    errors: [],
    ignoredColumns: (head?.texts ?? []).flatMap((text, at) =>
      header[at] === null && text?.trim() ? [cutText(printable(text.trim()), 100)] : [],
    ),
  };
  for (const { row, texts, problem, problems = [] } of rows) {
    if (problem !== undefined) {
      list.errors.push({ row, field: null, message: problem });
      continue;
    }
    const cells = new Map<InvoiceColumn, string>();
    const unread: InvoiceProblem[] = [];
    header.forEach((column, at) => {
      const text = texts[at]?.trim();
      const message = problems[at];
      if (column && message !== undefined && (!text || TEXT_COLUMNS.includes(column)))
        unread.push({ row, field: column, message });
      else if (column && text) cells.set(column, text);
    });
    if (unread.length > 0) list.errors.push(...unread);
    if (unread.length > 0 || cells.size === 0) continue;
    const read = invoiceOf(row, cells, today);
    if ('errors' in read) list.errors.push(...read.errors);
    else list.invoices.push(read);
  }
  return list;
}

async function rowsOf(path: string): Promise<ListRow[]> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw unreadable(path, error);
  });
  const form = extname(path).toLowerCase();
  if (form === '.csv') return csvRows(bytes);
  if (form === '.xlsx') return sheetRows(bytes);
  throw new UsageError(`${path} is neither .csv nor .xlsx.`, 'unknown_file_type');
}

function columnOf(header: string): InvoiceColumn | null {
  const plain = header.toLowerCase().replace(/[^a-z]/gu, '');
  const names = Object.entries(COLUMNS) as [InvoiceColumn, readonly string[]][];
  return names.find(([, headers]) => headers.includes(plain))?.[0] ?? null;
}

function refuseHeader(header: readonly (InvoiceColumn | null)[]): void {
  const columns = `The columns are ${Object.keys(COLUMNS).join(', ')}; type, buyer and dueDate may be left out.`;
  const missing = MANDATORY.filter((column) => !header.includes(column));
  if (missing.length > 0) {
    const separated = header.length === 1 ? ' A .csv file separates them by commas.' : '';
    const message = `The first line names no column ${missing.join(', ')}. ${columns}${separated}`;
    throw refusal('missing_column', message, { row: 1 });
  }
  const repeated = header.find((column, at) => column !== null && header.indexOf(column) !== at);
  if (repeated) throw refusal('repeated_column', `The first line names the column ${repeated} twice.`, { row: 1 });
}

function invoiceOf(
  row: number,
  cells: ReadonlyMap<InvoiceColumn, string>,
  today: string,
): ListedInvoice | { errors: InvoiceProblem[] } {
  const errors: InvoiceProblem[] = [];
  const wrong = (field: InvoiceColumn, message: string) => {
    errors.push({ row, field, message });
    return '';
  };
  for (const field of MANDATORY) if (!cells.has(field)) wrong(field, `${field} is missing.`);
  const text = (field: InvoiceColumn) => {
    const cell = cells.get(field);
    return cell === undefined ? null : cutText(printable(cell), 200);
  };
  const day = (field: InvoiceColumn) => {
    const cell = cells.get(field);
    if (cell === undefined) return null;
    const read = parseFilingDate(cell);
    if (!read.ok)
      return wrong(field, `"${printable(cell).slice(0, 40)}" is not a date; write DD/MM/YYYY or YYYY-MM-DD.`);
    if (field === 'date' && compareFilingDates(read.date, today) > 0) return wrong(field, 'The date is in the future.');
    return isoFromFilingDate(read.date);
  };
  const amount = cells.get('value') ?? '';
  const problem = amount === '' ? null : amountProblem(amount);
  if (problem !== null) wrong('value', problem);
  const currency = (cells.get('currency') ?? '').toUpperCase();
  if (currency !== '' && !/^[A-Z]{3}$/u.test(currency)) wrong('currency', 'A currency is a code of three letters.');
  const type = cells.get('type');
  if (type !== undefined && !isUploadType(Number(type))) wrong('type', 'The type is 101, 102, 103 or 104, or empty.');
  const [documentDate, dueDate] = [day('date') ?? '', day('dueDate')];
  if (errors.length > 0) return { errors };
  return {
    row,
    exporter: text('exporter'),
    document: text('document') ?? '',
    documentDate,
    type: type === undefined ? null : Number(type),
    amount: canonicalAmount(amount),
    currency,
    buyer: text('buyer'),
    dueDate,
  };
}

function amountProblem(amount: string): string | null {
  const ungrouped = withoutGrouping(amount);
  if (isAmount(amount)) return compareAmounts(amount, 0) <= 0 ? 'The value must be above zero.' : null;
  const hint = isAmount(ungrouped) ? `write ${ungrouped}` : 'write digits, with a point before the decimals';
  return `"${printable(amount).slice(0, 40)}" is not an amount; ${hint}.`;
}

/** Rows per statement. */
const BATCH = 5_000;

/**
 * Imports an exporter's own documents into the ledger, for the ageing report: all valid rows, or none if PostgreSQL
 * fails. Importing the same list again changes nothing.
 * @throws RefusedError for a list without a header; UsageError if the file cannot be read
 */
export async function importInvoices(
  { pool, mode }: LedgerDependencies,
  args: {
    path: string;
    /** Id, e-mail or IEC, for rows that name no exporter. */
    exporter?: string;
    by: string;
  },
): Promise<{
  /** Number of invoices that are new in the ledger. */
  imported: number;
  /** Number that were in the ledger with different data. */
  updated: number;
  /** Number that were in the ledger with the same data. */
  unchanged: number;
  /** Rows that were left out. All others are in the ledger. */
  errors: InvoiceProblem[];
  ignoredColumns: string[];
}> {
  const { path, exporter, by } = args;
  const now = new Date();
  const { invoices, errors, ignoredColumns } = await readInvoiceList(path, filingDateInKolkata(now.getTime()));
  const exporterOf = await exporterFinder(pool, mode);
  const validInvoices = new Map<string, InvoiceRecord>();
  const rows = new Map<string, number>();
  for (const { row, exporter: named, ...invoice } of invoices) {
    const exporterName = named ?? exporter;
    const exporterId = exporterName === undefined ? undefined : exporterOf(exporterName);
    if (exporterId === undefined) {
      const message =
        exporterName === undefined
          ? 'The row names no exporter; give --exporter.'
          : `The ledger knows no exporter ${exporterName} in ${mode} mode; \`ebrc exporters\` lists the known ones.`;
      errors.push({ row, field: 'exporter', message });
      continue;
    }
    const record = { ...invoice, exporterId };
    const key = JSON.stringify([exporterId, invoiceKey(record), record.documentDate]);
    const before = rows.get(key);
    if (before !== undefined) {
      errors.push({ row, field: 'document', message: `The same document is already in row ${before}.` });
      continue;
    }
    rows.set(key, row);
    validInvoices.set(key, record);
  }
  const all = [...validInvoices.values()];
  const { imported, updated } = await withTransaction(pool, async (client) => {
    const sum = { imported: 0, updated: 0 };
    for (let at = 0; at < all.length; at += BATCH) {
      const written = await saveInvoices(client, { invoices: all.slice(at, at + BATCH), by, at: now });
      sum.imported += written.imported;
      sum.updated += written.updated;
    }
    return sum;
  });
  errors.sort((a, b) => a.row - b.row);
  return { imported, updated, unchanged: all.length - imported - updated, errors, ignoredColumns };
}

/** Finds exporters by id, e-mail or IEC. Any client of an IEC will do, because they are one company. */
async function exporterFinder(pool: pg.Pool, mode: Mode): Promise<(name: string) => string | undefined> {
  const idByName = new Map<string, string>();
  const exporters = await listExporters(pool, mode);
  for (const { exporterId, iec } of exporters) if (iec !== null) idByName.set(iec.toLowerCase(), exporterId);
  for (const { exporterId, email } of exporters) idByName.set(email.toLowerCase(), exporterId);
  for (const { exporterId } of exporters) idByName.set(exporterId.toLowerCase(), exporterId);
  return (name) => idByName.get(name.trim().toLowerCase());
}
