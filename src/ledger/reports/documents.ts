import { filingDateFromIso, type FilingDate } from '../../domain/dates';
import { NOBODYS } from '../certificates/certificates';
import { clientsOfCompany, type Company } from '../exporters/exporters';
import type { Queryable } from '../pool';

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
