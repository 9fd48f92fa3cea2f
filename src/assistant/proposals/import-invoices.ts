import type pg from 'pg';
import { filingDateInKolkata } from '../../domain/dates';
import type { Mode } from '../../domain/names';
import { listExporters } from '../../ledger/exporters/exporters';
import { withTransaction } from '../../ledger/pool';
import { invoiceKey, saveInvoices, type InvoiceRecord } from '../../ledger/reports/invoices';
import { readInvoiceList, type InvoiceProblem } from './read-invoices';

export interface InvoiceImport {
  path: string;
  /** Id, e-mail or IEC, for rows that name no exporter. */
  exporter?: string;
  by: string;
}

export interface InvoiceImportOutcome {
  /** New in the ledger. */
  imported: number;
  /** Already in the ledger, with different data. */
  updated: number;
  /** Already in the ledger, with the same data. */
  unchanged: number;
  /** Rows that were left out; the others are in the ledger. */
  errors: InvoiceProblem[];
  ignoredColumns: string[];
}

/** Rows of one statement. */
const BATCH = 5_000;

/**
 * Imports an exporter's own documents into the ledger, for the ageing report; all valid rows or, if PostgreSQL fails,
 * none. Importing the same list again changes nothing.
 * @throws RefusedError for a list without its header line; UsageError if the file cannot be read
 */
export async function importInvoices(
  { pool, mode }: { pool: pg.Pool; mode: Mode },
  { path, exporter, by }: InvoiceImport,
): Promise<InvoiceImportOutcome> {
  const now = new Date();
  const { invoices, errors, ignoredColumns } = await readInvoiceList(path, filingDateInKolkata(now.getTime()));
  const exporterOf = await exporterFinder(pool, mode);
  const good = new Map<string, InvoiceRecord>();
  const rows = new Map<string, number>();
  for (const { row, exporter: named, ...invoice } of invoices) {
    const asked = named ?? exporter;
    const exporterId = asked === undefined ? undefined : exporterOf(asked);
    if (exporterId === undefined) {
      const message =
        asked === undefined
          ? 'The row names no exporter; give --exporter.'
          : `The ledger knows no exporter ${asked} in ${mode} mode; \`ebrc exporters\` lists the known ones.`;
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
    good.set(key, record);
  }
  const all = [...good.values()];
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

/** An exporter by its id, e-mail or IEC. For an IEC any of its clients is used, because they are one party. */
async function exporterFinder(pool: pg.Pool, mode: Mode): Promise<(name: string) => string | undefined> {
  const known = new Map<string, string>();
  const exporters = await listExporters(pool, mode);
  for (const { exporterId, iec } of exporters) if (iec !== null) known.set(iec.toLowerCase(), exporterId);
  for (const { exporterId, email } of exporters) known.set(email.toLowerCase(), exporterId);
  for (const { exporterId } of exporters) known.set(exporterId.toLowerCase(), exporterId);
  return (name) => known.get(name.trim().toLowerCase());
}
