import { filingDateFromIso, type FilingDate } from '../../domain/dates';
import { NOBODYS } from '../certificates/certificates';
import { clientsOfCompany, type Company } from '../exporters/exporters';
import type { Queryable } from '../pool';
import { comparableText } from '../../domain/identity';

/** A document of a company's invoice list or filed rows. */
export interface LedgerDocument {
  number: string;
  date: FilingDate;
  value: string;
  /** The value minus held rows and certificates that are nobody's; may be zero or negative. */
  open: string;
}

/** The documents of a company that the ledger knows. The invoice list takes precedence over what rows state. */
export async function ledgerDocuments(db: Queryable, { mode, iec, exporterId }: Company): Promise<LedgerDocument[]> {
  const { rows } = await db.query<LedgerDocument & { date: string }>(
    `WITH facts AS (
       SELECT document_key AS key, document_on AS dated, (mapping->>'sbCumInvoiceValueinFCC')::numeric AS value, NULL::numeric AS listed,
              CASE WHEN held THEN amount END AS taken, mapping->>'sbCumInvoiceNumber' AS number
         FROM filing_rows WHERE mode = $1 AND iec = $2
       UNION ALL
       SELECT document_key, document_on, NULL, NULL, amount, document_no FROM certificates c WHERE mode = $1 AND iec = $2 AND ${NOBODYS}
       UNION ALL
       SELECT document_key, document_date, NULL, amount, NULL, document_no FROM invoices
        WHERE exporter_id IN ${clientsOfCompany('$1', '$2', '$3')}),
     known AS (
       SELECT key, dated, min(number) AS number, coalesce(max(listed), max(value)) AS value, coalesce(sum(taken), 0) AS taken
         FROM facts WHERE dated IS NOT NULL GROUP BY key, dated)
     SELECT number, to_char(dated, 'YYYY-MM-DD') AS date, value::text AS value, (value - taken)::text AS open
       FROM known WHERE value IS NOT NULL ORDER BY dated, number`,
    [mode, iec, exporterId],
  );
  return rows.map((row) => ({ ...row, date: filingDateFromIso(row.date) }));
}

/** An export document from the exporter's books. Dates are YYYY-MM-DD, amounts exact decimal text. */
export interface InvoiceRecord {
  exporterId: string;
  document: string;
  documentDate: string;
  type: number | null;
  amount: string;
  currency: string;
  buyer: string | null;
  dueDate: string | null;
}

/** An invoice's document number in comparable form. */
export const invoiceKey = ({ document }: Pick<InvoiceRecord, 'document'>): string => comparableText(document);

/** Adds or updates invoices. @returns how many were new, and how many had different data */
export async function saveInvoices(
  db: Queryable,
  { invoices, by, at }: { invoices: readonly InvoiceRecord[]; by: string; at: Date },
): Promise<{ imported: number; updated: number }> {
  const rows = invoices.map((invoice) => ({ ...invoice, key: invoiceKey(invoice) }));
  const { rows: counts } = await db.query<{ imported: number; updated: number }>(
    `WITH written AS (
       INSERT INTO invoices AS i (exporter_id, document_key, document_no, document_date, document_type, amount, currency, buyer,
          due_override, imported_at, imported_by)
       SELECT v."exporterId", v.key, v.document, v."documentDate", v.type, v.amount, v.currency, v.buyer, v."dueDate", $2, $3
         FROM jsonb_to_recordset($1::jsonb) AS v ("exporterId" text, key text, document text, "documentDate" date, type int,
           amount numeric, currency text, buyer text, "dueDate" date)
       ON CONFLICT (exporter_id, document_key, document_date) DO UPDATE SET document_no = excluded.document_no,
          document_type = excluded.document_type, amount = excluded.amount, currency = excluded.currency, buyer = excluded.buyer,
          due_override = excluded.due_override, imported_at = excluded.imported_at, imported_by = excluded.imported_by
        WHERE (i.document_no, i.document_type, i.amount, i.currency, i.buyer, i.due_override) IS DISTINCT FROM
              (excluded.document_no, excluded.document_type, excluded.amount, excluded.currency, excluded.buyer, excluded.due_override)
       RETURNING xmax = 0 AS fresh)
     SELECT count(*) FILTER (WHERE fresh)::int AS imported, count(*) FILTER (WHERE NOT fresh)::int AS updated FROM written`,
    [JSON.stringify(rows), at, by],
  );
  return counts[0] ?? { imported: 0, updated: 0 };
}
